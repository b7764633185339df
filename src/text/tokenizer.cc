#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <unordered_map>

#include "base/file.h"
#include "base/utf8.h"
#include "text/assemble.h"
#include "text/pipeline.h"
#include "text/table_file.h"
#include "text/truncation.h"

namespace narthex {
namespace {

constexpr std::uint32_t kSkeleton = table_tag("JSON");

DeclaredLimits parse_declared(const json::object& root) {
  DeclaredLimits declared;
  if (const json::value* truncation = root.if_contains("truncation");
      truncation != nullptr && truncation->is_object()) {
    const Fields fields{truncation->get_object(), "", ""};
    if (const auto n = fields.number("max_length", 0); n && *n > 0) declared.truncation_max_length = *n;
  }
  if (const json::value* padding = root.if_contains("padding"); padding != nullptr && padding->is_object()) {
    const Fields fields{padding->get_object(), "", ""};
    if (const json::value* id = fields.find("pad_id")) declared.pad_id = token_id_of(*id);
    if (const auto token = fields.text("pad_token", ""); token && !token->empty()) declared.pad_token = *token;
  }
  return declared;
}

}  // namespace

struct Tokenizer::Pipeline {
  narthex::Pipeline steps;
  DeclaredLimits declared;
  std::optional<std::int32_t> pad_id;
  std::size_t vocab_size = 0;
  std::size_t id_limit = 0;
  std::string skeleton;                                       // tokenizer.json without its large lists
  std::unordered_map<std::int32_t, std::size_t> added_by_id;  // index into steps.added.all()
  std::unordered_map<std::string, std::size_t> added_by_content;

  static Result<std::shared_ptr<Pipeline>> parse(const json::object& root, std::string_view source,
                                                 const TableFile* tables);
  void index_tokens();
};

Result<std::shared_ptr<Tokenizer::Pipeline>> Tokenizer::Pipeline::parse(const json::object& root,
                                                                        std::string_view source,
                                                                        const TableFile* tables) {
  const Fields fields{root, source, "file"};
  NX_TRY(const std::string version, fields.text("version", "1.0"));
  if (version != "1.0") {
    return fail(ErrorCode::kUnsupported, "{}: version '{}' is not supported, only 1.0", source, version);
  }
  auto pipeline = std::make_shared<Pipeline>();
  narthex::Pipeline& steps = pipeline->steps;
  NX_TRY(steps.model, parse_model(root.if_contains("model"), source, tables));
  NX_TRY(steps.normalizer, parse_normalizer(root.if_contains("normalizer"), source));
  NX_TRY(steps.pre_tokenizer, parse_pre_tokenizer(root.if_contains("pre_tokenizer"), source));
  NX_TRY(steps.post, parse_post_processor(root.if_contains("post_processor"), source));
  NX_TRY(steps.added,
         AddedTokens::from_json(root.if_contains("added_tokens"), source, steps.model.vocabulary, steps.normalizer));
  steps.local = steps.normalizer.local && steps.pre_tokenizer.splits_at_space && steps.added.local();
  steps.fast = choose_fast_path(steps.normalizer, steps.pre_tokenizer, steps.model);
  pipeline->declared = parse_declared(root);
  pipeline->index_tokens();
  return pipeline;
}

void Tokenizer::Pipeline::index_tokens() {
  const Vocabulary& vocabulary = steps.model.vocabulary;
  vocab_size = vocabulary.size();
  if (vocabulary.size() > 0) id_limit = static_cast<std::size_t>(vocabulary.entries().back().id) + 1;
  pad_id = declared.pad_id;
  const std::vector<AddedToken>& added = steps.added.all();
  for (std::size_t i = 0; i < added.size(); ++i) {
    const AddedToken& token = added[i];
    added_by_id[token.id] = i;
    added_by_content[token.content] = i;
    if (!vocabulary.id(token.content)) ++vocab_size;
    id_limit = std::max(id_limit, static_cast<std::size_t>(token.id) + 1);
    if (!pad_id && (token.content == "[PAD]" || token.content == "<pad>")) pad_id = token.id;
  }
}

namespace {

// The largest files of text encoders have 33 MB. The parser's tree takes some ten times the file.
constexpr std::uint64_t kMaxFileBytes = 64u << 20;
// Times NormalizedText::kMaxGrowth it stays below 2^32.
constexpr std::size_t kMaxTextBytes = 100'000'000;

Result<void> check_text(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return fail(ErrorCode::kLimit, "the text has {} bytes; at most {} are supported", text.size(), kMaxTextBytes);
  }
  const std::size_t bad = find_invalid_utf8(text);
  if (bad == std::string_view::npos) return {};
  return fail(ErrorCode::kBadInput, "the text is not UTF-8: byte 0x{:02X} at position {} begins no valid character",
              static_cast<unsigned char>(text[bad]), bad);
}

// Only where both texts are longer than the room, and one token is odd, does it matter which one is longer.
bool needs_true_lengths(std::span<const Side> sides, std::size_t room, std::size_t cap, const EncodeOptions& options) {
  return options.strategy == TruncationStrategy::kLongestFirst && room % 2 == 1 && sides.size() == 2 &&
         sides[0].tokens.ids.size() > cap && sides[1].tokens.ids.size() > cap;
}

Result<Encoding> encode_sides(const narthex::Pipeline& steps, std::span<Side> sides, const EncodeOptions& options) {
  const bool is_pair = sides.size() == 2;
  for (const Side& side : sides) NX_TRY_VOID(check_text(side.text));
  const std::size_t n_added = options.add_special_tokens ? steps.post.n_added(is_pair) : 0;
  if (options.max_length != 0 && options.max_length < n_added) {
    return fail(ErrorCode::kBadInput, "max_length is {}, but the special tokens alone are {}", options.max_length,
                n_added);
  }
  constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
  const std::size_t room = options.max_length == 0 ? kUnlimited : options.max_length - n_added;
  const bool may_stop = options.side == TruncationSide::kRight && !options.count_all;
  std::size_t cap = may_stop ? room : kUnlimited;
  do {
    for (Side& side : sides) {
      side.tokens.clear();
      NX_TRY_VOID(tokenize_text(steps, side.text, {options.allow_special, options.offsets, cap}, side.tokens));
    }
    if (!needs_true_lengths(sides, room, cap, options)) break;
    cap = std::max<std::size_t>(cap, 64) * 8;
  } while (true);

  const std::size_t n_first = sides[0].tokens.ids.size();
  const std::size_t n_second = is_pair ? sides[1].tokens.ids.size() : 0;
  NX_TRY(const KeptLengths kept, kept_lengths(n_first, n_second, room, options.strategy));
  const std::array<std::size_t, 2> lengths{kept.first, kept.second};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    sides[i].n_kept = lengths[i];
    if (options.side == TruncationSide::kLeft) sides[i].first_kept = sides[i].tokens.ids.size() - lengths[i];
  }
  Encoding out = assemble(steps, sides, options);
  out.n_tokens_total = n_first + n_second + n_added;
  out.truncated = kept.first + kept.second < n_first + n_second;
  return out;
}

}  // namespace

