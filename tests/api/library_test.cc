// The library as it is shipped: the examples run, and libnarthex.so exports the functions of narthex.h and no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "api/test_model.h"

namespace {

using ::testing::HasSubstr;

// What a command writes to standard output; "exit N" in the end when it fails.
std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot run";
  std::array<char, 4096> bytes;
  for (std::size_t n = 0; (n = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) output.append(bytes.data(), n);
  const int status = pclose(pipe);
  return status == 0 ? output : output + "exit " + std::to_string(status);
}

std::set<std::string> words(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) found.insert((*i)[1].str());
  return found;
}

std::string file_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Library, TheExamplesFindTheMostSimilarPair) {
  for (const std::string example : {NARTHEX_EXAMPLE_CPP, NARTHEX_EXAMPLE_C}) {
    EXPECT_EQ(output_of(example),
              "hashing-ngram-256, 256 dimensions, compares spelling only\n"
              "0.600  How do I reset my password?  |  I forgot my password.\n")
        << example;
    EXPECT_THAT(output_of(example + " hashing-ngram-256 apple banana apples"), HasSubstr("apple  |  apples"));
    EXPECT_THAT(output_of(example + " ./nowhere 2>&1"), HasSubstr("./nowhere: does not exist"));
    EXPECT_THAT(output_of(example + " ./nowhere 2>&1"), HasSubstr("exit 256"));
  }
}

TEST(Library, TheExamplesRunARealModel) {
  const std::string real = narthex_test::real_model("bge-small-en-v1.5");
  if (real.empty()) return;
  // By its name, as a user would: the folder of the models is that of a NARTHEX_HOME.
  const std::string home = "NARTHEX_HOME=" + std::filesystem::path(real).parent_path().parent_path().string() + " ";
  for (const std::string example : {NARTHEX_EXAMPLE_CPP, NARTHEX_EXAMPLE_C}) {
    const std::string output =
        output_of(home + example + " bge-small-en-v1.5 'a cat sleeps' 'the invoice' 'a kitten naps'");
    EXPECT_THAT(output, HasSubstr("bge-small-en-v1.5, 384 dimensions\n"));
    EXPECT_THAT(output, HasSubstr("a cat sleeps  |  a kitten naps"));
  }
}

TEST(Library, OnlyThePublicSymbolsAreExported) {
  const std::string library = NARTHEX_SHARED_LIBRARY;
  if (library.empty()) {
    std::fprintf(stderr, "SKIPPED (loud): symbols of libnarthex.so, because NARTHEX_SHARED is off\n");
    return;
  }
  const auto declared = words(file_text(NARTHEX_SOURCE_DIR "/include/narthex/narthex.h"),
                              std::regex("NARTHEX_API [^(]*?(narthex_\\w+)\\("));
  const auto exported = words(output_of("nm -D --defined-only " + library), std::regex("\\w+ \\w (\\S+)\n"));
  EXPECT_GE(declared.size(), 10u);
  EXPECT_EQ(exported, declared);
}

TEST(Library, ThePageShowsTheFilesOfTheExamples) {
  const std::string page = file_text(NARTHEX_SOURCE_DIR "/docs/api.md");
  for (const std::string example : {"embed.cpp", "embed.c"}) {
    const std::string text = file_text(NARTHEX_SOURCE_DIR "/examples/" + example);
    EXPECT_FALSE(text.empty());
    EXPECT_THAT(page, HasSubstr(text)) << example << " has changed: copy it into docs/api.md";
  }
}

}  // namespace
