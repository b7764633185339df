// Reads the model "WordPiece"; wordpiece.h has the algorithm.
#include <memory>

#include "text/models.h"
#include "text/wordpiece.h"

namespace narthex {
namespace {

Result<void> tokenize(const WordPiece& model, std::string_view word, std::vector<Piece>& out) {
  const std::size_t before = out.size();
  const bool known = model.split(word, [&](std::int32_t id, std::size_t begin, std::size_t end) {
    out.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  });
  if (known) return {};
  out.resize(before);
  if (!model.unknown) {
    return fail(ErrorCode::kBadModel,
                "{}: WordPiece: the unknown token '{}' is not in the vocabulary, but '{}' needs it", model.source,
                model.unknown_token, word.substr(0, 40));
  }
  out.push_back({*model.unknown, 0, static_cast<std::uint32_t>(word.size())});
  return {};
}

}  // namespace

Result<Model> parse_wordpiece(const Fields& fields, const TableFile* tables) {
  auto wordpiece = std::make_shared<WordPiece>();
  wordpiece->source = fields.source;
  NX_TRY(wordpiece->unknown_token, fields.text("unk_token", "[UNK]"));
  NX_TRY(const std::string prefix, fields.text("continuing_subword_prefix", "##"));
  NX_TRY(wordpiece->max_chars, fields.number("max_input_chars_per_word", 100));
  NX_TRY(Vocabulary vocabulary, Vocabulary::read(fields, "vocab", tables));
  wordpiece->unknown = vocabulary.id(wordpiece->unknown_token);
  wordpiece->trie = vocabulary.trie();
  wordpiece->continuation = wordpiece->trie.walk(DoubleArray::kRoot, prefix);
  Model model;
  model.tables = vocabulary.sections();
  model.vocabulary = std::move(vocabulary);
  model.tokenize = [wordpiece](std::string_view word, std::vector<Piece>& out) {
    return narthex::tokenize(*wordpiece, word, out);
  };
  model.wordpiece = std::move(wordpiece);
  return model;
}

}  // namespace narthex
