#include "cli/text_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace narthex::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file(const std::string& name, std::string_view bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::vector<std::string> all(const std::string& path, std::string* error = nullptr) {
  std::vector<std::string> texts;
  auto source = TextSource::open({}, path);
  if (!source) {
    *error = source.error().message;
    return texts;
  }
  while (true) {
    auto text = source->next();
    if (!text) {
      *error = text.error().message;
      break;
    }
    if (!*text) break;
    texts.push_back(**text);
  }
  return texts;
}

TEST(TextSource, EveryLineIsATextAlsoEmptyOnesAndTheLastWithoutNewline) {
  EXPECT_THAT(all(file("lines.txt", "one\n\nthree\r\nfour")), ElementsAre("one", "", "three", "four"));
  EXPECT_THAT(all(file("empty.txt", "")), ElementsAre());
  EXPECT_THAT(all(file("nul.txt", std::string_view("a\0b\nc\n", 6))), ElementsAre(std::string_view("a\0b", 3), "c"));
}

TEST(TextSource, LinesLongerThanTheBufferStayWhole) {
  const std::string lengthy(200'000, 'x');
  EXPECT_THAT(all(file("long.txt", lengthy + "\nshort\n")), ElementsAre(lengthy, "short"));
}

TEST(TextSource, JsonLinesNameTheLineThatIsWrong) {
  std::string error;
  EXPECT_THAT(all(file("good.jsonl", "{\"text\": \"a\\nb\", \"x\": 1}\n{\"text\":\"\"}\n")), ElementsAre("a\nb", ""));
  all(file("bad.jsonl", "{\"text\": \"a\"}\n{\"txt\": 1}\n"), &error);
  EXPECT_THAT(error, HasSubstr("line 2: must be a JSON object with a string member 'text'"));
  all(file("torn.jsonl", "{\"text\": \"a"), &error);
  EXPECT_THAT(error, HasSubstr("line 1: not valid JSON"));
  all(file("surrogate.jsonl", "{\"text\": \"\\ud800\"}\n"), &error);
  EXPECT_THAT(error, HasSubstr("line 1: not valid JSON"));
}

TEST(TextSource, WhatCannotBeReadSaysWhy) {
  std::string error;
  all(::testing::TempDir() + "/no such file", &error);
  EXPECT_THAT(error, HasSubstr("no such file: cannot open"));
  all(::testing::TempDir(), &error);
  EXPECT_THAT(error, HasSubstr("is a directory"));
  EXPECT_THAT(TextSource::open({"a"}, "b").error().message, HasSubstr("not both"));
}

}  // namespace
}  // namespace narthex::cli
