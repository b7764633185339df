#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "text/table_file.h"
#include "text/tiny_tokenizer.h"

namespace narthex {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Result<Tokenizer> read_back(std::string_view tables) {
  return Tokenizer::from_tables(bytes_of(tables), nullptr, "tables");
}

void expect_same(const Tokenizer& a, const Tokenizer& b, std::string_view text) {
  const EncodeOptions options{.allow_special = true, .offsets = true};
  const auto left = a.encode(text, options);
  const auto right = b.encode(text, options);
  ASSERT_EQ(left.has_value(), right.has_value()) << text;
  if (!left) return;
  EXPECT_EQ(left->ids, right->ids) << text;
  EXPECT_EQ(left->offsets, right->offsets) << text;
}

TEST(TokenizerTables, ATokenizerComesBackWhole) {
  json::object root = tiny_json({"hello", "##s", "и", "##и", ",", "abc"});
  root["padding"] = {{"pad_id", 3}, {"pad_token", "[PAD]"}};
  root["truncation"] = {{"max_length", 77}};
  root["added_tokens"].as_array().push_back({{"content", "новое"}, {"special", false}, {"normalized", true}});
  const Tokenizer original = must_load(root);
  const std::string tables = original.save_tables();
  const Tokenizer copy = *read_back(tables);
  for (const std::string_view text : {"", "hellos, abc", "НОВОЕ и ИИ", "[SEP] x [CLS]", "a\u0301bc"}) {
    expect_same(original, copy, text);
  }
  EXPECT_EQ(copy.vocab_size(), original.vocab_size());
  EXPECT_EQ(copy.id_limit(), original.id_limit());
  EXPECT_EQ(copy.id("hello"), original.id("hello"));
  EXPECT_EQ(copy.token(4), "hello");
  EXPECT_EQ(copy.token(*copy.id("новое")), "новое");
  EXPECT_EQ(copy.pad_id(), 3);
  EXPECT_EQ(copy.declared().truncation_max_length, 77u);
  EXPECT_EQ(copy.fast_path(), original.fast_path());
  EXPECT_EQ(copy.save_tables(), tables) << "also from tables";
}

TEST(TokenizerTables, EveryModelAndFilesWithoutTags) {
  json::object root = tiny_json({"a", "ab"});
  root["model"].as_object()["type"] = "WordLevel";
  expect_same(must_load(root), *read_back(must_load(root).save_tables()), "ab a b");
  json::object& model = root["model"].as_object();
  for (const char* key : {"type", "continuing_subword_prefix", "max_input_chars_per_word"}) model.erase(key);
  expect_same(must_load(root), *read_back(must_load(root).save_tables()), "ab a b");
}

TEST(TokenizerTables, TheBytesMayLieAnywhere) {
  const std::string tables = tiny({"abc"}).save_tables();
  for (std::size_t shift = 0; shift < 9; ++shift) {
    std::string moved(shift, 'x');
    moved += tables;
    const auto copy = read_back(std::string_view(moved).substr(shift));
    ASSERT_TRUE(copy) << shift;
    expect_same(*copy, tiny({"abc"}), "abc d");
  }
}

TEST(TokenizerTables, TheOwnerLivesAsLongAsTheTokenizer) {
  auto owner = std::make_shared<const std::string>(tiny({"abc"}).save_tables());
  const std::weak_ptr<const std::string> watch = owner;
  std::optional<Tokenizer> copy = *Tokenizer::from_tables(bytes_of(*owner), owner, "tables");
  owner.reset();
  EXPECT_FALSE(watch.expired());
  expect_same(*copy, tiny({"abc"}), "abc");
  copy.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(TokenizerTables, AnotherVersionIsRefused) {
  std::string tables = tiny({"abc"}).save_tables();
  tables[7] = '0';
  const auto result = read_back(tables);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("tables: these are no tokenizer tables of this version"));
}

TEST(TokenizerTables, CutOffBytesAreErrors) {
  const std::string tables = tiny({"hello", "##s"}).save_tables();
  for (std::size_t size = 0; size < tables.size(); size += 1 + size / 64) {
    // A copy of its own, so that reading behind the end is seen by sanitizers.
    const std::vector<char> cut(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_back({cut.data(), cut.size()})) << size;
  }
}

// What is damaged is refused or encodes something; it never crashes (run under sanitizers by make asan).
TEST(TokenizerTables, DamagedBytesDoNoHarm) {
  const std::string tables = tiny({"hello", "##s", "и", "##и", "北"}).save_tables();
  std::mt19937 random(7);
  for (int turn = 0; turn < 3000; ++turn) {
    std::string damaged = tables;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      // The directory and the JSON are small, so they get every second hit.
      const std::size_t from = random() % 2 == 0 ? 0 : tables.size() - std::min<std::size_t>(tables.size(), 1500);
      const std::size_t range =
          random() % 2 == 0 ? std::min<std::size_t>(tables.size() - from, 300) : tables.size() - from;
      damaged[from + random() % range] = static_cast<char>(random());
    }
    const auto result = read_back(damaged);
    if (!result) continue;
    const auto encoding = result->encode("Hellos, ИИ 北京 [SEP] xyz", {.allow_special = true, .offsets = true});
    if (!encoding) continue;
    for (const std::int32_t id : encoding->ids) EXPECT_GE(id, 0);
  }
}

TEST(TableFile, SectionsAreFoundByTag) {
  const std::vector<std::uint32_t> numbers{1, 2, 3};
  const std::string bytes = write_tables(std::vector<TableSection>{
      table_section(table_tag("NUMS"), std::span<const std::uint32_t>(numbers)), {table_tag("NONE"), {}}});
  const TableFile file = *TableFile::open(bytes_of(bytes), nullptr, "file");
  EXPECT_THAT(*file.array<std::uint32_t>(table_tag("NUMS")), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(file.text(table_tag("NONE"))->size(), 0u);
  EXPECT_FALSE(file.array<std::uint64_t>(table_tag("NUMS"))) << "12 bytes are no whole number of them";
  const auto missing = file.text(table_tag("ABCD"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("file: the tokenizer tables lack the section 'ABCD'"));
}

}  // namespace
}  // namespace narthex
