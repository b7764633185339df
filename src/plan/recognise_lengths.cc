#include "plan/recognise_lengths.h"

#include <algorithm>

#include "ops/evaluate.h"
#include "ops/util.h"

namespace narthex::recognition {
namespace {

// Of one value at one length. Tables of 8,192 positions by 1,024 columns are half of it.
constexpr std::uint64_t kMaxKnownBytes = std::uint64_t{1} << 26;
// Of one value made from constants only: dequantised embeddings of 250,000 tokens by 1,024 columns.
constexpr std::uint64_t kMaxConstantBytes = std::uint64_t{1} << 31;

bool is_onnx(const Node& node, std::string_view op) {
  return node.domain.empty() && node.op == op;
}

bool keeps_elements(const Node& node) {
  static constexpr std::string_view kOps[] = {"Cast",      "Identity", "Reshape", "Unsqueeze", "Squeeze",
                                              "Transpose", "Flatten",  "Expand",  "Slice"};
  return node.domain.empty() && std::ranges::find(kOps, node.op) != std::end(kOps);
}

bool is_integer(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32;
}

Role role_of(std::string_view name) {
  if (name == "input_ids") return Role::kTokenIds;
  if (name == "token_type_ids") return Role::kTokenTypes;
  if (name == "attention_mask") return Role::kMask;
  if (name == "position_ids") return Role::kPositions;
  return Role::kNone;
}

}  // namespace

Lengths::Lengths(const Graph& graph, std::int64_t position_offset)
    : graph_(graph),
      position_offset_(position_offset),
      depends_(graph.values.size(), Depends::kConstant),
      reads_mask_(graph.values.size(), false),
      from_ids_(graph.values.size(), false),
      role_(graph.values.size(), Role::kNone),
      producer_(graph.values.size(), graph.nodes.size()) {
  read_inputs();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId v : graph.nodes[i].outputs) {
      if (v != kNoValue) producer_[index(v)] = i;
    }
    classify(graph.nodes[i]);
  }
}

void Lengths::read_inputs() {
  const auto refuse = [&](const Value& input, std::string_view why) {
    if (!error_) error_ = Error{ErrorCode::kUnsupported, fmt::format("graph input '{}' {}", input.name, why)};
  };
  for (const ValueId v : graph_.inputs) {
    const Value& input = graph_.value(v);
    const Role role = role_of(input.name);
    role_[index(v)] = role;
    depends_[index(v)] = role == Role::kMask || role == Role::kPositions ? Depends::kLength : Depends::kTokens;
    reads_mask_[index(v)] = role == Role::kMask;
    from_ids_[index(v)] = role == Role::kTokenIds;
    if (role == Role::kNone) refuse(input, "has no known meaning");
    if (!is_integer(input.dtype)) refuse(input, "is neither int32 nor int64");
    if (!input.shape || input.shape->size() != 2) {
      refuse(input, "is not declared as [batch, sequence]");
      continue;
    }
    for (const bool length : {false, true}) {
      const Dim& dim = (*input.shape)[length ? 1 : 0];
      if (dim.constant() == std::optional<std::int64_t>(1) && !length) continue;
      const auto name = dim.symbol_name();
      if (!name) {
        refuse(input,
               fmt::format("has shape {}; sequences of any length need symbolic sizes", shape_string(*input.shape)));
      } else if (const auto [known, added] = symbols_.emplace(*name, length); !added && known->second != length) {
        refuse(input, fmt::format("names batch and sequence alike in {}", shape_string(*input.shape)));
      }
    }
  }
}

Result<void> Lengths::check() const {
  if (error_) return std::unexpected(*error_);
  if (std::ranges::find(role_, Role::kTokenIds) == role_.end()) {
    return fail(ErrorCode::kUnsupported, "the graph has no input 'input_ids'");
  }
  return {};
}

// input ids == a constant.
bool Lengths::compares_ids(const Node& node) const {
  if (!is_onnx(node, "Equal")) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (from_ids_[index(node.inputs[i])] && depends(node.inputs[1 - i]) == Depends::kConstant) return true;
  }
  return false;
}

