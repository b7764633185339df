#include "models/compile_encoder.h"

#include <algorithm>
#include <cmath>

#include "base/team.h"
#include "graph/build.h"
#include "kernels/kernels.h"
#include "models/calibration_texts.h"
#include "models/encoder_inputs.h"
#include "onnx/read.h"
#include "ops/normalise.h"
#include "passes/pipeline.h"

namespace narthex {
namespace {

// Both compute in float32 but in another order; a wrong mask or a swapped operand gives 1e-2 and more.
constexpr double kCheckTolerance = 5e-4;
// The interpreter follows a quantised graph's own rounding, the plan computes what it stands for.
constexpr double kQuantisedCosine = 0.97;

std::vector<Encoding> encode_texts(const Tokenizer& tokenizer, std::size_t max_length) {
  std::vector<Encoding> encodings;
  for (const std::string_view text : calibration_texts()) {
    EncodeOptions options;
    options.max_length = max_length;
    if (auto encoding = tokenizer.encode(text, options); encoding && !encoding->ids.empty())
      encodings.push_back(std::move(*encoding));
  }
  return encodings;
}

// Short, middling and long ones: the check need not be slow to be sharp.
std::vector<const Encoding*> texts_to_check(const std::vector<Encoding>& encodings, const PackedPlan& plan) {
  std::vector<const Encoding*> usable;
  for (const Encoding& encoding : encodings)
    if (plan.covers(encoding.ids)) usable.push_back(&encoding);
  // They point into one vector: an address is a place in the order of the texts.
  std::ranges::sort(usable, {}, [](const Encoding* encoding) { return std::pair(encoding->ids.size(), encoding); });
  if (usable.size() <= 4) return usable;
  return {usable.front(), usable[usable.size() / 3], usable[usable.size() * 2 / 3], usable.back()};
}

struct Agreement {
  double difference = 0;  // relative to the largest element
  double cosine = 1;
};

void compare(std::span<const float> want, std::span<const float> got, Agreement& agreement) {
  double largest = 0, difference = 0, dot = 0, ww = 0, gg = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto w = static_cast<double>(want[i]), g = static_cast<double>(got[i]);
    largest = std::max(largest, std::abs(w));
    difference = std::isfinite(g) ? std::max(difference, std::abs(w - g)) : INFINITY;
    dot += w * g;
    ww += w * w;
    gg += g * g;
  }
  agreement.difference = std::max(agreement.difference, difference / std::max(largest, 1e-30));
  agreement.cosine = std::min(agreement.cosine, dot / std::sqrt(std::max(ww * gg, 1e-60)));
}

// The float32 plan against the interpreter, one text at a time. No value: nothing could be compared.
Result<std::optional<Agreement>> check_plan(const PackedPlan& plan, const Program& program, const ModelCard& card,
                                            const Tokenizer& tokenizer, std::size_t output,
                                            const std::vector<Encoding>& encodings) {
  NX_TRY(const EncoderInputs inputs,
         EncoderInputs::create(program.graph(), card.position_offset, tokenizer.pad_id().value_or(0)));
  if (inputs.fixed_batch() > 1 || inputs.fixed_length() > 0) return std::nullopt;
  std::optional<Agreement> agreement;
  for (const Encoding* encoding : texts_to_check(encodings, plan)) {
    NX_TRY(const std::vector<Tensor> tensors, inputs.make({&encoding, 1}));
    NX_TRY(const std::vector<Tensor> results, program.run(tensors));
    if (results[output].dtype() != DType::kFloat32) return std::nullopt;
    const std::vector<std::size_t> starts = {0, encoding->ids.size()};
    const TokenBatch batch{encoding->ids, encoding->type_ids, starts};
    NX_TRY_VOID(plan.check(batch));
    std::vector<float> rows((plan.output_per_sequence() ? 1 : encoding->ids.size()) * plan.width());
    if (static_cast<std::size_t>(results[output].count()) != rows.size()) return std::nullopt;
    plan.run(Team::process(), batch, rows.data());
    if (!agreement) agreement.emplace();
    compare(results[output].as<float>(), rows, *agreement);
  }
  return agreement;
}

Precision wanted_precision(const std::string& name, bool quantised) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "bf16") return Precision::kBf16;
  if (name == "int8" || quantised) return Precision::kInt8;
  return native_precision();
}

