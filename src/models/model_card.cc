#include "models/model_card.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/json.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxConfigBytes = 16 << 20;
// tokenizer_config.json writes 10^30 for "no limit"; nothing real is near this.
constexpr double kUnsetLength = 1e6;

// A JSON object from a file that may be absent: nullopt then.
Result<std::optional<json::object>> read_object(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path, code)) return std::nullopt;
  NX_TRY(const std::string text, read_file(path, kMaxConfigBytes));
  NX_TRY(const json::value value, parse_json(text, path.string()));
  if (!value.is_object()) return fail(ErrorCode::kBadModel, "{}: must hold a JSON object", path.string());
  return value.as_object();
}

const json::value* find(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<double> number(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

// A positive length below "no limit".
std::optional<std::size_t> length(const json::object& object, std::string_view key) {
  const auto value = number(object, key);
  if (!value || !(*value >= 1 && *value < kUnsetLength)) return std::nullopt;
  return static_cast<std::size_t>(*value);
}

std::optional<std::string> text(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->as_string());
}

bool flag(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

struct PoolingKey {
  const char* old_key;  // boolean of sentence-transformers up to 5
  const char* name;     // word of `pooling_mode` from 6 on
  PoolingMode mode;
};
// In the order in which several are concatenated.
constexpr std::array<PoolingKey, 6> kPoolingKeys = {
    {{"pooling_mode_cls_token", "cls", PoolingMode::kCls},
     {"pooling_mode_max_tokens", "max", PoolingMode::kMax},
     {"pooling_mode_mean_tokens", "mean", PoolingMode::kMean},
     {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", PoolingMode::kMeanSqrt},
     {"pooling_mode_weightedmean_tokens", "weightedmean", PoolingMode::kWeightedMean},
     {"pooling_mode_lasttoken", "lasttoken", PoolingMode::kLast}}};

Result<Pooling> read_pooling(const json::object& config, const fs::path& path) {
  Pooling pooling;
  std::vector<std::string> names;
  if (const json::value* modes = find(config, "pooling_mode")) {
    if (modes->is_string()) names.emplace_back(modes->as_string());
    if (modes->is_array()) {
      for (const json::value& mode : modes->as_array()) {
        if (mode.is_string()) names.emplace_back(mode.as_string());
      }
    }
    for (const std::string& name : names) {
      if (std::ranges::none_of(kPoolingKeys, [&](const PoolingKey& key) { return name == key.name; })) {
        return fail(ErrorCode::kUnsupported, "{}: pooling_mode '{}' is not known", path.string(), name);
      }
    }
  }
  for (const PoolingKey& key : kPoolingKeys) {
    if (flag(config, key.old_key) || std::ranges::find(names, key.name) != names.end())
      pooling.modes.push_back(key.mode);
  }
  if (pooling.modes.empty()) pooling.modes.push_back(PoolingMode::kMean);  // sentence-transformers' default
  return pooling;
}

// "sentence_transformers.models.Pooling" and its later homes all end in the same word.
std::string_view last_component(std::string_view dotted) {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

Result<void> read_modules(const fs::path& directory, ModelCard& card) {
  const fs::path path = directory / "modules.json";
  std::error_code code;
  if (!fs::exists(path, code)) return {};
  NX_TRY(const std::string bytes, read_file(path, kMaxConfigBytes));
  NX_TRY(const json::value modules, parse_json(bytes, path.string()));
  if (!modules.is_array()) return fail(ErrorCode::kBadModel, "{}: must hold a list of modules", path.string());
  bool normalizes = false;
  for (const json::value& module : modules.as_array()) {
    if (!module.is_object()) return fail(ErrorCode::kBadModel, "{}: every module must be an object", path.string());
    const std::string type = text(module.as_object(), "type").value_or("");
    const std::string_view kind = last_component(type);
    if (kind == "Pooling") {
      const fs::path folder = text(module.as_object(), "path").value_or("1_Pooling");
      if (folder.is_absolute() || std::ranges::find(folder, fs::path("..")) != folder.end()) {
        return fail(ErrorCode::kBadModel, "{}: module path '{}' leads outside the model", path.string(),
                    folder.string());
      }
      NX_TRY(const auto config, read_object(directory / folder / "config.json"));
      if (config) {
        NX_TRY(card.pooling.value, read_pooling(*config, directory / folder / "config.json"));
        card.pooling.reason = fmt::format("{}/config.json", folder.string());
      }
    } else if (kind == "Normalize") {
      normalizes = true;
    } else if (kind != "Transformer" && kind != "MLMTransformer" && kind != "Dropout") {
      return fail(ErrorCode::kUnsupported, "{}: module '{}' is not supported; Transformer, Pooling and Normalize are",
                  path.string(), type);
    }
  }
  card.normalize = {normalizes, normalizes ? "modules.json lists Normalize" : "modules.json does not list Normalize"};
  return {};
}

Result<void> read_prompts(const fs::path& directory, ModelCard& card) {
  NX_TRY(const auto config, read_object(directory / "config_sentence_transformers.json"));
  if (!config) return {};
  if (const json::value* prompts = find(*config, "prompts"); prompts != nullptr && prompts->is_object()) {
    for (const auto& [name, prompt] : prompts->as_object()) {
      if (prompt.is_string()) card.prompts[std::string(name)] = std::string(prompt.as_string());
    }
  }
  card.default_prompt = text(*config, "default_prompt_name");
  if (card.default_prompt && !card.prompts.contains(*card.default_prompt)) {
    return fail(ErrorCode::kBadModel, "{}: default_prompt_name '{}' is none of its prompts",
                (directory / "config_sentence_transformers.json").string(), *card.default_prompt);
  }
  card.truncate_dim = length(*config, "truncate_dim");
  return {};
}

constexpr std::array kSentenceConfigs = {"sentence_bert_config.json",       "sentence_roberta_config.json",
                                         "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                         "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                         "sentence_xlnet_config.json"};

// Precedence: sentence-transformers' own limit, then the tokenizer's, then what the position table holds.
Result<void> read_length(const fs::path& directory, const std::optional<json::object>& config, ModelCard& card) {
  for (const char* name : kSentenceConfigs) {
    NX_TRY(const auto sentence, read_object(directory / name));
    if (!sentence) continue;
    card.lower_case = flag(*sentence, "do_lower_case");
    if (const auto value = length(*sentence, "max_seq_length")) {
      card.max_length = {value, fmt::format("max_seq_length in {}", name)};
    }
    break;
  }
  std::optional<std::size_t> positions;
  if (config) {
    positions = length(*config, "max_position_embeddings");
    const std::string& type = card.model_type;
    if (type == "roberta" || type == "xlm-roberta" || type == "camembert") {
      card.position_offset = static_cast<int>(number(*config, "pad_token_id").value_or(1)) + 1;
    } else if (type == "mpnet") {
      card.position_offset = 2;
    }
    if (positions && *positions > static_cast<std::size_t>(card.position_offset)) {
      *positions -= static_cast<std::size_t>(card.position_offset);
    }
  }
  if (card.max_length.value) return {};
  NX_TRY(const auto tokenizer, read_object(directory / "tokenizer_config.json"));
  if (tokenizer) {
    if (auto value = length(*tokenizer, "model_max_length")) {
      if (positions) value = std::min(*value, *positions);
      card.max_length = {value, "model_max_length in tokenizer_config.json"};
      return {};
    }
  }
  if (positions) card.max_length = {positions, "max_position_embeddings in config.json"};
  return {};
}

// The first that exists of the places where exporters put it.
Result<fs::path> find_onnx(const fs::path& directory) {
  for (const char* name : {"onnx/model.onnx", "model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx"}) {
    std::error_code code;
    if (fs::exists(directory / name, code)) return directory / name;
  }
  std::vector<fs::path> others;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(directory, code)) {
    if (entry.path().extension() == ".onnx") others.push_back(entry.path());
  }
  if (others.size() == 1) return others.front();
  if (others.empty()) {
    return fail(ErrorCode::kNotFound,
                "{}: holds no .onnx file (looked for onnx/model.onnx, model.onnx, model_optimized.onnx)",
                directory.string());
  }
  return fail(ErrorCode::kUsage, "{}: holds {} .onnx files and none is called model.onnx; name one of them",
              directory.string(), others.size());
}

// Beside the .onnx file, in its parent (onnx/model.onnx), or named after it (bge.onnx, bge-tokenizer.json).
Result<fs::path> find_tokenizer(const fs::path& onnx_file) {
  const fs::path beside = onnx_file.parent_path();
  const std::array<fs::path, 3> places = {beside / "tokenizer.json",
                                          beside / (onnx_file.stem().string() + "-tokenizer.json"),
                                          beside.parent_path() / "tokenizer.json"};
  for (const fs::path& place : places) {
    std::error_code code;
    if (!place.empty() && fs::exists(place, code)) return place;
  }
  return fail(ErrorCode::kNotFound, "{}: no tokenizer.json beside it or in the folder above", onnx_file.string());
}

void apply_defaults(const CardDefaults& defaults, ModelCard& card) {
  const std::string reason = fmt::format("catalog entry {}", defaults.name);
  if (!card.pooling.value && defaults.pooling) card.pooling = {defaults.pooling, reason};
  if (!card.normalize.value && defaults.normalize) card.normalize = {defaults.normalize, reason};
  if (!card.max_length.value && defaults.max_length) card.max_length = {defaults.max_length, reason};
  if (defaults.output) card.output = {defaults.output, reason};
  card.prompts.insert(defaults.prompts.begin(), defaults.prompts.end());
}

}  // namespace

Result<ModelCard> read_model_card(const fs::path& path, const CardDefaults& defaults) {
  std::error_code code;
  if (!fs::exists(path, code)) return fail(ErrorCode::kNotFound, "{}: does not exist", path.string());
  ModelCard card;
  if (fs::is_directory(path, code)) {
    NX_TRY(card.onnx_file, find_onnx(path));
  } else {
    card.onnx_file = path;
  }
  NX_TRY(card.tokenizer_file, find_tokenizer(card.onnx_file));
  const fs::path directory = card.tokenizer_file.parent_path();
  NX_TRY(const auto config, read_object(directory / "config.json"));
  if (config) card.model_type = text(*config, "model_type").value_or("");
  NX_TRY_VOID(read_modules(directory, card));
  if (!card.pooling.value) {
    NX_TRY(const auto pooling, read_object(directory / "1_Pooling" / "config.json"));
    if (pooling) {
      NX_TRY(card.pooling.value, read_pooling(*pooling, directory / "1_Pooling" / "config.json"));
      card.pooling.reason = "1_Pooling/config.json";
    }
  }
  NX_TRY_VOID(read_prompts(directory, card));
  NX_TRY_VOID(read_length(directory, config, card));
  apply_defaults(defaults, card);
  return card;
}

}  // namespace narthex
