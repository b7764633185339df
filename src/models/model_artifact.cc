#include "models/model_artifact.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>

#include "artifact/artifact.h"
#include "base/home.h"

namespace narthex {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr std::string_view kCountPrefix = "recognised: ";
constexpr std::array kPrecisions = {Precision::kFp32, Precision::kBf16, Precision::kInt8};

// Reads the fields of a file's metadata; the first one that is missing or malformed is the error.
class Fields {
 public:
  Fields(const Metadata& metadata, const std::filesystem::path& path) : metadata_(metadata), path_(path) {}

  std::string text(const std::string& name) {
    const auto found = metadata_.find(name);
    if (found != metadata_.end()) return found->second;
    refuse(name, "is missing");
    return {};
  }
  template <class T>
  T number(const std::string& name) {
    return parse<T>(name, text(name));
  }
  template <class T>
  T parse(const std::string& name, std::string_view written) {
    T value{};
    const auto [end, code] = std::from_chars(written.data(), written.data() + written.size(), value);
    if (code != std::errc() || end != written.data() + written.size()) refuse(name, "is not a number");
    return value;
  }
  Precision precision(const std::string& name) {
    const std::string written = text(name);
    for (const Precision known : kPrecisions)
      if (precision_name(known) == written) return known;
    refuse(name, "names no precision");
    return Precision::kFp32;
  }
  Pooling pooling(const std::string& name) {
    const std::string written = text(name);
    if (written == Pooling{Pooling::Kind::kInGraph, {}}.to_string()) return {Pooling::Kind::kInGraph, {}};
    auto parsed = parse_pooling(written);
    if (!parsed) refuse(name, parsed.error().message);
    return parsed.value_or(Pooling{});
  }
  void refuse(const std::string& name, std::string_view why) {
    if (!error_) error_ = Error{ErrorCode::kBadModel, fmt::format("{}: field '{}' {}", path_.string(), name, why)};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Metadata& metadata_;
  const std::filesystem::path& path_;
  std::optional<Error> error_;
};

void put_output(Metadata& to, const OutputChoice& output) {
  to["output index"] = fmt::to_string(output.index);
  to["output name"] = output.name;
  to["output reason"] = output.reason;
  to["output width"] = fmt::to_string(output.width);
  to["pooling"] = output.pooling.to_string();
  to["pooling reason"] = output.pooling_reason;
}

OutputChoice output_of(Fields& fields) {
  OutputChoice output;
  output.index = fields.number<std::size_t>("output index");
  output.name = fields.text("output name");
  output.reason = fields.text("output reason");
  output.width = fields.number<std::size_t>("output width");
  output.pooling = fields.pooling("pooling");
  output.pooling_reason = fields.text("pooling reason");
  return output;
}

void put_precision(Metadata& to, const PrecisionReport& report) {
  to["precision"] = precision_name(report.precision);
  to["attention precision"] = precision_name(report.attention);
  to["fallback precision"] = precision_name(report.fallback);
  to["fallback products"] = fmt::format("{}", fmt::join(report.fallback_products, " "));
  to["products"] = fmt::to_string(report.n_products);
  to["loss texts"] = fmt::to_string(report.loss.texts);
  to["loss mean cosine"] = fmt::format("{}", report.loss.mean_cosine);
  to["loss worst cosine"] = fmt::format("{}", report.loss.worst_cosine);
}

PrecisionReport precision_of(Fields& fields) {
  PrecisionReport report;
  report.precision = fields.precision("precision");
  report.attention = fields.precision("attention precision");
  report.fallback = fields.precision("fallback precision");
  report.n_products = fields.number<std::size_t>("products");
  report.loss.texts = fields.number<std::size_t>("loss texts");
  report.loss.mean_cosine = fields.number<double>("loss mean cosine");
  report.loss.worst_cosine = fields.number<double>("loss worst cosine");
  const std::string products = fields.text("fallback products");
  for (std::size_t begin = 0; begin < products.size();) {
    const std::size_t end = std::min(products.find(' ', begin), products.size());
    report.fallback_products.push_back(
        fields.parse<std::size_t>("fallback products", std::string_view(products).substr(begin, end - begin)));
    begin = end + 1;
  }
  return report;
}

}  // namespace

Result<ArtifactPlace> artifact_place(const std::string& model_id, const ModelCard& card,
                                     const EncoderCompileOptions& options) {
  NX_TRY(const Home home, narthex_home());
  SourceIdentity identity;
  identity.label = model_id;
  identity.files = {card.onnx_file, card.tokenizer_file};
  auto& decides = identity.options;
  decides["precision"] = options.precision;
  decides["native precision"] = precision_name(native_precision());
  decides["max positions"] = fmt::to_string(options.max_positions);
  decides["position offset"] = fmt::to_string(card.position_offset);
  decides["pooling"] = card.pooling.value ? card.pooling.value->to_string() : "";
  decides["pooling reason"] = card.pooling.reason;
  decides["output"] = card.output.value.value_or("");
  decides["output reason"] = card.output.reason;
  decides["model type"] = card.model_type;
  decides["skipped passes"] = fmt::format("{}", fmt::join(options.graph.passes.skip, " "));
  NX_TRY(const ArtifactId id, identify(identity, home.artifacts / kSourceIndexName));
  return ArtifactPlace{artifact_path(home.artifacts, id), id.key};
}

Result<StoredModel> load_model_artifact(const ArtifactPlace& place) {
  NX_TRY(LoadedArtifact loaded, load_artifact(place.path, place.key));
  Fields fields(loaded.metadata, place.path);
  CompiledEncoder compiled;
  compiled.output = output_of(fields);
  compiled.refusal = fields.text("refusal");
  compiled.precision = precision_of(fields);
  compiled.check_difference = fields.number<double>("check difference");
  for (const auto& [name, value] : loaded.metadata) {
    if (name.starts_with(kCountPrefix))
      compiled.recognised[name.substr(kCountPrefix.size())] = fields.parse<std::size_t>(name, value);
  }
  compiled.plan = std::move(loaded.plan);
  if (!compiled.plan && compiled.refusal.empty()) fields.refuse("refusal", "is empty, and there is no plan");
  if (fields.error()) return std::unexpected(*fields.error());
  NX_TRY(Tokenizer tokenizer, Tokenizer::from_tables(loaded.tokenizer, loaded.owner, place.path.string()));
  return StoredModel{std::move(compiled), std::move(tokenizer)};
}

Result<void> store_model_artifact(const ArtifactPlace& place, const CompiledEncoder& compiled,
                                  const Tokenizer& tokenizer) {
  const std::string tables = tokenizer.save_tables();
  ArtifactContents contents;
  contents.key = place.key;
  contents.plan = compiled.plan.get();
  contents.tokenizer = std::as_bytes(std::span(tables));
  put_output(contents.metadata, compiled.output);
  put_precision(contents.metadata, compiled.precision);
  contents.metadata["refusal"] = compiled.refusal;
  contents.metadata["check difference"] = fmt::format("{}", compiled.check_difference);
  for (const auto& [name, count] : compiled.recognised)
    contents.metadata[std::string(kCountPrefix) + name] = fmt::to_string(count);
  return write_artifact(place.path, contents);
}

}  // namespace narthex
