// Tests in the layout of the ONNX backend tests: where they are, and their tensors.
//
//   node_tests(), ort_tests()     from the folders NARTHEX_NODE_TESTS and NARTHEX_ORT_TESTS, or written by
//                                 dump_*_tests.py run with NARTHEX_PYTHON; no cases when neither is set: that is said
//                                 loudly, and the test returns
//   read_tensors(folder, "input")
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/home.h"
#include "graph/tensor.h"
#include "onnx/read.h"

namespace narthex {

namespace fs = std::filesystem;

inline constexpr std::uint64_t kMaxTensorFileBytes = std::uint64_t{1} << 28;

struct Case {
  std::string name;
  double rtol = 0;
  double atol = 0;
};

inline std::vector<Case> read_index(const fs::path& folder) {
  std::vector<Case> cases;
  std::ifstream in(folder / "tests.txt");
  for (Case c; in >> c.name >> c.rtol >> c.atol;) cases.push_back(c);
  return cases;
}

inline std::string length_delimited(int field, std::string_view bytes) {
  std::string out(1, static_cast<char>(field << 3 | 2));
  std::size_t n = bytes.size();
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  out += static_cast<char>(n);
  return out.append(bytes);
}

// A TensorProto file. It is read as the only initializer of a model, because models are what the reader reads.
inline Result<Tensor> read_tensor(const fs::path& path) {
  NX_TRY(const std::string bytes, read_file(path, kMaxTensorFileBytes));
  if (bytes.empty()) return fail(ErrorCode::kUnsupported, "its data is no tensor");
  constexpr std::string_view kIrVersion("\x08\x0a", 2);
  constexpr int kGraphField = 7;
  constexpr int kInitializerField = 5;
  const std::string model =
      std::string(kIrVersion) + length_delimited(kGraphField, length_delimited(kInitializerField, bytes));
  NX_TRY(const auto decoded, onnx::read_model(std::as_bytes(std::span(model)), path.string()));
  if (decoded->graph.initializers.size() != 1) return fail(ErrorCode::kBadInput, "{} holds no tensor", path.string());
  // The bytes die here: from_onnx copies what has no owner.
  return Tensor::from_onnx(decoded->graph.initializers[0]);
}

inline Result<std::vector<Tensor>> read_tensors(const fs::path& folder, const char* kind) {
  std::vector<Tensor> tensors;
  for (std::size_t k = 0;; ++k) {
    const fs::path path = folder / fmt::format("{}_{}.pb", kind, k);
    if (!fs::exists(path)) return tensors;
    NX_TRY(Tensor tensor, read_tensor(path));
    tensors.push_back(std::move(tensor));
  }
}

// A folder that is gone when the program ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (fs::temp_directory_path() / "narthex-node-tests-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class NodeTests {
 public:
  // `variable` names the folder, else `script` writes one.
  NodeTests(const char* variable, const char* script) : folder_(environment(variable)) {
    if (folder_.empty()) {
      const std::string python = environment("NARTHEX_PYTHON");
      if (python.empty()) {
        std::fprintf(stderr,
                     "SKIPPED (loud): the tests of %s did not run. Set NARTHEX_PYTHON to a python3 that has the wheels "
                     "onnx and onnxruntime, or %s to a folder that tests/conformance/%s wrote\n",
                     script, variable, script);
        return;
      }
      folder_ = temporary_.emplace().path();
      const std::string command = fmt::format("'{}' '{}/tests/conformance/{}' '{}' 2>/dev/null", python,
                                              NARTHEX_SOURCE_DIR, script, folder_.string());
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }
    cases_ = read_index(folder_);
    EXPECT_FALSE(cases_.empty()) << folder_ << " has no tests.txt";
  }
  const std::vector<Case>& cases() const { return cases_; }
  const fs::path& folder() const { return folder_; }

 private:
  std::optional<TemporaryFolder> temporary_;
  fs::path folder_;
  std::vector<Case> cases_;
};

// One each for all tests of the program: writing the files takes seconds.
inline const NodeTests& node_tests() {
  static const NodeTests tests("NARTHEX_NODE_TESTS", "dump_node_tests.py");
  return tests;
}
inline const NodeTests& ort_tests() {
  static const NodeTests tests("NARTHEX_ORT_TESTS", "dump_ort_tests.py");
  return tests;
}

}  // namespace narthex