// The size of its input is all that the node reads, and that is a known expression.
bool Lengths::shape_alone(const Node& node) const {
  return (is_onnx(node, "Shape") || is_onnx(node, "Size")) && graph_.value(node.inputs[0]).shape &&
         std::ranges::none_of(*graph_.value(node.inputs[0]).shape, [](const Dim& d) { return d.is_unknown(); });
}

void Lengths::classify(const Node& node) {
  Depends depends = Depends::kConstant;
  bool reads_mask = false;
  for (const ValueId v : node.inputs) {
    if (v == kNoValue) continue;
    depends = std::max(depends, depends_[index(v)]);
    reads_mask = reads_mask || reads_mask_[index(v)];
  }
  if (shape_alone(node)) {
    depends = Depends::kLength;
    reads_mask = false;
  }
  if (compares_ids(node)) {
    depends = Depends::kLength;
    reads_mask = true;  // where padding stands
  }
  const bool from_ids = keeps_elements(node) && from_ids_[index(node.inputs[0])];
  for (const ValueId v : node.outputs) {
    if (v == kNoValue) continue;
    depends_[index(v)] = depends;
    reads_mask_[index(v)] = reads_mask;
    from_ids_[index(v)] = from_ids && (graph_.value(v).dtype == DType::kUndefined || is_integer(graph_.value(v).dtype));
  }
}

// From the symbolic shape: the value itself may be anything, and large.
Result<Dims> Lengths::symbolic_dims(ValueId value, std::size_t length) const {
  const Value& v = graph_.value(value);
  if (!v.shape) return fail(ErrorCode::kUnsupported, "the shape of '{}' is not known", v.name);
  Dims dims;
  for (const Dim& dim : *v.shape) {
    const auto size = dim.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      const auto found = symbols_.find(name);
      if (found == symbols_.end()) return std::nullopt;
      return found->second ? static_cast<std::int64_t>(length) : 1;
    });
    if (!size || *size < 0) return fail(ErrorCode::kUnsupported, "the shape of '{}' is not known", v.name);
    dims.push_back(*size);
  }
  return dims;
}

Result<Tensor> Lengths::shape_of(const Node& node, std::size_t length) const {
  NX_TRY(const Dims dims, symbolic_dims(node.inputs[0], length));
  if (node.op == "Size") {
    NX_TRY(const std::int64_t count, checked_count(dims));
    return Tensor::scalar(count);
  }
  const auto rank = static_cast<std::int64_t>(dims.size());
  NX_TRY(std::int64_t start, node.int_attr("start", 0));
  NX_TRY(std::int64_t end, node.int_attr("end", rank));
  start = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<std::int64_t>(end < 0 ? end + rank : end, start, rank);
  return Tensor::vector(std::vector<std::int64_t>(dims.begin() + start, dims.begin() + end));
}

Result<Tensor> Lengths::nothing_equal(const Node& node, std::size_t length) {
  const ValueId constant = from_ids_[index(node.inputs[0])] ? node.inputs[1] : node.inputs[0];
  NX_TRY(const Tensor ids, at(constant, length));
  NX_TRY(const std::vector<std::int64_t> excluded, ints_of(ids, "the compared constant"));
  if (excluded.size() != 1) return fail(ErrorCode::kUnsupported, "ids are compared with more than one constant");
  excluded_.insert(excluded[0]);
  NX_TRY(Dims dims, symbolic_dims(node.outputs[0], length));
  NX_TRY(Tensor result, Tensor::allocate(DType::kBool, std::move(dims), kMaxKnownBytes));
  std::ranges::fill(result.as_mutable<bool>(), false);
  return result;
}

Result<Tensor> Lengths::leaf(ValueId value, std::size_t length) const {
  const Value& input = graph_.value(value);
  const bool ones = role(value) == Role::kMask;
  std::vector<std::int64_t> elements(length, 1);
  for (std::size_t i = 0; !ones && i < length; ++i) elements[i] = static_cast<std::int64_t>(i) + position_offset_;
  const Dims dims = {1, static_cast<std::int64_t>(length)};
  if (input.dtype == DType::kInt64) return Tensor::vector(elements).reshaped(dims);
  return Tensor::vector(std::vector<std::int32_t>(elements.begin(), elements.end())).reshaped(dims);
}

