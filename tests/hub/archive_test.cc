#include "hub/archive.h"

#include <gtest/gtest.h>

#include "hub/test_tools.h"
#include "hub/zip_tools.h"

namespace narthex {
namespace {

using testing_hub::read_text;
using testing_hub::TemporaryDirectory;
using testing_hub::write_text;
using testing_hub::write_zip;

TEST(Archive, AMemberComesOutWholeWithProgress) {
  const TemporaryDirectory directory;
  const std::string bytes = testing_hub::noise(800'000);
  write_zip(directory / "a.jar", {{"README", "x"}, {"deep/model.onnx", bytes}, {"empty", ""}});
  std::uint64_t last = 0;
  ExtractLimits limits{.bytes = bytes.size()};
  limits.on_progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, bytes.size());
    last = done;
    return true;
  };
  ASSERT_TRUE(extract_member(directory / "a.jar", "deep/model.onnx", directory / "out", limits));
  EXPECT_TRUE(read_text(directory / "out") == bytes);
  EXPECT_EQ(last, bytes.size());
  ASSERT_TRUE(extract_member(directory / "a.jar", "empty", directory / "out", {}));
  EXPECT_EQ(read_text(directory / "out"), "");
  limits.on_progress = [](std::uint64_t, std::uint64_t) { return false; };
  EXPECT_EQ(extract_member(directory / "a.jar", "deep/model.onnx", directory / "out", limits).error().code,
            ErrorCode::kCancelled);
}

TEST(Archive, LimitsNamesAndEncryption) {
  const TemporaryDirectory directory;
  write_zip(directory / "a.whl", {{"model.onnx", std::string(1'000'000, '\0')}});  // a small file that grows
  const auto extract = [&](const char* member, const ExtractLimits& limits) {
    return extract_member(directory / "a.whl", member, directory / "out", limits).error().code;
  };
  EXPECT_EQ(extract("model.onnx", {.bytes = 5}), ErrorCode::kBadInput);
  EXPECT_EQ(extract("model.onnx", {.max_bytes = 999'999}), ErrorCode::kLimit);
  EXPECT_EQ(extract("MODEL.onnx", {}), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
  write_zip(directory / "a.whl", {{"model.onnx", "secret"}}, "password");
  EXPECT_EQ(extract("model.onnx", {}), ErrorCode::kBadInput);
}

TEST(Archive, DamageIsAnErrorWhereverItIs) {
  const TemporaryDirectory directory;
  write_zip(directory / "good.zip", {{"m", testing_hub::noise(3000)}});
  const std::string good = read_text(directory / "good.zip");
  int n_tried = 0;
  int n_errors = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (at > 48 && at + 100 < good.size() && at % 64 != 0) continue;  // headers whole, the data here and there
    ++n_tried;
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    write_text(directory / "bad.zip", bad);
    const auto done = extract_member(directory / "bad.zip", "m", directory / "out", {.max_bytes = 1 << 20});
    // A byte that nobody reads may change; then the content must be right.
    n_errors += done ? 0 : 1;
    EXPECT_TRUE(!done || read_text(directory / "out") == testing_hub::noise(3000)) << at;
  }
  EXPECT_GT(n_errors, n_tried / 2);
  for (std::size_t size = 0; size < good.size(); size += 61) {
    write_text(directory / "bad.zip", good.substr(0, size));
    EXPECT_FALSE(extract_member(directory / "bad.zip", "m", directory / "out", {.max_bytes = 1 << 20})) << size;
  }
  EXPECT_EQ(extract_member(directory / "absent.zip", "m", directory / "out", {}).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace narthex
