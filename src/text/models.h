// Models of tokenizer.json: one row per "type" in models.cc, one function that reads the JSON and returns a vocabulary
// and what turns a word into ids. BPE and Unigram are a new file and a row each.
//
//   NX_TRY(Model model, parse_model(value, source, nullptr));
//   NX_TRY_VOID(model.tokenize(word, pieces));
//
// Covered by tests/text/models_test.cc and oracle_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_fields.h"
#include "text/table_file.h"
#include "text/vocabulary.h"
#include "text/wordpiece.h"

namespace narthex {

// An id and the bytes of the word that it stands for.
struct Piece {
  std::int32_t id;
  std::uint32_t begin;
  std::uint32_t end;
};

struct Model {
  Vocabulary vocabulary;
  // Appends the pieces of one word, which is not empty. Fails only where the file lacks the token for unknown words.
  std::function<Result<void>(std::string_view word, std::vector<Piece>& out)> tokenize;
  // What a TableFile needs so that this model can be read from it; the model keeps the bytes alive.
  std::vector<TableSection> tables;
  // The same model for the fast paths; null for other kinds.
  std::shared_ptr<const WordPiece> wordpiece;
};

// With `tables`, the fields that model_bulk_fields() names are empty in the JSON: the tables have their content.
using ParseModel = Result<Model> (*)(const Fields&, const TableFile* tables);

Result<Model> parse_model(const json::value* value, std::string_view source, const TableFile* tables);
// The fields of a model's JSON that hold its large lists.
std::span<const std::string_view> model_bulk_fields();

Result<Model> parse_wordpiece(const Fields& fields, const TableFile* tables);
Result<Model> parse_wordlevel(const Fields& fields, const TableFile* tables);

}  // namespace narthex
