#include "text/python_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace narthex {
namespace {

using testing::ElementsAre;

TEST(PythonText, SigmaDependsOnTheWholeString) {
  EXPECT_EQ(python_lower("ΟΔΟΣ"), "οδος");
  EXPECT_EQ(python_lower("ΟΔΟΣ ΟΔΟΣΑ"), "οδος οδοσα");
  EXPECT_EQ(python_lower("Σ"), "σ");
  EXPECT_EQ(python_lower("ΣΣ"), "σς");
  EXPECT_EQ(python_lower("AΣ'"), "aς'") << "an apostrophe is case-ignorable";
  EXPECT_EQ(python_lower("AΣ'b"), "aσ'b");
  EXPECT_EQ(python_lower("A'Σ"), "a'ς");
}

TEST(PythonText, DottedCapitalIBecomesTwoCodePoints) {
  EXPECT_EQ(python_lower("İI"), "i\u0307i");
}

TEST(PythonText, UnicodeFourteenAndNoNewer) {
  EXPECT_EQ(python_lower("\u2C2F"), "\u2C5F");  // new in 14
  EXPECT_EQ(python_lower("\uA7CB"), "\uA7CB");  // new in 16
}

TEST(PythonText, ManySigmasBehindMarksStayLinear) {
  std::string text = "A";
  for (int i = 0; i < 200'000; ++i) text += "\u0301Σ";
  EXPECT_EQ(python_lower(text).size(), text.size());
}

TEST(PythonText, SplitsAtPythonsWhiteSpace) {
  EXPECT_THAT(python_split("  a\tb\x1c"
                           "c\xC2\xA0"
                           "d\u3000 "),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(python_split("a\u200Bb"), ElementsAre("a\u200Bb"));
  EXPECT_THAT(python_split(" \n"), ElementsAre());
  EXPECT_THAT(python_split(""), ElementsAre());
}

}  // namespace
}  // namespace narthex
