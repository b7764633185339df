// Parity with the reference itself: oracle_tokenizer.py asks the `tokenizers` wheel, cases.h compares.
//
// NARTHEX_PYTHON names a Python that has the wheel 0.23.3; NARTHEX_TEST_MODELS the folder that `narthex pull` fills,
// with bge-small-en-v1.5 and all-MiniLM-L6-v2 in it. What is missing is skipped, and said. NARTHEX_TEST_COUNT sets the
// number of nasty strings (default 20000).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/utf8.h"
#include "text/cases.h"
#include "text/normalizers.h"
#include "text/python_text.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class TokenizerOracle : public testing::Test {
 protected:
  void SetUp() override {
    python_ = environment("NARTHEX_PYTHON");
    std::string pattern = (fs::temp_directory_path() / "narthex-oracle-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
    ASSERT_FALSE(folder_.empty());
  }
  void TearDown() override { fs::remove_all(folder_); }

  static bool skip(std::string_view why) {
    fmt::print(stderr, "SKIPPED (loud): {}: {}\n", testing::UnitTest::GetInstance()->current_test_info()->name(), why);
    return true;
  }
  bool no_python() const { return python_.empty() && skip("NARTHEX_PYTHON names no Python with the tokenizers wheel"); }
  static bool no_file(const fs::path& path) { return !fs::exists(path) && skip(path.string() + " is not here"); }

  // The tokenizer of a model in the folder that `narthex pull` fills.
  static fs::path model(std::string_view name) {
    return fs::path(environment("NARTHEX_TEST_MODELS")) / name / "tokenizer.json";
  }
  static std::string count() {
    const std::string n = environment("NARTHEX_TEST_COUNT");
    return n.empty() ? "20000" : n;
  }

  // Runs the script; its arguments are our own paths and numbers.
  fs::path answers(std::string_view command, std::string_view before, std::string_view after = "") {
    const fs::path out = folder_ / "cases.jsonl";
    const std::string line = fmt::format("'{}' '{}/tests/text/oracle_tokenizer.py' {} {} '{}' {}", python_,
                                         NARTHEX_SOURCE_DIR, command, before, out.string(), after);
    EXPECT_EQ(std::system(line.c_str()), 0) << line;
    return out;
  }
  static void expect_parity(const fs::path& cases, std::size_t at_least) {
    const CaseReport report = run_cases(cases, nullptr);
    EXPECT_EQ(report.n_wrong, 0u) << report.first_wrong;
    EXPECT_GE(report.n_cases, at_least);
    fmt::print(stderr, "{} cases\n", report.n_cases);
  }
  static std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

  std::string python_;
  fs::path folder_;
};

TEST_F(TokenizerOracle, EveryPipelineOnNastyStrings) {
  if (no_python()) return;
  // 56 pipelines: a few hundred strings for each make as many cases as one real tokenizer gets.
  const std::size_t n = std::max<std::size_t>(std::stoul(count()) / 40, 100);
  expect_parity(answers("pipelines", "", std::to_string(n)), 100 * n);
}

TEST_F(TokenizerOracle, EveryCodePoint) {
  const fs::path bge = model("bge-small-en-v1.5");
  if (no_python() || no_file(bge)) return;
  expect_parity(answers("code-points", quoted(bge)), 0x110000 - 0x800 + 2 * (0x110000 - 0x800) / 32);
}

TEST_F(TokenizerOracle, NastyStringsAndPairs) {
  const fs::path bge = model("bge-small-en-v1.5");
  if (no_python() || no_file(bge)) return;
  expect_parity(answers("nasty", quoted(bge), count()), std::stoul(count()));
}

TEST_F(TokenizerOracle, PaddingAndTruncationOfTheFileAreNotApplied) {
  const fs::path minilm = model("all-MiniLM-L6-v2");
  if (no_python() || no_file(minilm)) return;
  expect_parity(answers("nasty", quoted(minilm), "2000"), 2000);
}

TEST_F(TokenizerOracle, RetrievalTexts) {
  const fs::path bge = model("bge-small-en-v1.5");
  const fs::path ir = fs::path(NARTHEX_SOURCE_DIR).parent_path() / "shared/data/ir";
  if (no_python() || no_file(bge) || no_file(ir)) return;
  std::string files;
  for (const auto& entry : fs::recursive_directory_iterator(ir)) {
    if (entry.path().extension() == ".jsonl") files += " " + quoted(entry.path());
  }
  expect_parity(answers("texts", quoted(bge), files), 10'000);
}

TEST_F(TokenizerOracle, NfdOrdersEveryPairOfMarks) {
  if (no_python()) return;
  std::ifstream file(answers("nfd", ""));
  std::size_t n = 0;
  std::size_t n_wrong = 0;
  for (std::string line; std::getline(file, line); ++n) {
    const json::value row = *parse_json(line, "nfd");
    const std::string_view input = row.at("text").as_string();
    NormalizedText text;
    text.assign(input, 0, input.size(), false);
    apply_nfd(text);
    n_wrong += text.text != std::string_view(row.at("nfd").as_string());
  }
  EXPECT_EQ(n_wrong, 0u);
  EXPECT_GT(n, 13'000u);
}

TEST_F(TokenizerOracle, PythonLowerAndSplit) {
  if (no_python()) return;
  std::ifstream file(answers("python-text", "", "5000"));
  std::size_t n = 0;
  std::size_t n_wrong = 0;
  for (std::string line; std::getline(file, line) && n_wrong < 5; ++n) {
    const json::value row = *parse_json(line, "python-text");
    const std::string_view text = row.at("text").as_string();
    json::array split;
    for (const std::string_view word : python_split(text)) split.emplace_back(word);
    const bool equal =
        python_lower(text) == std::string_view(row.at("lower").as_string()) && split == row.at("split").as_array();
    if (!equal) ++n_wrong;
    EXPECT_TRUE(equal) << line;
  }
  EXPECT_GT(n, 2 * (0x110000u - 0x800u));
}

}  // namespace
}  // namespace narthex
