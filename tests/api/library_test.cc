// The library as it is shipped: the examples run, and libnarthex.so exports the functions of narthex.h and no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

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
              "0.501  How do I reset my password?  |  I forgot my password.\n")
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

// The code blocks of docs/api.md that are marked with `language`, each as the body of a function.
std::vector<std::string> blocks(const std::string& page, const std::string& language) {
  std::vector<std::string> found;
  const std::string fence = "\n```" + language + "\n";
  for (std::size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    found.push_back(page.substr(at, page.find("\n```", at) - at));
  }
  return found;
}

void expect_compiles(const std::string& compiler, const std::string& name, const std::string& code) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / ("api_page_" + name);
  std::ofstream(file) << code;
  const std::string command = compiler + " -Wall -Wextra -Werror -Wno-unused-variable -fsyntax-only -I" +
                              NARTHEX_SOURCE_DIR "/include " + file.string() + " 2>&1";
  EXPECT_EQ(output_of(command), "") << code;
  std::filesystem::remove(file);
}

TEST(Library, EveryBlockOfThePageCompiles) {
  const std::string page = file_text(NARTHEX_SOURCE_DIR "/docs/api.md");
  const std::vector<std::string> cpp = blocks(page, "cpp");
  const std::vector<std::string> c = blocks(page, "c");
  EXPECT_GE(cpp.size(), 4u);
  EXPECT_GE(c.size(), 1u);
  for (std::size_t i = 0; i < cpp.size(); ++i) {
    expect_compiles(NARTHEX_CXX " -std=c++17", std::to_string(i) + ".cc",
                    "#include <cstdio>\n#include <narthex/narthex.hpp>\n#include <thread>\nvoid f();\nvoid f() {\n" +
                        cpp[i] + "\n}\n");
  }
  for (std::size_t i = 0; i < c.size(); ++i) {
    expect_compiles(NARTHEX_CC " -std=c99", std::to_string(i) + ".c",
                    "#include <narthex/narthex.h>\n#include <stdio.h>\n#include <string.h>\nvoid f(void);\n"
                    "void f(void) {\n" +
                        c[i] + "\n}\n");
  }
  EXPECT_THAT(page, HasSubstr("../examples/embed.cpp"));
  EXPECT_THAT(page, HasSubstr("../examples/embed.c)"));
}

}  // namespace
