// Softmax, LogSoftmax and Hardmax along one axis, and how they were spelled before opset 13.
//
//   normalise_flat_softmax   until opset 12 `axis` split the tensor into a matrix, whose rows were normalised
//
// A row of only −inf gives NaN, as IEEE arithmetic and ONNX Runtime do: exports guard it with IsNaN. Covered by
// tests/ops/norm_test.cc.
#include <cmath>
#include <limits>

#include "ops/norm.h"

namespace narthex {
namespace {

// Calls f(values) for every row along the axis, which it changes in place.
template <class F>
Result<void> map_rows(const Node& node, EvalContext& c, F&& f) {
  const Tensor& x = c.input(0);
  NX_TRY(std::int64_t axis, node.int_attr("axis", -1));
  NX_TRY(axis, normalize_axis(axis, x.rank()));
  const AxisView view = view_axis(x.dims(), axis);
  NX_TRY(Tensor * y, c.allocate(0, x.dtype(), x.dims()));
  std::vector<double> row(static_cast<std::size_t>(view.size));
  return dispatch_float(x.dtype(), [&]<class T>() -> Result<void> {
    const T* in = x.as<T>().data();
    T* out = y->as_mutable<T>().data();
    for (std::int64_t r = 0; r < view.outer * view.inner; ++r) {
      const std::int64_t first = r / view.inner * view.size * view.inner + r % view.inner;
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = static_cast<double>(static_cast<Compute<T>>(in[first + static_cast<std::int64_t>(i) * view.inner]));
      }
      f(row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        out[first + static_cast<std::int64_t>(i) * view.inner] = static_cast<T>(static_cast<Compute<T>>(row[i]));
      }
    }
    return {};
  });
}

double largest(const std::vector<double>& row) {
  double max = -std::numeric_limits<double>::infinity();
  for (const double value : row) {
    if (value > max) max = value;
  }
  return max;
}

}  // namespace

Result<void> eval_softmax(const Node& node, EvalContext& c) {
  return map_rows(node, c, [](std::vector<double>& row) {
    const double max = largest(row);
    double sum = 0;
    for (double& value : row) sum += value = std::exp(value - max);
    for (double& value : row) value /= sum;
  });
}

Result<void> eval_log_softmax(const Node& node, EvalContext& c) {
  return map_rows(node, c, [](std::vector<double>& row) {
    const double max = largest(row);
    double sum = 0;
    for (const double value : row) sum += std::exp(value - max);
    for (double& value : row) value = value - max - std::log(sum);
  });
}

Result<void> eval_hardmax(const Node& node, EvalContext& c) {
  return map_rows(node, c, [](std::vector<double>& row) {
    const auto max = std::ranges::max_element(row);  // the first of equals
    const auto at = static_cast<std::size_t>(max - row.begin());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = i == at ? 1 : 0;
  });
}

Result<void> normalise_flat_softmax(const Node& node, Rewriter& rewriter) {
  NX_TRY(std::int64_t axis, node.int_attr("axis", 1));
  const ValueId x = node.inputs[0];
  const std::optional<Shape>& shape = rewriter.graph().value(x).shape;
  if (shape) {
    const auto rank = static_cast<std::int64_t>(shape->size());
    NX_TRY(axis, normalize_axis(axis, rank));
    if (axis == rank - 1) axis = -1;
  }
  const std::vector<Attribute> last_axis = {{"axis", std::int64_t{-1}}};
  if (axis == -1) {  // the flattened row is the last dimension: what both spellings agree on
    rewriter.emit(node.op, {x}, last_axis, node.outputs[0]);
    return {};
  }
  const ValueId dims = rewriter.emit("Shape", {x});
  const ValueId matrix = rewriter.emit("Flatten", {x}, {{"axis", axis}});
  const ValueId rows = rewriter.emit(node.op, {matrix}, last_axis);
  rewriter.emit("Reshape", {rows, dims}, {{"allowzero", std::int64_t{1}}}, node.outputs[0]);
  return {};
}

}  // namespace narthex
