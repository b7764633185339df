// Reads .onnx files: bounded, zero-copy for tensor payloads, and never trusting.
//
//   read_model(path)                           maps the file; external data is looked for beside it
//   read_model(bytes, source, external_dir)    the same from memory
//
// Nothing in the input can crash, hang or allocate more than a multiple of its own size; every Error names the file
// and, where known, the node or tensor. External data must lie inside the model's directory: absolute locations, `..`
// and symlinks that lead outside are refused, except into the blobs folder of the same hub cache repository. Covered by
// tests/onnx/read_test.cc, tensor_test.cc, external_data_test.cc, corruption_test.cc; fuzz/onnx_read_fuzz.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "onnx/model.h"

namespace narthex::onnx {

// Counts are totals over the whole model, subgraphs and functions included. The defaults are some ten times what the
// largest encoders in use need.
struct ReadLimits {
  std::uint64_t max_file_bytes = std::uint64_t{2} << 30;       // the .onnx itself; protobuf ends at 2 GiB
  std::uint64_t max_external_bytes = std::uint64_t{64} << 30;  // sum over all tensors
  std::uint64_t max_external_files = 1024;
  std::uint64_t max_nodes = 1'000'000;
  std::uint64_t max_tensors = 1'000'000;  // initializers and tensors in attributes
  std::uint64_t max_attributes = 4'000'000;
  std::uint64_t max_values = 4'000'000;  // graph inputs, outputs and value_info entries
  std::uint64_t max_functions = 10'000;
  std::uint64_t max_rank = 64;               // dimensions of one tensor or shape
  std::uint64_t max_name_bytes = 64 * 1024;  // names, domains, metadata keys; string values are bounded by the file
  std::uint32_t max_depth = 16;              // graphs inside graphs, and types inside types
  // Memory for structs, strings and decoded payloads: `base + per_byte × input size`. Typical files need 2 per byte.
  std::uint64_t decoded_base_bytes = std::uint64_t{16} << 20;
  std::uint64_t decoded_per_byte = 64;
};

Result<std::shared_ptr<const Model>> read_model(const std::filesystem::path& path, const ReadLimits& limits = {});

// `source` names the input in errors. Without `external_dir`, external data is an error. The bytes must outlive the
// tensors unless `owner` keeps them alive.
Result<std::shared_ptr<const Model>> read_model(std::span<const std::byte> bytes, std::string source,
                                                const std::optional<std::filesystem::path>& external_dir = {},
                                                const ReadLimits& limits = {}, std::shared_ptr<const void> owner = {});

}  // namespace narthex::onnx
