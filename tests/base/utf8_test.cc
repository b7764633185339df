#include "base/utf8.h"

#include <gtest/gtest.h>

namespace narthex {
namespace {

TEST(Utf8, EveryScalarValueSurvivesARoundTrip) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(find_invalid_utf8(text), std::string::npos) << static_cast<unsigned>(c);
    const char* p = text.data();
    ASSERT_EQ(decode_utf8(p), c);
    ASSERT_EQ(p, text.data() + text.size());
  }
}

TEST(Utf8, OneReplacementPerMaximalSubpart) {
  EXPECT_EQ(replace_invalid_utf8("a\xED\xA0\x80"
                                 "b\xFF"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("x\xE2\x82"), "x\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(find_invalid_utf8("ok\xF5"), 2u);
}

}  // namespace
}  // namespace narthex
