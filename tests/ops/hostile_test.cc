// Random, mostly senseless calls of the shape and index operators: each gives a result or a sentence, never more memory
// than the limit; and where there is a result, inference had said nothing else.
#include <random>

#include "ops/inference_check.h"
#include "ops/op_harness.h"

namespace narthex {
namespace {

using Int = std::int64_t;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }
  template <class T, std::size_t N>
  const T& pick(const T (&choices)[N]) {
    return choices[below(N)];
  }
  // Mostly small, sometimes at the ends of what 64 bits hold.
  Int number() {
    constexpr Int kExtreme[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, INT32_MAX, Int{1} << 40, -100};
    return below(12) == 0 ? pick(kExtreme) : static_cast<Int>(below(8)) - 3;
  }
  std::vector<Int> numbers() {
    std::vector<Int> out(below(4));
    for (Int& element : out) element = number();
    return out;
  }
  Dims dims() {
    constexpr Int kSizes[] = {0, 1, 1, 2, 2, 3, 4};
    Dims out(below(5));
    for (Int& d : out) d = pick(kSizes);
    if (below(20) == 0 && !out.empty()) {  // no elements, but products that overflow
      out.push_back(0);
      out[0] = INT64_MAX;
    }
    return out;
  }
  Tensor tensor() {
    constexpr DType kTypes[] = {DType::kInt64,   DType::kInt64,   DType::kInt64, DType::kInt32, DType::kFloat32,
                                DType::kFloat16, DType::kFloat64, DType::kBool,  DType::kUint8, DType::kString};
    const DType dtype = pick(kTypes);
    Tensor out = *Tensor::allocate(dtype, below(3) == 0 ? Dims{static_cast<Int>(below(4))} : dims());
    if (dtype == DType::kString) return out;
    for (std::size_t i = 0; i < out.bytes(); ++i) {
      const auto byte = dtype == DType::kBool ? below(2) : below(256);
      out.mutable_data()[i] = static_cast<std::byte>(byte);
    }
    if (dtype == DType::kInt64) {
      for (Int& element : out.as_mutable<Int>()) element = number();
    } else if (dtype == DType::kInt32) {
      for (std::int32_t& element : out.as_mutable<std::int32_t>()) element = static_cast<std::int32_t>(number());
    }
    return out;
  }
  std::vector<Attribute> attributes() {
    std::vector<Attribute> out;
    for (const char* name : {"axis", "start", "end", "allowzero", "batch_dims", "k", "upper", "num_outputs",
                             "blocksize", "batch_axis", "time_axis", "sorted", "dtype"}) {
      if (below(4) == 0) out.push_back({name, number()});
    }
    for (const char* name : {"perm", "axes"}) {
      if (below(4) == 0) out.push_back({name, numbers()});
    }
    constexpr const char* kModes[] = {"constant", "edge", "reflect", "wrap", "CRD", "DCR", "?"};
    constexpr const char* kReductions[] = {"none", "add", "mul", "max", "min", "?"};
    if (below(2) == 0) out.push_back({"mode", std::string(pick(kModes))});
    if (below(2) == 0) out.push_back({"reduction", std::string(pick(kReductions))});
    if (below(4) == 0) out.push_back({"value", tensor()});
    return out;
  }

 private:
  std::mt19937 engine_;
};

// Inference given everything as constants.
void check_inferred(const OpCall& call, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  std::vector<Value> described;
  for (const Tensor& input : inputs) {
    Shape shape(input.dims().begin(), input.dims().end());
    described.push_back(Value{"", input.dtype(), std::move(shape), input, {}});
  }
  const std::vector<Value> inferred = infer_op(call, described);
  InferenceTally tally;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype() == DType::kUndefined) continue;
    check_value(inferred[i], outputs[i], [](std::string_view) { return std::nullopt; }, tally);
  }
}

TEST(Hostile, MovementOperators) {
  constexpr std::span<const OpDef> (*kFamilies[])() = {shape_ops, fill_ops, transpose_ops, index_ops,
                                                       slice_ops, pad_ops,  scatter_ops,   select_ops};
  Random random(11);
  std::size_t n_results = 0;
  for (const auto family : kFamilies) {
    for (const OpDef& def : family()) {
      if (def.eval == nullptr) continue;
      for (int i = 0; i < 2000; ++i) {
        OpCall call{def.name, random.attributes()};
        call.n_outputs = static_cast<std::size_t>(def.min_outputs) +
                         random.below(static_cast<std::size_t>(std::min(def.max_outputs, 4) - def.min_outputs + 1));
        const int more = std::min(def.max_inputs, 4) - def.min_inputs;
        std::vector<Tensor> inputs(static_cast<std::size_t>(def.min_inputs) +
                                   random.below(static_cast<std::size_t>(more + 1)));
        for (Tensor& input : inputs) input = random.tensor();
        // Inputs of one type are what most operators ask for.
        if (inputs.size() > 1 && random.below(2) == 0) inputs[1] = inputs[0];
        const auto outputs = run_op(call, inputs);
        if (!outputs) {
          ASSERT_FALSE(outputs.error().message.empty()) << def.name;
          continue;
        }
        ++n_results;
        SCOPED_TRACE(def.name);
        check_inferred(call, inputs, *outputs);
        if (testing::Test::HasFailure()) {
          for (const Tensor& input : inputs)
            fmt::print("{} {}\n", dtype_name(input.dtype()), dims_string(input.dims()));
          return;
        }
      }
    }
  }
  EXPECT_GT(n_results, 5000U);
}

}  // namespace
}  // namespace narthex
