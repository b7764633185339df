// What every operator is: one row per (name, domain, version), in the table of its family.
//
//   find_op(domain, name, opset)   the row with the largest `since` ≤ opset, or nullptr
//   normalise(graph)               (ops/normalise.h) rewrites every node into canonical operators
//   evaluate(graph, inputs)        (ops/evaluate.h) the slow, obvious reference that plans and kernels are checked
//   against
//
// Rows never see the names of nodes: functions return the tail of the sentence, the caller adds file and node.
// Adding an operator: one row, its functions beside it, and the conformance tests (tests/conformance) pick it up by
// name.
#pragma once

#include <initializer_list>
#include <span>

#include "graph/graph.h"

namespace narthex {

// Replaces a node by others while a graph is normalised. Nodes are appended in the order of the calls.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  // Appends a canonical ONNX node; `inputs` may hold kNoValue. Returns its only output, a new value unless `output` is
  // given.
  virtual ValueId emit(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {},
                       ValueId output = kNoValue) = 0;
  virtual std::vector<ValueId> emit_many(std::string_view op, std::vector<ValueId> inputs,
                                         std::vector<Attribute> attributes, std::vector<ValueId> outputs) = 0;
  virtual ValueId constant(Tensor tensor) = 0;
  // A value without a producer yet: an output to give to emit_many.
  virtual ValueId new_value() = 0;
  // Every use of `old_value` (also as a graph output) means `new_value` from now on.
  virtual void alias(ValueId old_value, ValueId new_value) = 0;
  virtual const Graph& graph() const = 0;
  // The constant behind a value, through aliases; nullptr if it is not one.
  virtual const Tensor* constant_of(ValueId value) const = 0;
};
using NormaliseFn = Result<void> (*)(const Node& node, Rewriter& rewriter);

// Types and shapes of outputs from those of inputs; symbolic, with the contents of small integer tensors as
// expressions.
class InferContext {
 public:
  InferContext(Graph& graph, const Node& node) : graph_(graph), node_(node) {}
  const Node& node() const { return node_; }
  std::size_t n_inputs() const { return node_.inputs.size(); }
  bool has(std::size_t i) const { return node_.has_input(i); }
  DType dtype(std::size_t i) const { return has(i) ? value(i).dtype : DType::kUndefined; }
  // nullptr when the rank is not known.
  const Shape* shape(std::size_t i) const { return has(i) && value(i).shape ? &*value(i).shape : nullptr; }
  const Tensor* constant(std::size_t i) const { return has(i) && value(i).constant ? &*value(i).constant : nullptr; }
  // Elements of an integer input as expressions (constants included); nullopt when not known.
  std::optional<std::vector<Dim>> content(std::size_t i) const;

  // Records nothing for outputs that are absent.
  void set(std::size_t output, DType dtype, std::optional<Shape> shape);
  void set_content(std::size_t output, std::vector<Dim> content);

 private:
  const Value& value(std::size_t i) const { return graph_.value(node_.inputs[i]); }
  Graph& graph_;
  const Node& node_;
};
using InferFn = Result<void> (*)(InferContext& context);

// Inputs are nullptr where absent. Outputs are allocated by the operator.
class EvalContext {
 public:
  EvalContext(std::span<const Tensor* const> inputs, std::span<Tensor> outputs, std::uint64_t max_bytes)
      : inputs_(inputs), outputs_(outputs), max_bytes_(max_bytes) {}
  std::size_t n_inputs() const { return inputs_.size(); }
  std::size_t n_outputs() const { return outputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Tensor& input(std::size_t i) const { return *inputs_[i]; }
  std::uint64_t max_bytes() const { return max_bytes_; }

  // Uninitialised output memory; fails over the limit of one tensor.
  Result<Tensor*> allocate(std::size_t output, DType dtype, Dims dims);
  void set(std::size_t output, Tensor tensor) {
    if (output < outputs_.size()) outputs_[output] = std::move(tensor);
  }

 private:
  std::span<const Tensor* const> inputs_;
  std::span<Tensor> outputs_;
  std::uint64_t max_bytes_;
};
using EvalFn = Result<void> (*)(const Node& node, EvalContext& context);

inline constexpr const char* kOnnx = "";
inline constexpr const char* kMs = "com.microsoft";
inline constexpr const char* kNarthex = "narthex";  // written by passes, never read from a file

struct OpDef {
  const char* name;
  const char* domain;
  int since;  // first version of the domain with these semantics
  int min_inputs;
  int max_inputs;  // kAny: no bound
  int min_outputs;
  int max_outputs;
  NormaliseFn normalise;  // nullptr: the node is canonical as it is
  InferFn infer;          // nullptr: nothing is known of the outputs, or the node is always rewritten
  EvalFn eval;            // nullptr: the node is always rewritten by `normalise`
};
inline constexpr int kAny = 1 << 20;

const OpDef* find_op(std::string_view domain, std::string_view name, int opset);
// All rows, family by family.
std::vector<std::span<const OpDef>> op_families();
// The canonical version of the ONNX domain: what `emit` writes and what a normalised graph holds.
inline constexpr int kCanonicalOpset = 28;

// One table per family file; ops.cc lists them.
std::span<const OpDef> elementwise_ops();  // elementwise.cc: unary and activation functions
std::span<const OpDef>
arithmetic_ops();                        // arithmetic.cc: broadcast binary, variadic, comparison, logic, bitwise, Where
std::span<const OpDef> cast_ops();       // cast.cc: Cast, CastLike
std::span<const OpDef> reduce_ops();     // reduce.cc: Reduce*, ArgMax, ArgMin, CumSum, TopK
std::span<const OpDef> shape_ops();      // shape.cc: Shape, Size, Reshape, Squeeze, Unsqueeze, Flatten
std::span<const OpDef> fill_ops();       // fill.cc: ConstantOfShape, Range, EyeLike, OneHot
std::span<const OpDef> transpose_ops();  // transpose.cc: Transpose, Expand, Tile, DepthToSpace, SpaceToDepth
std::span<const OpDef> index_ops();      // index.cc: Gather, GatherElements, GatherND
std::span<const OpDef> scatter_ops();    // scatter.cc: Scatter, ScatterElements, ScatterND
std::span<const OpDef> slice_ops();      // slice.cc: Slice, Split, Concat
std::span<const OpDef> pad_ops();        // pad.cc: Pad
std::span<const OpDef> select_ops();     // select.cc: NonZero, Compress, Trilu, ReverseSequence
std::span<const OpDef> matmul_ops();     // matmul.cc: MatMul, Gemm, Einsum
std::span<const OpDef> norm_ops();       // norm.cc: LayerNormalization, RMSNormalization, LpNormalization, Softmax, ...
std::span<const OpDef> attention_ops();  // attention.cc: Attention, RotaryEmbedding
std::span<const OpDef>
quant_ops();  // quant.cc: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, MatMulInteger, ...
std::span<const OpDef> control_ops();  // control.cc: If, Identity, Constant, Dropout
std::span<const OpDef> contrib_ops();  // contrib.cc: com.microsoft, expanded into canonical operators
std::span<const OpDef> fused_ops();    // fused.cc: narthex, what passes join

}  // namespace narthex
