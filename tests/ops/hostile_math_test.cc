// Random, mostly senseless calls of the elementwise, arithmetic, cast and reduce operators: each gives a result or a
// sentence; the sanitizers watch. Where there is a result, inference had said nothing else.
#include <random>

#include "ops/inference_check.h"
#include "ops/op_harness.h"

namespace narthex {
namespace {

using Int = std::int64_t;

class Random {
 public:
  std::size_t below(std::size_t n) { return engine_() % n; }
  Int number() {
    constexpr Int kExtreme[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, Int{1} << 40};
    return below(10) == 0 ? kExtreme[below(std::size(kExtreme))] : static_cast<Int>(below(32)) - 4;
  }
  Dims dims() {
    constexpr Int kSizes[] = {0, 1, 1, 2, 3};
    Dims out(below(4));
    for (Int& d : out) d = kSizes[below(std::size(kSizes))];
    if (below(15) == 0) out = {0, INT64_MAX, INT64_MAX};  // no elements, but a product that overflows
    if (below(15) == 0) out = {INT64_MAX, 2, 0};
    return out;
  }
  Tensor tensor(DType dtype) {
    Tensor out = *Tensor::allocate(dtype, below(3) == 0 ? Dims{static_cast<Int>(below(3))} : dims());
    if (dtype == DType::kString) {
      for (std::string& text : out.mutable_strings()) text = fmt::to_string(number());
      return out;
    }
    const bool any_bits = below(3) == 0;  // floats: NaNs and subnormals; integers: large
    for (std::size_t i = 0; i < out.bytes(); ++i) {
      out.mutable_data()[i] = static_cast<std::byte>(below(dtype == DType::kBool ? 2 : any_bits ? 256 : 3));
    }
    if (dtype == DType::kInt64 && !any_bits) {
      for (Int& element : out.as_mutable<Int>()) element = number();
    }
    return out;
  }
  DType dtype() {
    constexpr DType kCommon[] = {DType::kFloat32, DType::kInt64, DType::kInt32, DType::kBool};
    // Storage of 4-bit types is already extended, so random bytes would be no such tensor.
    constexpr DType kOther[] = {DType::kFloat16,    DType::kBFloat16,  DType::kFloat64,   DType::kInt8,
                                DType::kUint8,      DType::kInt16,     DType::kUint32,    DType::kUint64,
                                DType::kString,     DType::kUint16,    DType::kComplex64, DType::kFloat8E4M3FN,
                                DType::kFloat8E5M2, DType::kFloat8E8M0};
    return below(2) == 0 ? kCommon[below(std::size(kCommon))] : kOther[below(std::size(kOther))];
  }
  std::vector<Attribute> attributes() {
    std::vector<Attribute> out;
    for (const char* name : {"axis", "keepdims", "noop_with_empty_axes", "select_last_index", "largest", "exclusive",
                             "reverse", "fmod", "to", "saturate", "detect_negative"}) {
      if (below(3) == 0) out.push_back({name, number()});
    }
    for (const char* name : {"alpha", "beta", "gamma", "bias", "lambd"}) {
      constexpr float kValues[] = {0, -1, 0.5F, 1e38F, -1e38F, NAN, INFINITY};
      if (below(3) == 0) out.push_back({name, kValues[below(std::size(kValues))]});
    }
    constexpr const char* kDirections[] = {"LEFT", "RIGHT", "?"};
    if (below(4) != 0) out.push_back({"direction", std::string(kDirections[below(3)])});
    return out;
  }

 private:
  std::mt19937 engine_{17};
};

void check_inferred(const OpCall& call, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  std::vector<Value> described;
  for (const Tensor& input : inputs) {
    described.push_back(Value{"", input.dtype(), Shape(input.dims().begin(), input.dims().end()), input, {}});
  }
  const std::vector<Value> inferred = infer_op(call, described);
  InferenceTally tally;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    check_value(inferred[i], outputs[i], [](std::string_view) { return std::nullopt; }, tally);
  }
}

TEST(Hostile, MathOperators) {
  constexpr std::span<const OpDef> (*kFamilies[])() = {elementwise_ops, arithmetic_ops, cast_ops, reduce_ops};
  Random random;
  std::size_t n_results = 0;
  for (const auto family : kFamilies) {
    for (const OpDef& def : family()) {
      if (def.eval == nullptr || def.since > kCanonicalOpset) continue;
      SCOPED_TRACE(def.name);
      for (int i = 0; i < 1500; ++i) {
        const OpCall call{def.name, random.attributes(), static_cast<std::size_t>(def.max_outputs)};
        const auto most = static_cast<std::size_t>(std::min(def.max_inputs, 4));
        const auto least = static_cast<std::size_t>(def.min_inputs);
        std::vector<Tensor> inputs(least + random.below(most - least + 1));
        const DType dtype = random.dtype();
        for (Tensor& input : inputs) {
          // Inputs of one type are what most operators ask for; axes and counts are int64.
          const DType other = random.below(2) == 0 ? dtype : random.below(2) == 0 ? DType::kInt64 : random.dtype();
          input = random.tensor(&input == inputs.data() ? dtype : other);
        }
        const auto outputs = run_op(call, inputs);
        if (!outputs) {
          ASSERT_FALSE(outputs.error().message.empty());
          continue;
        }
        ++n_results;
        check_inferred(call, inputs, *outputs);
        ASSERT_FALSE(testing::Test::HasFailure()) << dims_string(inputs[0].dims());
      }
    }
  }
  EXPECT_GT(n_results, 20000U);
}

}  // namespace
}  // namespace narthex
