#include "models/interpreted_encoder.h"

#include <algorithm>

#include "graph/build.h"
#include "onnx/read.h"
#include "ops/normalise.h"

namespace narthex {
namespace {

// Activations of one run of bge-small take about 20 kB a token: 4096 tokens stay below 100 MB.
constexpr std::size_t kMaxBatchTokens = 4096;

Result<std::vector<float>> to_float32(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  const auto convert = [&]<class T>() {
    std::ranges::transform(tensor.as<T>(), values.begin(), [](T x) { return static_cast<float>(x); });
  };
  switch (tensor.dtype()) {
    case DType::kFloat32:
      convert.template operator()<float>();
      break;
    case DType::kFloat64:
      convert.template operator()<double>();
      break;
    case DType::kFloat16:
      convert.template operator()<Half>();
      break;
    default:
      return fail(ErrorCode::kUnsupported, "the graph's output is {}, expected floats", dtype_name(tensor.dtype()));
  }
  return values;
}

}  // namespace

bool mixes_batch(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == "DynamicQuantizeLinear"; });
}

Result<std::shared_ptr<const Program>> compile_file(const std::filesystem::path& path, const CompileOptions& options) {
  NX_TRY(const std::shared_ptr<const onnx::Model> model, onnx::read_model(path));
  NX_TRY(Graph graph, build_graph(*model));
  NX_TRY_VOID(normalise(graph));
  return compile(std::move(graph), options);
}

InterpretedEncoder::InterpretedEncoder(std::shared_ptr<const Program> program, EncoderInputs inputs)
    : program_(std::move(program)), inputs_(std::move(inputs)), one_at_a_time_(mixes_batch(program_->graph())) {}

Result<std::shared_ptr<const InterpretedEncoder>> InterpretedEncoder::create(std::shared_ptr<const Program> program,
                                                                             const ModelCard& card,
                                                                             std::int32_t pad_id) {
  NX_TRY(EncoderInputs inputs, EncoderInputs::create(program->graph(), card.position_offset, pad_id));
  return std::shared_ptr<const InterpretedEncoder>(new InterpretedEncoder(std::move(program), std::move(inputs)));
}

Result<std::shared_ptr<const InterpretedEncoder>> InterpretedEncoder::load(const ModelCard& card, std::int32_t pad_id,
                                                                           const CompileOptions& options) {
  NX_TRY(std::shared_ptr<const Program> program, compile_file(card.onnx_file, options));
  return create(std::move(program), card, pad_id);
}

Result<void> InterpretedEncoder::run(std::span<const Encoding* const> texts, std::size_t output, bool pooled,
                                     const RowsFn& rows) const {
  std::vector<std::size_t> order(texts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(texts[i]->ids.size(), i); });
  for (std::size_t first = 0; first < order.size();) {
    const std::size_t length = texts[order[first]]->ids.size();
    std::size_t limit = one_at_a_time_ ? 1 : std::max<std::size_t>(1, kMaxBatchTokens / length);
    if (inputs_.fixed_batch() > 0) limit = std::min(limit, inputs_.fixed_batch());
    std::size_t last = first + 1;
    while (last < order.size() && last - first < limit && texts[order[last]]->ids.size() == length) ++last;
    NX_TRY_VOID(run_equal(texts, std::span(order).subspan(first, last - first), output, pooled, rows));
    first = last;
  }
  return {};
}

Result<void> InterpretedEncoder::run_equal(std::span<const Encoding* const> texts, std::span<const std::size_t> batch,
                                           std::size_t output, bool pooled, const RowsFn& rows) const {
  std::vector<const Encoding*> sequences;
  for (const std::size_t i : batch) sequences.push_back(texts[i]);
  NX_TRY(const std::vector<Tensor> inputs, inputs_.make(sequences));
  NX_TRY(const std::vector<Tensor> outputs, program_->run(inputs));
  const Tensor& result = outputs[output];
  NX_TRY(const std::vector<float> values, to_float32(result));
  const std::size_t rank = pooled ? 2 : 3;
  const std::size_t n_rows = inputs[0].dims()[0] > 0 ? static_cast<std::size_t>(inputs[0].dims()[0]) : 0;
  if (result.dims().size() != rank || static_cast<std::size_t>(result.dims()[0]) != n_rows ||
      (rank == 3 && result.dims()[1] != inputs[0].dims()[1])) {
    return fail(ErrorCode::kBadModel, "output '{}' has shape {} for inputs of shape {}",
                program_->graph().value(program_->graph().outputs[output]).name, dims_string(result.dims()),
                dims_string(inputs[0].dims()));
  }
  const auto width = static_cast<std::size_t>(result.dims().back());
  const std::size_t row_values = values.size() / n_rows;
  for (std::size_t row = 0; row < batch.size(); ++row) {
    std::span<const float> mine = std::span(values).subspan(row * row_values, row_values);
    if (!pooled) mine = mine.first(texts[batch[row]]->ids.size() * width);
    rows(batch[row], mine, width);
  }
  return {};
}

Result<std::shared_ptr<const InterpretedEncoder>> LazyInterpreter::get() {
  const std::scoped_lock lock(mutex_);
  if (!loaded_) {
    NX_TRY(loaded_, load_());
  }
  return loaded_;
}

}  // namespace narthex
