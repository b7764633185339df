// Norms over channels and spatial dimensions: batch (inference only), instance, group, mean-variance.
//
//   normalise_group_norm_18   until opset 20 scale and bias were given per group, now per channel
//
// The tensors are [N, C, spatial...]. Sums are float64. Covered by tests/ops/norm_test.cc.
#include <cmath>

#include "ops/norm.h"

namespace narthex {
namespace {

Result<std::vector<double>> channel_values(const EvalContext& c, std::size_t i, std::int64_t n_channels) {
  const Tensor& tensor = c.input(i);
  if (tensor.rank() != 1 || tensor.count() != n_channels) {
    return fail(ErrorCode::kBadModel, "input {} has shape {}, expected one value for each of {} channels", i,
                dims_string(tensor.dims()), n_channels);
  }
  std::vector<double> values;
  NX_TRY_VOID(dispatch_float(tensor.dtype(), [&]<class T>() -> Result<void> {
    for (const T value : tensor.as<T>()) values.push_back(static_cast<double>(static_cast<Compute<T>>(value)));
    return {};
  }));
  return values;
}

// A tensor as [batch, channels, spatial]; all zero when it is empty.
struct ImageView {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t spatial = 0;
};

Result<ImageView> view_image(const Tensor& x) {
  if (x.rank() < 2) {
    return fail(ErrorCode::kBadModel, "needs a batch and a channel dimension, but has shape {}", dims_string(x.dims()));
  }
  const AxisView view = view_axis(x.dims(), 1);
  return ImageView{view.outer, view.size, view.inner};
}

// y = (x − mean) · factor[channel] + shift[channel], in float64.
template <class T>
void apply(const T* in, T* out, std::int64_t n, double mean, double factor, double shift) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = static_cast<double>(static_cast<Compute<T>>(in[i]));
    out[i] = static_cast<T>(static_cast<Compute<T>>((value - mean) * factor + shift));
  }
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <class T>
Moments moments(const T* in, std::int64_t n) {
  Moments m;
  const auto load = [](T value) { return static_cast<double>(static_cast<Compute<T>>(value)); };
  for (std::int64_t i = 0; i < n; ++i) m.mean += load(in[i]);
  m.mean /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) m.variance += (load(in[i]) - m.mean) * (load(in[i]) - m.mean);
  m.variance /= static_cast<double>(n);
  return m;
}

// Instance norm is group norm with one channel a group.
Result<void> run_group_norm(EvalContext& c, std::int64_t n_groups, double epsilon) {
  const Tensor& x = c.input(0);
  NX_TRY(const ImageView view, view_image(x));
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  if (x.count() == 0) return {};
  if (n_groups < 1 || view.channels % n_groups != 0) {
    return fail(ErrorCode::kBadModel, "{} channels do not divide into {} groups", view.channels, n_groups);
  }
  NX_TRY(const std::vector<double> scale, channel_values(c, 1, view.channels));
  NX_TRY(const std::vector<double> bias, channel_values(c, 2, view.channels));
  const std::int64_t group_channels = view.channels / n_groups;
  return dispatch_float(x.dtype(), [&]<class T>() -> Result<void> {
    const T* in = x.as<T>().data();
    T* out = y->as_mutable<T>().data();
    for (std::int64_t group = 0; group < view.batch * n_groups; ++group) {
      const std::int64_t first_channel = group * group_channels;
      const Moments m = moments(in + first_channel * view.spatial, group_channels * view.spatial);
      for (std::int64_t i = first_channel; i < first_channel + group_channels; ++i) {
        const auto channel = static_cast<std::size_t>(i % view.channels);
        apply(in + i * view.spatial, out + i * view.spatial, view.spatial, m.mean,
              scale[channel] / std::sqrt(m.variance + epsilon), bias[channel]);
      }
    }
    return {};
  });
}

}  // namespace

Result<void> eval_instance_norm(const Node& node, EvalContext& c) {
  NX_TRY(const float epsilon, node.float_attr("epsilon", 1e-5f));
  const Tensor& x = c.input(0);
  return run_group_norm(c, x.rank() > 1 ? x.dims()[1] : 1, static_cast<double>(epsilon));
}

Result<void> eval_group_norm(const Node& node, EvalContext& c) {
  NX_TRY(const float epsilon, node.float_attr("epsilon", 1e-5f));
  NX_TRY(const std::int64_t n_groups, node.int_attr("num_groups", 0));
  return run_group_norm(c, n_groups, static_cast<double>(epsilon));
}

