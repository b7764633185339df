// Matrix products, norms and quantisation against ONNX Runtime where the ONNX node tests are silent: old opsets, corner
// shapes, integer types, rounding. The golden models of tests/ops/data/families.
#include "ops/golden.h"

namespace narthex {
namespace {

TEST(Families, GiveTheOutputsOfOnnxRuntime) {
  const auto files = golden_models("families");
  EXPECT_GE(files.size(), 81u);
  for (const auto& file : files) check_golden(file);
}

}  // namespace
}  // namespace narthex