// Recognition and check; the Encoder, or why not in compiled.refusal.
Result<std::optional<Encoder>> recognise_checked(Graph graph, const ModelCard& card, const Tokenizer& tokenizer,
                                                 const EncoderCompileOptions& options,
                                                 const std::vector<Encoding>& encodings, CompiledEncoder& compiled) {
  Recognition recognition = recognise(graph, {options.max_positions});
  compiled.recognised = recognition.counts;
  compiled.refusal = recognition.refusals[compiled.output.index];
  if (!compiled.refusal.empty() || !recognition.encoder) return std::nullopt;
  Encoder& encoder = *recognition.encoder;
  const auto found = std::ranges::find(encoder.outputs, compiled.output.index, &EncoderOutput::graph_output);
  if (found == encoder.outputs.end()) {
    compiled.refusal = "the output is not among those that were recognised";
    return std::nullopt;
  }
  encoder.outputs = {*found};
  const bool quantised = compiled.recognised.contains("quantised linear");
  NX_TRY(const std::shared_ptr<const Program> program, compile(std::move(graph), options.graph));
  const PackedPlan exact = lower(encoder, {});
  NX_TRY(const auto agreement, check_plan(exact, *program, card, tokenizer, compiled.output.index, encodings));
  if (!agreement) {
    compiled.refusal = "the plan could not be compared with the interpreter: the graph's dimensions are fixed numbers";
    return std::nullopt;
  }
  compiled.check_difference = agreement->difference;
  const bool agrees = quantised ? agreement->cosine >= kQuantisedCosine : agreement->difference <= kCheckTolerance;
  if (!agrees) {
    compiled.refusal = fmt::format(
        "the plan disagrees with the interpreter (largest difference {:.2e} of the largest element, cosine {:.6f}); "
        "please "
        "report this model",
        agreement->difference, agreement->cosine);
    return std::nullopt;
  }
  return std::move(*recognition.encoder);
}

}  // namespace

Precision native_precision() {
  return native_bf16() ? Precision::kBf16 : Precision::kFp32;
}

std::optional<step::PoolKind> plan_pool(const Pooling& pooling) {
  if (pooling.kind != Pooling::Kind::kModes || pooling.modes.size() != 1) return std::nullopt;
  switch (pooling.modes[0]) {
    case PoolingMode::kCls:
      return step::PoolKind::kFirst;
    case PoolingMode::kMean:
      return step::PoolKind::kMean;
    case PoolingMode::kMax:
      return step::PoolKind::kMax;
    case PoolingMode::kLast:
      return step::PoolKind::kLast;
    default:
      return std::nullopt;
  }
}

Result<CompiledEncoder> compile_encoder(const ModelCard& card, const Tokenizer& tokenizer,
                                        const EncoderCompileOptions& options) {
  NX_TRY(const std::shared_ptr<const onnx::Model> model, onnx::read_model(card.onnx_file));
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(normalise(graph));
  NX_TRY_VOID(run_passes(graph, options.graph.passes));
  CompiledEncoder compiled;
  NX_TRY(compiled.output, choose_output(graph, card));
  const std::vector<Encoding> encodings = encode_texts(tokenizer, options.max_positions);
  NX_TRY(const std::optional<Encoder> encoder,
         recognise_checked(std::move(graph), card, tokenizer, options, encodings, compiled));
  if (!encoder) return compiled;
  PrecisionOptions precision;
  precision.pool = plan_pool(compiled.output.pooling);
  precision.precision = wanted_precision(options.precision, compiled.recognised.contains("quantised linear"));
  precision.fallback = Precision::kBf16;  // half of float32's bytes, and nowhere much slower
  for (const Encoding& encoding : encodings) precision.calibration.push_back(encoding.ids);
  PrecisePlan chosen = choose_precision(*encoder, precision, Team::process());
  compiled.plan = std::make_shared<const PackedPlan>(std::move(chosen.plan));
  compiled.precision = std::move(chosen.report);
  return compiled;
}

}  // namespace narthex
