#include "text/post_processors.h"

#include <unordered_map>

namespace narthex {
namespace {

using Part = TemplatePart;

// ["[SEP]", 102]
Result<std::vector<std::int32_t>> token_pair(const Fields& fields, std::string_view key) {
  NX_TRY(const json::array* pair, fields.required_array(key));
  const std::optional<std::int32_t> id = pair->size() == 2 ? token_id_of((*pair)[1]) : std::nullopt;
  if (!id) return fields.wrong(key, "a list of a token and its id");
  return std::vector<std::int32_t>{*id};
}

Result<void> parse_bert(const Fields& fields, PostProcessor& out) {
  NX_TRY(const auto sep, token_pair(fields, "sep"));
  NX_TRY(const auto cls, token_pair(fields, "cls"));
  out.single = {{Part::kSpecial, 0, cls}, {Part::kFirst, 0, {}}, {Part::kSpecial, 0, sep}};
  out.pair = out.single;
  out.pair.push_back({Part::kSecond, 1, {}});
  out.pair.push_back({Part::kSpecial, 1, sep});
  return {};
}

Result<void> parse_roberta(const Fields& fields, PostProcessor& out) {
  NX_TRY(const auto sep, token_pair(fields, "sep"));
  NX_TRY(const auto cls, token_pair(fields, "cls"));
  NX_TRY(const bool trim, fields.boolean("trim_offsets", true));
  NX_TRY(const bool keep_first, fields.boolean("add_prefix_space", true));
  if (trim) out.trims.push_back({keep_first});
  out.single = {{Part::kSpecial, 0, cls}, {Part::kFirst, 0, {}}, {Part::kSpecial, 0, sep}};
  out.pair = out.single;
  out.pair.push_back({Part::kSpecial, 0, sep});
  out.pair.push_back({Part::kSecond, 0, {}});
  out.pair.push_back({Part::kSpecial, 0, sep});
  return {};
}

Result<void> parse_byte_level(const Fields& fields, PostProcessor& out) {
  NX_TRY(const bool trim, fields.boolean("trim_offsets", true));
  NX_TRY(const bool keep_first, fields.boolean("add_prefix_space", true));
  if (trim) out.trims.push_back({keep_first});
  return {};
}

using SpecialIds = std::unordered_map<std::string_view, std::vector<std::int32_t>>;

// {"[CLS]": {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]}}, or a list of such objects.
Result<SpecialIds> parse_special_tokens(const Fields& fields) {
  SpecialIds specials;
  const json::value* value = fields.find("special_tokens");
  if (value == nullptr) return specials;
  if (!value->is_object()) return fields.wrong("special_tokens", "an object");
  for (const auto& [name, entry] : value->get_object()) {
    const json::value* ids = entry.is_object() ? entry.get_object().if_contains("ids") : nullptr;
    if (ids == nullptr || !ids->is_array() || ids->get_array().empty() || ids->get_array().size() > 64) {
      return fields.wrong("special_tokens", "an object of objects with a list 'ids' of 1 to 64 ids");
    }
    std::vector<std::int32_t>& out = specials[std::string_view(name)];
    for (const json::value& one : ids->get_array()) {
      const std::optional<std::int32_t> id = token_id_of(one);
      if (!id) return fields.wrong("special_tokens", "an object whose ids are whole numbers from 0 to 2147483647");
      out.push_back(*id);
    }
  }
  return specials;
}

Result<Part> parse_part(const Fields& fields, const json::value& value, const SpecialIds& specials) {
  const auto malformed = [&] {
    return fail(ErrorCode::kBadModel, "{}: {}: a part must be a Sequence A or B or a SpecialToken, not {}",
                fields.source, fields.component, value.is_object() ? describe(value.get_object()) : "something else");
  };
  if (!value.is_object() || value.get_object().size() != 1) return malformed();
  const auto& [kind, body] = *value.get_object().begin();
  if (!body.is_object()) return malformed();
  const Fields part{body.get_object(), fields.source, fields.component};
  NX_TRY(const std::string id, part.required_text("id"));
  NX_TRY(const std::uint64_t type_id, part.number("type_id", 0));
  if (type_id > 0x7FFFFFFF) return part.wrong("type_id", "below 2147483648");
  const auto type = static_cast<std::int32_t>(type_id);
  if (std::string_view(kind) == "Sequence" && id == "A") return Part{Part::kFirst, type, {}};
  if (std::string_view(kind) == "Sequence" && id == "B") return Part{Part::kSecond, type, {}};
  if (std::string_view(kind) != "SpecialToken") return malformed();
  const auto found = specials.find(id);
  if (found == specials.end()) {
    return fail(ErrorCode::kBadModel, "{}: {}: special token '{}' is used but not listed in special_tokens",
                fields.source, fields.component, id);
  }
  return Part{Part::kSpecial, type, found->second};
}

Result<std::vector<Part>> parse_template(const Fields& fields, std::string_view key, const SpecialIds& specials) {
  NX_TRY(const json::array* list, fields.required_array(key));
  if (list->size() > 256) return fields.wrong(key, "a list of at most 256 parts");
  std::vector<Part> parts;
  std::size_t n_first = 0;
  std::size_t n_second = 0;
  for (const json::value& entry : *list) {
    NX_TRY(Part part, parse_part(fields, entry, specials));
    n_first += part.kind == Part::kFirst;
    n_second += part.kind == Part::kSecond;
    parts.push_back(std::move(part));
  }
  // A repeated text would break every promise about lengths.
  if (n_first != 1 || n_second != (key == "pair" ? 1u : 0u)) {
    return fields.wrong(key, key == "pair" ? "a template with A and B, once each" : "a template with A, once");
  }
  return parts;
}

Result<void> parse_template_processing(const Fields& fields, PostProcessor& out) {
  NX_TRY(const SpecialIds specials, parse_special_tokens(fields));
  NX_TRY(out.single, parse_template(fields, "single", specials));
  if (fields.find("pair") != nullptr) {
    NX_TRY(out.pair, parse_template(fields, "pair", specials));
  }
  return {};
}

Result<void> parse_one(const json::value& value, std::string_view source, PostProcessor& out);

bool adds_tokens(const PostProcessor& post) {
  return post.single.size() > 1 || post.pair.size() > 2;
}

Result<void> parse_sequence(const Fields& fields, PostProcessor& out) {
  NX_TRY(const json::array* list, fields.required_array("processors"));
  for (const json::value& entry : *list) {
    const bool before = adds_tokens(out);
    const std::size_t n_trims = out.trims.size();
    NX_TRY_VOID(parse_one(entry, fields.source, out));
    if (before && (out.trims.size() == n_trims)) {
      return fail(ErrorCode::kUnsupported, "{}: {}: two processors that add special tokens are not supported: {}",
                  fields.source, fields.component, describe(fields.object));
    }
  }
  return {};
}

struct PostProcessorRow {
  std::string_view type;
  ParsePostProcessor parse;
};

constexpr PostProcessorRow kPostProcessors[] = {
    {"BertProcessing", parse_bert},  {"RobertaProcessing", parse_roberta},
    {"ByteLevel", parse_byte_level}, {"TemplateProcessing", parse_template_processing},
    {"Sequence", parse_sequence},
};

// Files written before the tags existed. RoBERTa's fields are BERT's and two more.
std::string_view type_without_tag(const json::object& object) {
  if (object.contains("single")) return "TemplateProcessing";
  if (object.contains("processors")) return "Sequence";
  const bool bert = object.contains("sep") && object.contains("cls");
  if (bert && object.contains("trim_offsets") && object.contains("add_prefix_space")) return "RobertaProcessing";
  if (bert) return "BertProcessing";
  return object.contains("trim_offsets") ? "ByteLevel" : "";
}

Result<void> parse_one(const json::value& value, std::string_view source, PostProcessor& out) {
  if (!value.is_object()) return fail(ErrorCode::kBadModel, "{}: a post_processor must be an object", source);
  const json::object& object = value.get_object();
  Fields fields{object, source, "post_processor"};
  NX_TRY(std::string type, fields.text("type", type_without_tag(object)));
  for (const PostProcessorRow& row : kPostProcessors) {
    if (row.type != type) continue;
    fields.component += " " + type;
    return row.parse(fields, out);
  }
  return fail(ErrorCode::kUnsupported, "{}: post_processor '{}' is not supported: {}", source, type, describe(object));
}

}  // namespace

std::size_t PostProcessor::n_added(bool is_pair) const {
  std::size_t n = 0;
  for (const TemplatePart& part : is_pair ? pair : single) n += part.ids.size();
  return n;
}

Result<PostProcessor> parse_post_processor(const json::value* value, std::string_view source) {
  PostProcessor out;
  if (value != nullptr && !value->is_null()) NX_TRY_VOID(parse_one(*value, source, out));
  return out;
}

}  // namespace narthex
