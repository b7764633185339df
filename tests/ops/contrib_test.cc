// Every com.microsoft operator against ONNX Runtime: the golden models of tests/ops/data/contrib.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "ops/golden.h"

namespace narthex {
namespace {

std::vector<std::filesystem::path> golden_models(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

TEST(Contrib, EveryExpansionGivesTheOutputsOfOnnxRuntime) {
  const auto files = golden_models(std::filesystem::path(NARTHEX_TEST_DATA) / "contrib");
  EXPECT_GT(files.size(), 50u);
  for (const auto& file : files) check_golden(file);
}

TEST(Contrib, EveryOperatorHasAGoldenModel) {
  std::vector<std::string> covered;
  for (const auto& file : golden_models(std::filesystem::path(NARTHEX_TEST_DATA) / "contrib")) {
    const auto model = onnx::read_model(file);
    ASSERT_TRUE(model) << model.error().message;
    for (const onnx::Node& node : (*model)->graph.nodes) {
      if (node.domain == kMs) covered.push_back(node.op_type);
    }
  }
  for (const OpDef& def : contrib_ops()) EXPECT_EQ(std::ranges::count(covered, def.name) > 0, true) << def.name;
}

}  // namespace
}  // namespace narthex
