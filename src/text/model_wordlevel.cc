// WordLevel: a word is a token or the unknown token.
#include "text/models.h"

namespace narthex {

Result<Model> parse_wordlevel(const Fields& fields, const TableFile* tables) {
  NX_TRY(const std::string unknown_token, fields.text("unk_token", "<unk>"));
  NX_TRY(Vocabulary vocabulary, Vocabulary::read(fields, "vocab", tables));
  auto words = std::make_shared<const Vocabulary>(vocabulary);
  Model model;
  model.tables = vocabulary.sections();
  model.vocabulary = std::move(vocabulary);
  model.tokenize = [words, unknown = words->id(unknown_token), unknown_token, source = std::string(fields.source)](
                       std::string_view word, std::vector<Piece>& out) -> Result<void> {
    std::optional<std::int32_t> id = words->id(word);
    if (!id) id = unknown;
    if (!id) {
      return fail(ErrorCode::kBadModel,
                  "{}: WordLevel: the unknown token '{}' is not in the vocabulary, but '{}' needs it", source,
                  unknown_token, word.substr(0, 40));
    }
    out.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
    return {};
  };
  return model;
}

}  // namespace narthex
