// The reference's answers that are kept beside the tests, so that parity is tested where there is no reference.
#include <gtest/gtest.h>

#include "base/file.h"
#include "text/cases.h"

namespace narthex {
namespace {

TEST(TokenizerGolden, EqualsTheReferenceInEveryPipeline) {
  const std::filesystem::path data = NARTHEX_TEST_DATA;
  const auto text = read_file(data / "golden_vocabulary.json", 1 << 20);
  ASSERT_TRUE(text) << text.error().message;
  const auto vocabulary = parse_json(*text, "golden_vocabulary.json");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  const CaseReport report = run_cases(data / "golden.jsonl", *vocabulary);
  EXPECT_EQ(report.n_wrong, 0u) << report.first_wrong;
  EXPECT_GT(report.n_cases, 500u);
}

}  // namespace
}  // namespace narthex
