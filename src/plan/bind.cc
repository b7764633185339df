#include "plan/bind.h"

#include <map>

namespace narthex {
namespace {

struct Binding {
  std::int64_t value;
  std::string_view input;  // that set it
};
using Bindings = std::map<std::string, Binding, std::less<>>;

Result<void> bind_dim(const Graph& graph, const Value& declared, std::size_t d, std::int64_t found,
                      Bindings& bindings) {
  const Dim& dim = (*declared.shape)[d];
  if (const auto fixed = dim.constant(); fixed && *fixed != found) {
    return fail(ErrorCode::kBadInput, "{}: input '{}' must have {} in dimension {}, but has {}", graph.source,
                declared.name, *fixed, d, found);
  }
  const auto name = dim.symbol_name();
  if (!name) return {};
  if (found == 0) {
    return fail(ErrorCode::kBadInput, "{}: input '{}' is empty in dimension {} ({})", graph.source, declared.name, d,
                *name);
  }
  const auto [bound, is_new] = bindings.try_emplace(std::string(*name), Binding{found, declared.name});
  if (is_new || bound->second.value == found) return {};
  return fail(ErrorCode::kBadInput, "{}: input '{}' has {} in dimension {} ({}), but input '{}' has {}", graph.source,
              declared.name, found, d, *name, bound->second.input, bound->second.value);
}

}  // namespace

Result<void> check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return fail(ErrorCode::kBadInput, "{}: {} inputs given, the graph has {}", graph.source, inputs.size(),
                graph.inputs.size());
  }
  Bindings bindings;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& declared = graph.value(graph.inputs[i]);
    const Tensor& given = inputs[i];
    if (given.dtype() == DType::kUndefined ||
        (declared.dtype != DType::kUndefined && declared.dtype != given.dtype())) {
      return fail(ErrorCode::kBadInput, "{}: input '{}' must be {}, but is {}", graph.source, declared.name,
                  dtype_name(declared.dtype), dtype_name(given.dtype()));
    }
    if (!declared.shape) continue;
    if (declared.shape->size() != given.dims().size()) {
      return fail(ErrorCode::kBadInput, "{}: input '{}' must have shape {}, but has {}", graph.source, declared.name,
                  shape_string(*declared.shape), dims_string(given.dims()));
    }
    for (std::size_t d = 0; d < given.dims().size(); ++d) {
      NX_TRY_VOID(bind_dim(graph, declared, d, given.dims()[d], bindings));
    }
  }
  return {};
}

}  // namespace narthex
