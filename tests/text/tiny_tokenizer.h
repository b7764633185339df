// A BERT tokenizer over a handful of tokens, for tests that show one behaviour.
//
//   Tokenizer t = tiny({"hello", "##s"});                          ids: [PAD] 0 [UNK] 1 [CLS] 2 [SEP] 3, then the list
//   Tokenizer t = tiny({...}, {{"normalizer", nullptr}});           parts of the file replaced
//   pieces(t, "hellos")                                             {"hello", "##s"}, without [CLS] and [SEP]
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace narthex {

inline void PrintTo(const Offsets& offsets, std::ostream* out) {
  *out << "(" << offsets.begin << "," << offsets.end << ")";
}

inline json::object tiny_json(const std::vector<std::string>& tokens) {
  json::object root = parse_json(R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 0, "content": "[PAD]", "normalized": false, "special": true},
      {"id": 1, "content": "[UNK]", "normalized": false, "special": true},
      {"id": 2, "content": "[CLS]", "normalized": false, "special": true},
      {"id": 3, "content": "[SEP]", "normalized": false, "special": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                   "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100}})",
                                 "tiny")
                          ->as_object();
  json::object vocabulary{{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}};
  for (const std::string& token : tokens) vocabulary[token] = vocabulary.size();
  root["model"].as_object()["vocab"] = vocabulary;
  return root;
}

inline Tokenizer must_load(const json::value& root) {
  Result<Tokenizer> tokenizer = Tokenizer::from_json(json::serialize(root), "tiny");
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *std::move(tokenizer);
}

inline Tokenizer tiny(const std::vector<std::string>& tokens,
                      const std::vector<std::pair<std::string, std::string>>& replaced = {}) {
  json::object root = tiny_json(tokens);
  for (const auto& [key, text] : replaced) root[key] = *parse_json(text, key);
  return must_load(root);
}

inline std::vector<std::string> pieces(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
  options.add_special_tokens = false;
  const Result<Encoding> encoding = tokenizer.encode(text, options);
  EXPECT_TRUE(encoding) << encoding.error().message;
  std::vector<std::string> out;
  for (const std::int32_t id : encoding->ids) out.emplace_back(tokenizer.token(id).value_or("?"));
  return out;
}

inline std::vector<Offsets> offsets_of(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, {.add_special_tokens = false, .offsets = true})->offsets;
}

}  // namespace narthex