const Tensor* Lengths::find(ValueId value, std::size_t length) {
  if (graph_.value(value).constant) return &*graph_.value(value).constant;
  const Memo& memo = depends(value) == Depends::kConstant ? constants_ : memo_[length];
  const auto found = memo.find(value);
  return found == memo.end() ? nullptr : &found->second;
}

Result<bool> Lengths::step(ValueId value, std::size_t length, std::vector<ValueId>& missing) {
  Memo& memo = depends(value) == Depends::kConstant ? constants_ : memo_[length];
  const std::size_t producer = producer_[index(value)];
  if (producer == graph_.nodes.size()) {
    if (role(value) == Role::kNone) return fail(ErrorCode::kUnsupported, "'{}' has no value", graph_.value(value).name);
    NX_TRY(memo[value], leaf(value, length));
    return true;
  }
  const Node& node = graph_.nodes[producer];
  if (shape_alone(node)) {
    NX_TRY(memo[value], shape_of(node, length));
    return true;
  }
  if (compares_ids(node)) {
    NX_TRY(memo[value], nothing_equal(node, length));
    return true;
  }
  std::vector<const Tensor*> inputs;
  for (const ValueId v : node.inputs) {
    const Tensor* input = v == kNoValue ? nullptr : find(v, length);
    if (input == nullptr && v != kNoValue) missing.push_back(v);
    inputs.push_back(input);
  }
  if (!missing.empty()) return false;
  const bool constant = depends(value) == Depends::kConstant;
  NX_TRY(std::vector<Tensor> outputs,
         evaluate_node(graph_, node, inputs, {constant ? kMaxConstantBytes : kMaxKnownBytes}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (node.has_output(i)) memo[node.outputs[i]] = std::move(outputs[i]);
  }
  return true;
}

Result<Tensor> Lengths::at(ValueId value, std::size_t length) {
  NX_CHECK(is_known(value), "a value that depends on tokens has none at a length");
  std::vector<ValueId> stack = {value};
  std::vector<ValueId> missing;
  while (!stack.empty()) {
    const ValueId top = stack.back();
    if (find(top, length) != nullptr) {
      stack.pop_back();
      continue;
    }
    missing.clear();
    NX_TRY(const bool done, step(top, length, missing));
    if (!done) stack.insert(stack.end(), missing.begin(), missing.end());
  }
  return *find(value, length);
}

Result<std::vector<double>> Lengths::numbers_at(ValueId value, std::size_t length) {
  NX_TRY(const Tensor tensor, at(value, length));
  return numbers_of(tensor);
}

void Lengths::keep_only(std::size_t length) {
  std::erase_if(memo_, [&](const auto& entry) { return entry.first != length; });
}

Result<std::vector<double>> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(tensor.count()));
  const auto read = [&]<class T>() -> Result<void> {
    std::ranges::transform(tensor.as<T>(), numbers.begin(),
                           [](T x) { return static_cast<double>(static_cast<Compute<T>>(x)); });
    return {};
  };
  NX_TRY_VOID(dispatch<float, std::int64_t, std::int32_t, bool, double, Half, BFloat16, std::int8_t, std::uint8_t>(
      tensor.dtype(), read));
  return numbers;
}

Result<Tensor> as_float(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat32) return tensor;
  NX_TRY(Tensor result, Tensor::allocate(DType::kFloat32, tensor.dims()));
  const std::span<float> out = result.as_mutable<float>();
  const auto read = [&]<class T>() -> Result<void> {
    std::ranges::transform(tensor.as<T>(), out.begin(),
                           [](T x) { return static_cast<float>(static_cast<Compute<T>>(x)); });
    return {};
  };
  NX_TRY_VOID(dispatch<double, Half, BFloat16, std::int8_t, std::uint8_t, std::int32_t>(tensor.dtype(), read));
  return result;
}

}  // namespace narthex::recognition
