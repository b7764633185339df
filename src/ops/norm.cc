// Layer norms and LpNormalization, and the table of the family.
//
//   norm_ops()   the table; norm_softmax.cc and norm_image.cc hold the other functions
//
// Mean, variance and sums are float64 whatever stash_type says: this is what kernels are checked against, and every
// stash type rounds towards it. LayerNormalization and SimplifiedLayerNormalization have rows from opset 1 because ONNX
// Runtime writes them into models of any opset when it saves an optimised graph. Covered by tests/ops/norm_test.cc.
#include "ops/norm.h"

#include <cmath>

namespace narthex {

AxisView view_axis(const Dims& dims, std::int64_t axis) {
  for (const std::int64_t dim : dims) {
    if (dim == 0) return {};
  }
  AxisView view{1, dims[static_cast<std::size_t>(axis)], 1};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i < static_cast<std::size_t>(axis)) view.outer *= dims[i];
    if (i > static_cast<std::size_t>(axis)) view.inner *= dims[i];
  }
  return view;
}

namespace {

// The value of a scale or bias as float64 at every position of the normalised tensor.
struct Affine {
  std::vector<double> values;
  std::vector<std::int64_t> strides;
};

Result<Affine> affine_input(const EvalContext& c, std::size_t i, const Dims& dims, const char* what) {
  const Tensor& tensor = c.input(i);
  NX_TRY(const Dims both, broadcast_dims(tensor.dims(), dims));
  if (both != dims) {
    return fail(ErrorCode::kBadModel, "{} of shape {} does not broadcast to {}", what, dims_string(tensor.dims()),
                dims_string(dims));
  }
  Affine affine{{}, broadcast_strides(tensor.dims(), dims)};
  NX_TRY_VOID(dispatch_float(tensor.dtype(), [&]<class T>() -> Result<void> {
    for (const T value : tensor.as<T>()) affine.values.push_back(static_cast<double>(static_cast<Compute<T>>(value)));
    return {};
  }));
  return affine;
}

struct LayerNormSpec {
  bool subtracts_mean = true;
  DType output = DType::kUndefined;
  DType statistics = DType::kFloat32;
  double epsilon = 1e-5;
  std::int64_t axis = 0;
};

Result<LayerNormSpec> layer_norm_spec(const Node& node, const Tensor& x, bool subtracts_mean) {
  LayerNormSpec spec;
  spec.subtracts_mean = subtracts_mean;
  spec.output = x.dtype();
  NX_TRY(const float epsilon, node.float_attr("epsilon", 1e-5f));
  NX_TRY(const std::int64_t axis, node.int_attr("axis", -1));
  NX_TRY(const std::int64_t stash, node.int_attr("stash_type", 1));
  NX_TRY(spec.axis, normalize_axis(axis, x.rank()));
  spec.epsilon = static_cast<double>(epsilon);
  spec.statistics = stash == static_cast<std::int64_t>(DType::kBFloat16) ? DType::kBFloat16 : DType::kFloat32;
  if (x.dtype() == DType::kFloat64) spec.statistics = DType::kFloat64;
  return spec;
}

Result<void> store_statistic(EvalContext& c, std::size_t output, DType dtype, const Dims& dims,
                             const std::vector<double>& values) {
  if (output >= c.n_outputs()) return {};
  NX_TRY(Tensor * tensor, c.allocate(output, dtype, dims));
  return dispatch_float(dtype, [&]<class T>() -> Result<void> {
    const std::span<T> out = tensor->as_mutable<T>();
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(static_cast<Compute<T>>(values[i]));
    return {};
  });
}

struct RowStatistics {
  std::vector<double> mean;
  std::vector<double> inverse_deviation;
};

// y = (x − mean) / sqrt(mean((x − mean)²) + epsilon) · scale + bias over the dimensions from `axis`; without the mean
// it is the root-mean-square norm.
template <class T, class U>
void normalise_rows(const LayerNormSpec& spec, const Tensor& x, const Affine& scale, const Affine* bias, Tensor& y,
                    RowStatistics& statistics) {
  std::int64_t n_columns = 1;
  for (std::size_t i = static_cast<std::size_t>(spec.axis); i < x.dims().size(); ++i) n_columns *= x.dims()[i];
  const std::int64_t n_rows = x.count() / n_columns;
  StridedWalk<2> walk(x.dims(), {scale.strides, bias != nullptr ? bias->strides : scale.strides});
  const auto at = [](const std::vector<double>& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
  const auto load = [](T value) { return static_cast<double>(static_cast<Compute<T>>(value)); };
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const std::span<const T> in =
        x.as<T>().subspan(static_cast<std::size_t>(row * n_columns), static_cast<std::size_t>(n_columns));
    double mean = 0;
    if (spec.subtracts_mean) {
      for (const T value : in) mean += load(value);
      mean /= static_cast<double>(n_columns);
    }
    double variance = 0;
    for (const T value : in) variance += (load(value) - mean) * (load(value) - mean);
    const double inverse = 1.0 / std::sqrt(variance / static_cast<double>(n_columns) + spec.epsilon);
    statistics.mean.push_back(mean);
    statistics.inverse_deviation.push_back(inverse);
    U* out = y.as_mutable<U>().data() + row * n_columns;
    for (std::size_t i = 0; i < in.size(); ++i, walk.next()) {
      double value = (load(in[i]) - mean) * inverse * at(scale.values, walk.offset(0));
      if (bias != nullptr) value += at(bias->values, walk.offset(1));
      out[i] = static_cast<U>(static_cast<Compute<U>>(value));
    }
  }
}

Result<void> run_layer_norm(const LayerNormSpec& spec, EvalContext& c, RowStatistics& statistics) {
  const Tensor& x = c.input(0);
  NX_TRY(const Affine scale, affine_input(c, 1, x.dims(), "the scale"));
  std::optional<Affine> bias;
  if (spec.subtracts_mean && c.has(2)) {
    NX_TRY(bias, affine_input(c, 2, x.dims(), "the bias"));
  }
  NX_TRY(Tensor * y, c.allocate(0, spec.output, x.dims()));
  if (y->count() == 0) return {};
  return dispatch_float(x.dtype(), [&]<class T>() -> Result<void> {
    return dispatch_float(spec.output, [&]<class U>() -> Result<void> {
      normalise_rows<T, U>(spec, x, scale, bias ? &*bias : nullptr, *y, statistics);
      return {};
    });
  });
}

Dims statistics_dims(const Dims& dims, std::int64_t axis) {
  Dims out = dims;
  for (std::size_t i = static_cast<std::size_t>(axis); i < out.size(); ++i) out[i] = 1;
  return out;
}

Result<void> eval_layer_norm(const Node& node, EvalContext& c) {
  NX_TRY(const LayerNormSpec spec, layer_norm_spec(node, c.input(0), true));
  RowStatistics statistics;
  NX_TRY_VOID(run_layer_norm(spec, c, statistics));
  const Dims dims = statistics_dims(c.input(0).dims(), spec.axis);
  if (c.n_outputs() > 1 && c.input(0).count() == 0) {
    return fail(ErrorCode::kUnsupported, "has no mean of an empty tensor of shape {}", dims_string(c.input(0).dims()));
  }
  NX_TRY_VOID(store_statistic(c, 1, spec.statistics, dims, statistics.mean));
  return store_statistic(c, 2, spec.statistics, dims, statistics.inverse_deviation);
}

Result<void> eval_rms_norm(const Node& node, EvalContext& c) {
  NX_TRY(LayerNormSpec spec, layer_norm_spec(node, c.input(0), false));
  spec.output = c.input(1).dtype();  // RMSNormalization-23 lets the scale decide the output's type
  RowStatistics statistics;
  return run_layer_norm(spec, c, statistics);
}

Result<void> infer_layer_norm(InferContext& context) {
  const Shape* x = context.shape(0);
  context.set(0, context.dtype(0), x != nullptr ? std::optional(*x) : std::nullopt);
  NX_TRY(const std::int64_t stash, context.node().int_attr("stash_type", 1));
  NX_TRY(std::int64_t axis, context.node().int_attr("axis", -1));
  std::optional<Shape> statistics;
  if (x != nullptr) {
    NX_TRY(axis, normalize_axis(axis, static_cast<std::int64_t>(x->size())));
    statistics = *x;
    for (std::size_t i = static_cast<std::size_t>(axis); i < x->size(); ++i) (*statistics)[i] = Dim(1);
  }
  DType dtype = stash == static_cast<std::int64_t>(DType::kBFloat16) ? DType::kBFloat16 : DType::kFloat32;
  if (context.dtype(0) == DType::kFloat64) dtype = DType::kFloat64;
  if (context.dtype(0) == DType::kUndefined) dtype = DType::kUndefined;
  context.set(1, dtype, statistics);
  context.set(2, dtype, statistics);
  return {};
}

Result<void> infer_rms_norm(InferContext& context) {
  const Shape* x = context.shape(0);
  context.set(0, context.dtype(1), x != nullptr ? std::optional(*x) : std::nullopt);
  return {};
}

// The same without its second output, the inverse root mean square, which only training reads.
Result<void> normalise_simplified(const Node& node, Rewriter& rewriter) {
  if (node.has_output(1)) {
    return fail(ErrorCode::kUnsupported, "the second output (inv_std_var) is not supported");
  }
  rewriter.emit("RMSNormalization", node.inputs, node.attributes, node.outputs[0]);
  return {};
}

Result<void> eval_lp_norm(const Node& node, EvalContext& c) {
  NX_TRY(std::int64_t axis, node.int_attr("axis", -1));
  NX_TRY(const std::int64_t p, node.int_attr("p", 2));
  if (p != 1 && p != 2) return fail(ErrorCode::kBadModel, "p must be 1 or 2, but is {}", p);
  const Tensor& x = c.input(0);
  NX_TRY(axis, normalize_axis(axis, x.rank()));
  const AxisView view = view_axis(x.dims(), axis);
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  return dispatch_float(x.dtype(), [&]<class T>() -> Result<void> {
    const auto load = [](T value) { return static_cast<double>(static_cast<Compute<T>>(value)); };
    const T* in = x.as<T>().data();
    T* out = y->as_mutable<T>().data();
    for (std::int64_t row = 0; row < view.outer * view.inner; ++row) {
      const std::int64_t first = row / view.inner * view.size * view.inner + row % view.inner;
      double norm = 0;
      for (std::int64_t i = 0; i < view.size; ++i) {
        const double value = load(in[first + i * view.inner]);
        norm += p == 1 ? std::abs(value) : value * value;
      }
      if (p == 2) norm = std::sqrt(norm);
      for (std::int64_t i = 0; i < view.size; ++i) {
        const double value = norm == 0 ? 0 : load(in[first + i * view.inner]) / norm;  // a zero vector stays zero
        out[first + i * view.inner] = static_cast<T>(static_cast<Compute<T>>(value));
      }
    }
    return {};
  });
}

constexpr OpDef kNormOps[] = {
    // name, domain, since, inputs, outputs, normalise, infer, eval
    {"LayerNormalization", kOnnx, 1, 2, 3, 1, 3, nullptr, infer_layer_norm, eval_layer_norm},
    {"SimplifiedLayerNormalization", kOnnx, 1, 2, 2, 1, 2, normalise_simplified, nullptr, nullptr},
    {"RMSNormalization", kOnnx, 23, 2, 2, 1, 1, nullptr, infer_rms_norm, eval_rms_norm},
    {"LpNormalization", kOnnx, 1, 1, 1, 1, 1, nullptr, infer_like_first, eval_lp_norm},
    {"Softmax", kOnnx, 1, 1, 1, 1, 1, normalise_flat_softmax, nullptr, nullptr},
    {"Softmax", kOnnx, 13, 1, 1, 1, 1, nullptr, infer_like_first, eval_softmax},
    {"LogSoftmax", kOnnx, 1, 1, 1, 1, 1, normalise_flat_softmax, nullptr, nullptr},
    {"LogSoftmax", kOnnx, 13, 1, 1, 1, 1, nullptr, infer_like_first, eval_log_softmax},
    {"Hardmax", kOnnx, 1, 1, 1, 1, 1, normalise_flat_softmax, nullptr, nullptr},
    {"Hardmax", kOnnx, 13, 1, 1, 1, 1, nullptr, infer_like_first, eval_hardmax},
    {"BatchNormalization", kOnnx, 7, 5, 5, 1, 5, nullptr, infer_like_first, eval_batch_norm},
    {"InstanceNormalization", kOnnx, 6, 3, 3, 1, 1, nullptr, infer_like_first, eval_instance_norm},
    {"GroupNormalization", kOnnx, 18, 3, 3, 1, 1, normalise_group_norm_18, nullptr, nullptr},
    {"GroupNormalization", kOnnx, 21, 3, 3, 1, 1, nullptr, infer_like_first, eval_group_norm},
    {"MeanVarianceNormalization", kOnnx, 9, 1, 1, 1, 1, nullptr, infer_like_first, eval_mean_variance_norm},
};

}  // namespace

std::span<const OpDef> norm_ops() {
  return kNormOps;
}

}  // namespace narthex