Result<void> normalise_group_norm_18(const Node& node, Rewriter& rewriter) {
  NX_TRY(const std::int64_t n_groups, node.int_attr("num_groups", 0));
  if (n_groups < 1) return fail(ErrorCode::kBadModel, "num_groups must be positive, but is {}", n_groups);
  const auto ints = [&](const std::vector<std::int64_t>& values) { return rewriter.constant(Tensor::vector(values)); };
  // [groups] to [channels]: every value is repeated channels / groups times.
  const ValueId channels =
      rewriter.emit("Shape", {node.inputs[0]}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
  const ValueId repeats = rewriter.emit("Div", {channels, ints({n_groups})});
  const ValueId expanded = rewriter.emit("Concat", {ints({n_groups}), repeats}, {{"axis", std::int64_t{0}}});
  std::vector<ValueId> inputs = {node.inputs[0]};
  for (const ValueId group_values : {node.inputs[1], node.inputs[2]}) {
    const ValueId column = rewriter.emit("Unsqueeze", {group_values, ints({1})});
    const ValueId matrix = rewriter.emit("Expand", {column, expanded});
    inputs.push_back(rewriter.emit("Reshape", {matrix, ints({-1})}));
  }
  rewriter.emit("GroupNormalization", inputs, node.attributes, node.outputs[0]);
  return {};
}

Result<void> eval_batch_norm(const Node& node, EvalContext& c) {
  NX_TRY(const float epsilon, node.float_attr("epsilon", 1e-5f));
  NX_TRY(const std::int64_t training, node.int_attr("training_mode", 0));
  NX_TRY(const std::int64_t spatial, node.int_attr("spatial", 1));
  if (training != 0 || node.has_output(1)) {
    return fail(ErrorCode::kUnsupported, "training mode is not supported: export the model for inference");
  }
  if (spatial == 0) return fail(ErrorCode::kUnsupported, "spatial = 0 is not supported");
  const Tensor& x = c.input(0);
  NX_TRY(const ImageView view, view_image(x));
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  if (x.count() == 0) return {};
  NX_TRY(const std::vector<double> scale, channel_values(c, 1, view.channels));
  NX_TRY(const std::vector<double> bias, channel_values(c, 2, view.channels));
  NX_TRY(const std::vector<double> mean, channel_values(c, 3, view.channels));
  NX_TRY(const std::vector<double> variance, channel_values(c, 4, view.channels));
  return dispatch_float(x.dtype(), [&]<class T>() -> Result<void> {
    for (std::int64_t i = 0; i < view.batch * view.channels; ++i) {
      const auto channel = static_cast<std::size_t>(i % view.channels);
      apply(x.as<T>().data() + i * view.spatial, y->as_mutable<T>().data() + i * view.spatial, view.spatial,
            mean[channel], scale[channel] / std::sqrt(variance[channel] + static_cast<double>(epsilon)), bias[channel]);
    }
    return {};
  });
}

// (x − mean) / (deviation + 1e-9) over `axes`, as the function body of the operator has it.
Result<void> eval_mean_variance_norm(const Node& node, EvalContext& c) {
  NX_TRY(std::vector<std::int64_t> axes, node.ints_attr("axes", {0, 2, 3}));
  const Tensor& x = c.input(0);
  NX_TRY(axes, normalize_axes(axes, x.rank()));
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  if (x.count() == 0) return {};
  Dims kept = x.dims();
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  std::size_t n_groups = 1;
  for (const std::int64_t dim : kept) n_groups *= static_cast<std::size_t>(dim);
  const double group_size = static_cast<double>(x.count()) / static_cast<double>(n_groups);
  const std::array<std::vector<std::int64_t>, 1> strides = {broadcast_strides(kept, x.dims())};
  return dispatch_float(x.dtype(), [&]<class T>() -> Result<void> {
    const auto load = [](T value) { return static_cast<double>(static_cast<Compute<T>>(value)); };
    const std::span<const T> in = x.as<T>();
    std::vector<double> mean(n_groups, 0);
    std::vector<double> variance(n_groups, 0);
    StridedWalk<1> sums(x.dims(), strides);
    for (std::size_t i = 0; i < in.size(); ++i, sums.next()) {
      mean[static_cast<std::size_t>(sums.offset(0))] += load(in[i]) / group_size;
    }
    StridedWalk<1> squares(x.dims(), strides);
    for (std::size_t i = 0; i < in.size(); ++i, squares.next()) {
      const auto group = static_cast<std::size_t>(squares.offset(0));
      variance[group] += (load(in[i]) - mean[group]) * (load(in[i]) - mean[group]) / group_size;
    }
    StridedWalk<1> walk(x.dims(), strides);
    const std::span<T> out = y->as_mutable<T>();
    for (std::size_t i = 0; i < in.size(); ++i, walk.next()) {
      const auto group = static_cast<std::size_t>(walk.offset(0));
      const double value = (load(in[i]) - mean[group]) / (std::sqrt(variance[group]) + 1e-9);
      out[i] = static_cast<T>(static_cast<Compute<T>>(value));
    }
    return {};
  });
}

}  // namespace narthex
