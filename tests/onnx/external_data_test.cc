// External data: found beside the model, and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "onnx/model_builder.h"

namespace narthex::onnx {
namespace {

using namespace build;
using testing::HasSubstr;
namespace fs = std::filesystem;

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "narthex-onnx-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directories(root_ / "model");
    write("secret", "0123456789abcdef");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& relative, std::string_view bytes) {
    fs::create_directories((root_ / relative).parent_path());
    std::ofstream(root_ / relative, std::ios::binary) << bytes;
  }
  // model/m.onnx with one float tensor of `n` elements and these entries.
  Result<std::shared_ptr<const Model>> read(const std::vector<std::pair<std::string, std::string>>& entries,
                                            std::int64_t n = 4, const ReadLimits& limits = {}) {
    write("model/m.onnx", model({.graph = {.initializers = {external_tensor("w", DType::kFloat32, {n}, entries)}}}));
    return read_model(root_ / "model/m.onnx", limits);
  }
  std::string message(const std::vector<std::pair<std::string, std::string>>& entries, std::int64_t n = 4) {
    const auto result = read(entries, n);
    return result ? "no error" : result.error().message;
  }

  fs::path root_;
};

TEST_F(ExternalData, OffsetAndLengthSelectBytesAndOneMappingIsShared) {
  write("model/w.data", "0123456789abcdefXYZ!");
  const std::string first = external_tensor("a", DType::kInt8, {4}, {{"location", "w.data"}, {"offset", "16"}});
  const std::string second =
      external_tensor("b", DType::kFloat32, {2, 2},
                      {{"location", "w.data"}, {"offset", "0"}, {"length", "16"}, {"checksum", "x"}, {"unknown", "y"}});
  write("model/m.onnx", model({.graph = {.initializers = {first, second}}}));
  const auto result = read_model(root_ / "model/m.onnx");
  ASSERT_TRUE(result) << result.error().message;
  const Tensor& a = (*result)->graph.initializers[0];
  const Tensor& b = (*result)->graph.initializers[1];
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(a.data.data()), a.data.size()), "XYZ!");
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(b.data.data()), b.data.size()), "0123456789abcdef");
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ((*result)->external_bytes, 20U);
}

TEST_F(ExternalData, SubfoldersAndLinksInsideTheDirectoryAreFine) {
  write("model/sub/w.data", "0123456789abcdef");
  fs::create_symlink("sub/w.data", root_ / "model/link");
  EXPECT_EQ(message({{"location", "sub/w.data"}}), "no error");
  EXPECT_EQ(message({{"location", "./sub/w.data"}}), "no error");
  EXPECT_EQ(message({{"location", "link"}}), "no error");
  EXPECT_EQ(message({{"location", "link"}, {"length", "0"}}), "no error");
}

TEST_F(ExternalData, AModelNamedWithoutADirectoryLooksInTheCurrentOne) {
  write("model/w.data", "0123456789abcdef");
  ASSERT_EQ(message({{"location", "w.data"}}), "no error");
  const fs::path before = fs::current_path();
  fs::current_path(root_ / "model");
  const auto result = read_model("m.onnx");
  fs::current_path(before);
  EXPECT_TRUE(result) << result.error().message;
}

TEST_F(ExternalData, NothingOutsideTheDirectoryIsRead) {
  fs::create_symlink(root_ / "secret", root_ / "model/link");
  fs::create_directory_symlink(root_, root_ / "model/up");
  fs::create_directories(root_ / "model-2");
  write("model-2/w", "0123456789abcdef");
  fs::create_symlink(root_ / "model-2/w", root_ / "model/sibling");
  EXPECT_THAT(message({{"location", "../secret"}}), HasSubstr("leaves the model's directory"));
  EXPECT_THAT(message({{"location", "sub/../../secret"}}), HasSubstr("leaves the model's directory"));
  EXPECT_THAT(message({{"location", "sub/../w"}}), HasSubstr("leaves the model's directory"));
  EXPECT_THAT(message({{"location", (root_ / "secret").string()}}), HasSubstr("leaves the model's directory"));
  EXPECT_THAT(message({{"location", "/etc/passwd"}}), HasSubstr("leaves the model's directory"));
  EXPECT_THAT(message({{"location", "link"}}), HasSubstr("is a link out of the model's directory"));
  EXPECT_THAT(message({{"location", "up/secret"}}), HasSubstr("is a link out of the model's directory"));
  EXPECT_THAT(message({{"location", "sibling"}}), HasSubstr("is a link out of the model's directory"));
  EXPECT_THAT(message({{"location", std::string("w\0/x", 4)}}), HasSubstr("zero byte"));
}

