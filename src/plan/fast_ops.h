// The operators that have a kernel: one row each, {op, domain, applies, prepare, run}.
//
//   find_fast_op(graph, node)   the row whose `applies` says yes, or nullptr: then the operator's `eval` runs
//
// `prepare` runs once at compile time and makes what the step keeps (a packed matrix) from the constant inputs after
// the first and the attribute `transposed` alone: nodes that share those share it. `run` is called only when the inputs
// have the types that the graph says; it computes the outputs and returns true, or returns false before touching them
// when the shapes at hand are none of its forms: then `eval` runs. A new row goes into the table of its family;
// tests/plan/fast_ops_test.cc checks every row against `eval`.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/team.h"
#include "ops/ops.h"
#include "plan/buffers.h"

namespace narthex {

class StepContext {
 public:
  StepContext(const Node& node, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
              std::span<Tensor* const> dying, BufferPool& pool, Team& team, const void* prepared)
      : node_(node), inputs_(inputs), outputs_(outputs), dying_(dying), pool_(pool), team_(team), prepared_(prepared) {}

  const Node& node() const { return node_; }
  Team& team() { return team_; }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Tensor& input(std::size_t i) const { return *inputs_[i]; }
  template <class T>
  const T& prepared() const {
    return *static_cast<const T*>(prepared_);
  }

  Result<Tensor*> allocate(std::size_t output, DType dtype, Dims dims) {
    NX_TRY(outputs_[output], pool_.allocate(dtype, std::move(dims)));
    return &outputs_[output];
  }
  // The memory of input i, if nobody needs it after this step and the type and dims are those of the output; else new.
  Result<Tensor*> allocate_over(std::size_t output, std::initializer_list<std::size_t> candidates, DType dtype,
                                const Dims& dims);
  void set(std::size_t output, Tensor tensor) { outputs_[output] = std::move(tensor); }

 private:
  const Node& node_;
  std::span<const Tensor* const> inputs_;
  std::span<Tensor> outputs_;
  std::span<Tensor* const> dying_;  // per input: the slot that this step may take over, or nullptr
  BufferPool& pool_;
  Team& team_;
  const void* prepared_;
};

// What a step keeps from compile time, and how large it is.
struct Prepared {
  std::shared_ptr<const void> data;
  std::uint64_t bytes = 0;
};

struct FastOp {
  const char* op;
  const char* domain;
  bool (*applies)(const Graph& graph, const Node& node);
  Result<Prepared> (*prepare)(const Graph& graph, const Node& node);  // nullptr: nothing to keep
  Result<bool> (*run)(StepContext& context);
  // `run` reads the prepared form of input 1 and never the input itself, nor leaves the step to `eval`: the constant's
  // own bytes may go once it is packed.
  bool replaces_weights = false;
};

const FastOp* find_fast_op(const Graph& graph, const Node& node);

// One table per file; fast_ops.cc lists them.
std::span<const FastOp> fast_matmul_ops();       // fast_matmul.cc: Linear, MatMul
std::span<const FastOp> fast_elementwise_ops();  // fast_elementwise.cc: unary functions, broadcast arithmetic, Where
std::span<const FastOp> fast_row_ops();          // fast_rows.cc: Softmax, norms, reductions over the last axis
std::span<const FastOp> fast_movement_ops();     // fast_movement.cc: views, Transpose, Gather of rows, Cast
std::span<const FastOp> fast_quant_ops();        // fast_quant.cc: DynamicQuantizeLinear, MatMulInteger

// Shared by the tables.
bool input_is(const Graph& graph, const Node& node, std::size_t i, DType dtype);
bool first_is_float(const Graph& graph, const Node& node);
// Work for one task of the team: about 20 us of cheap elementwise work, far above the cost of handing it out.
inline constexpr std::size_t kElementsPerTask = 16384;
inline std::size_t rows_per_task(std::size_t cols) {
  return cols == 0 ? 1 : std::max<std::size_t>(1, kElementsPerTask / cols);
}

}  // namespace narthex
