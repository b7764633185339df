#include "text/models.h"

namespace narthex {
namespace {

struct ModelRow {
  std::string_view type;
  ParseModel parse;
};

constexpr ModelRow kModels[] = {
    {"WordPiece", parse_wordpiece},
    {"WordLevel", parse_wordlevel},
};

// Well-known published files have no tag. These fields occur in one model each; `continuing_subword_prefix` does not
// help, since BPE and WordPiece both have it.
std::string_view type_without_tag(const json::object& object) {
  if (object.contains("unk_id")) return "Unigram";
  if (object.contains("max_input_chars_per_word")) return "WordPiece";
  if (object.contains("merges")) return "BPE";
  if (object.contains("vocab") && object.contains("unk_token")) return "WordLevel";
  return "";
}

constexpr std::string_view kBulkFields[] = {"vocab"};

}  // namespace

std::span<const std::string_view> model_bulk_fields() {
  return kBulkFields;
}

Result<Model> parse_model(const json::value* value, std::string_view source, const TableFile* tables) {
  if (value == nullptr || !value->is_object()) {
    return fail(ErrorCode::kBadModel, "{}: there is no 'model' object; is this a tokenizer.json?", source);
  }
  const json::object& object = value->get_object();
  Fields fields{object, source, "model"};
  NX_TRY(std::string type, fields.text("type", type_without_tag(object)));
  for (const ModelRow& row : kModels) {
    if (row.type != type) continue;
    fields.component += " " + type;
    return row.parse(fields, tables);
  }
  return fail(ErrorCode::kUnsupported, "{}: model '{}' is not supported: {}", source, type, describe(object));
}

}  // namespace narthex