TEST_F(ExternalData, BadEntriesAreNamed) {
  write("model/w.data", "0123456789abcdef");
  EXPECT_THAT(message({}), HasSubstr("m.onnx: tensor 'w': its external data has no location"));
  EXPECT_THAT(message({{"location", "."}}), HasSubstr("link out of the model's directory"));
  EXPECT_THAT(message({{"location", "gone.data"}}), HasSubstr("'gone.data', which is not in"));
  EXPECT_THAT(message({{"location", "w.data"}, {"offset", "-1"}}), HasSubstr("offset '-1'"));
  EXPECT_THAT(message({{"location", "w.data"}, {"offset", "1 "}}), HasSubstr("is not a number"));
  EXPECT_THAT(message({{"location", "w.data"}, {"offset", "99999999999999999999"}}), HasSubstr("is not a number"));
  EXPECT_THAT(message({{"location", "w.data"}, {"offset", "18446744073709551615"}}), HasSubstr("which has only 16"));
  EXPECT_THAT(message({{"location", "w.data"}, {"offset", "1"}}), HasSubstr("needs bytes 1 to 1+16 of 'w.data'"));
  EXPECT_THAT(message({{"location", "w.data"}, {"length", "8"}}),
              HasSubstr("needs 16 bytes, but its external data has length 8"));
  EXPECT_THAT(message({{"location", "w.data"}}, 1LL << 40), HasSubstr("external data to more than"));
  fs::create_directory(root_ / "model/folder");
  EXPECT_THAT(message({{"location", "folder"}}), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((root_ / "model/pipe").c_str(), 0600), 0);
  EXPECT_THAT(message({{"location", "pipe"}}), HasSubstr("not a regular file"));
}

TEST_F(ExternalData, LimitsOnFilesAndBytes) {
  write("model/w.data", "0123456789abcdef");
  ReadLimits few_bytes;
  few_bytes.max_external_bytes = 15;
  const auto bytes = read({{"location", "w.data"}}, 4, few_bytes);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kLimit);
  ReadLimits no_files;
  no_files.max_external_files = 0;
  const auto files = read({{"location", "w.data"}}, 4, no_files);
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message, HasSubstr("more than 0 files"));
}

TEST_F(ExternalData, FromMemoryOnlyWithADirectory) {
  write("model/w.data", "0123456789abcdef");
  const std::string bytes =
      model({.graph = {.initializers = {external_tensor("w", DType::kFloat32, {4}, {{"location", "w.data"}})}}});
  const auto without = read_model(std::as_bytes(std::span(bytes)), "memory");
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("memory: tensor 'w': its data lies in 'w.data', but"));
  EXPECT_TRUE(read_model(std::as_bytes(std::span(bytes)), "memory", root_ / "model"));
}

// The hub's cache: snapshots/REV/onnx/model.onnx and model.onnx_data are links to blobs/HASH of the same repository.
TEST_F(ExternalData, HubCacheBlobsOfTheSameRepositoryAreInside) {
  const std::string bytes =
      model({.graph = {.initializers = {external_tensor("w", DType::kFloat32, {4}, {{"location", "m.onnx_data"}})}}});
  write("models--a--b/blobs/1111", bytes);
  write("models--a--b/blobs/2222", "0123456789abcdef");
  write("models--a--b/blobs/deep/4444", "0123456789abcdef");
  write("models--c--d/blobs/3333", "0123456789abcdef");
  const fs::path snapshot = root_ / "models--a--b/snapshots/abc/onnx";
  fs::create_directories(snapshot);
  fs::create_symlink("../../../blobs/1111", snapshot / "m.onnx");
  const auto with_target = [&](const std::string& target) {
    fs::remove(snapshot / "m.onnx_data");
    fs::create_symlink(target, snapshot / "m.onnx_data");
    const auto result = read_model(snapshot / "m.onnx");
    return result ? "no error" : result.error().message;
  };
  EXPECT_EQ(with_target("../../../blobs/2222"), "no error");
  EXPECT_THAT(with_target("../../../../models--c--d/blobs/3333"), HasSubstr("is a link out of"));
  EXPECT_THAT(with_target("../../../blobs/deep/4444"), HasSubstr("is a link out of"));
  EXPECT_THAT(with_target("../../../../secret"), HasSubstr("is a link out of"));
}

TEST_F(ExternalData, ABlobsFolderThatIsALinkIsNotTrusted) {
  const std::string bytes =
      model({.graph = {.initializers = {external_tensor("w", DType::kFloat32, {4}, {{"location", "w"}})}}});
  write("repo/snapshots/abc/m.onnx", bytes);
  write("elsewhere/secret", "0123456789abcdef");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "repo/blobs");
  fs::create_symlink("../../blobs/secret", root_ / "repo/snapshots/abc/w");
  const auto result = read_model(root_ / "repo/snapshots/abc/m.onnx");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("is a link out of"));
}

}  // namespace
}  // namespace narthex::onnx