Result<Tokenizer> Tokenizer::from_json(std::string_view json_text, std::string_view source_name) {
  NX_TRY(json::value document, parse_json(json_text, source_name));
  if (!document.is_object()) return fail(ErrorCode::kBadModel, "{}: a tokenizer.json must be an object", source_name);
  json::object& root = document.get_object();
  NX_TRY(const std::shared_ptr<Pipeline> pipeline, Pipeline::parse(root, source_name, nullptr));
  json::object& model = root["model"].get_object();
  for (const std::string_view field : model_bulk_fields()) {
    if (model.contains(field)) model[field] = json::object();
  }
  pipeline->skeleton = json::serialize(root);
  return Tokenizer(pipeline);
}

Result<Tokenizer> Tokenizer::from_tables(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                         std::string_view source_name) {
  NX_TRY(const TableFile tables, TableFile::open(bytes, std::move(owner), source_name));
  NX_TRY(const std::string_view skeleton, tables.text(kSkeleton));
  NX_TRY(const json::value document, parse_json(skeleton, source_name));
  if (!document.is_object()) {
    return fail(ErrorCode::kBadModel, "{}: the tokenizer tables describe no tokenizer", source_name);
  }
  NX_TRY(const std::shared_ptr<Pipeline> pipeline, Pipeline::parse(document.get_object(), source_name, &tables));
  pipeline->skeleton = skeleton;
  return Tokenizer(pipeline);
}

std::string Tokenizer::save_tables() const {
  std::vector<TableSection> sections = pipeline_->steps.model.tables;
  sections.push_back(table_section(kSkeleton, std::span<const char>(pipeline_->skeleton)));
  return write_tables(sections);
}

Result<Tokenizer> Tokenizer::from_file(const std::filesystem::path& path) {
  NX_TRY(const std::string text, read_file(path, kMaxFileBytes));
  return from_json(text, path.string());
}

Result<Encoding> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::array<Side, 1> sides;
  sides[0].text = text;
  return encode_sides(pipeline_->steps, sides, options);
}

Result<Encoding> Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                        const EncodeOptions& options) const {
  std::array<Side, 2> sides;
  sides[0].text = first;
  sides[1].text = second;
  return encode_sides(pipeline_->steps, sides, options);
}

std::optional<std::string_view> Tokenizer::token(std::int32_t id) const {
  const auto added = pipeline_->added_by_id.find(id);
  if (added != pipeline_->added_by_id.end()) return pipeline_->steps.added.all()[added->second].content;
  return pipeline_->steps.model.vocabulary.token(id);
}

std::optional<std::int32_t> Tokenizer::id(std::string_view token) const {
  const auto added = pipeline_->added_by_content.find(std::string(token));
  if (added != pipeline_->added_by_content.end()) return pipeline_->steps.added.all()[added->second].id;
  return pipeline_->steps.model.vocabulary.id(token);
}

std::size_t Tokenizer::vocab_size() const {
  return pipeline_->vocab_size;
}
std::size_t Tokenizer::id_limit() const {
  return pipeline_->id_limit;
}
std::size_t Tokenizer::n_added_tokens(bool pair) const {
  return pipeline_->steps.post.n_added(pair);
}
const DeclaredLimits& Tokenizer::declared() const {
  return pipeline_->declared;
}
std::optional<std::int32_t> Tokenizer::pad_id() const {
  return pipeline_->pad_id;
}

std::string_view Tokenizer::fast_path() const {
  return pipeline_->steps.fast.name;
}
Tokenizer Tokenizer::without_fast_path() const {
  auto pipeline = std::make_shared<Pipeline>(*pipeline_);
  pipeline->steps.fast = {};
  return Tokenizer(std::move(pipeline));
}

}  // namespace narthex
