#include "artifact/identity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <memory>

#include "artifact/artifact_tools.h"
#include "artifact/source_index.h"
#include "onnx/model_builder.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;
using namespace testing_artifact;

class Identity : public testing::Test {
 protected:
  // Files that were changed less than two seconds before are not remembered, and the time of change cannot be set:
  // these are made once, and waited for.
  static void SetUpTestSuite() {
    settled_ = std::make_unique<TemporaryDirectory>();
    for (const char* name : {"a.json", "b.json", "c.json"}) write_old(*settled_ / name, name);
    for (int i = 0; i < kMany; ++i) write_old(*settled_ / fmt::format("f{}.json", i), "x");
    const timespec wait = {2, 100'000'000};
    ::nanosleep(&wait, nullptr);
  }
  static void TearDownTestSuite() { settled_.reset(); }
  static void write_old(const fs::path& path, std::string_view bytes, std::time_t modified = 1'600'000'000) {
    write_bytes(path, bytes);
    const timespec times[2] = {{modified, 0}, {modified, 0}};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  fs::path file(const char* name, std::string_view bytes) {
    write_bytes(directory_ / name, bytes);
    return directory_ / name;
  }
  static fs::path settled(const std::string& name) { return *settled_ / name; }
  fs::path index() const { return directory_ / "cache/sources.json"; }
  ArtifactId id(const std::vector<fs::path>& files, std::map<std::string, std::string> options = {}) {
    auto made = identify({"m", files, std::move(options)}, index());
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(ArtifactId());
  }

  static constexpr int kMany = 1100;
  static inline std::unique_ptr<TemporaryDirectory> settled_;
  TemporaryDirectory directory_;
};

TEST_F(Identity, FollowsFromBytesNamesAndOptions) {
  const fs::path a = file("a.json", "one"), b = file("b.json", "two");
  const ArtifactId first = id({a, b}, {{"precision", "bf16"}});
  EXPECT_TRUE(first.name.starts_with("m-") && first.name.ends_with(".narthex")) << first.name;
  EXPECT_EQ(first.key.size(), 64U);
  EXPECT_EQ(artifact_path("/cache", first), fs::path("/cache") / first.name);
  const auto differs = [&](const ArtifactId& other) { return other.name != first.name && other.key != first.key; };
  EXPECT_FALSE(differs(id({a, b}, {{"precision", "bf16"}})));
  EXPECT_TRUE(differs(id({a, b}, {{"precision", "int8"}})));
  EXPECT_TRUE(differs(id({a, b})));
  EXPECT_TRUE(differs(id({a}, {{"precision", "bf16"}})));
  EXPECT_TRUE(differs(id({b, a}, {{"precision", "bf16"}})));
  file("b.json", "twO");
  EXPECT_TRUE(differs(id({a, b}, {{"precision", "bf16"}})));
}

TEST_F(Identity, TheLabelIsPlainInTheFilesName) {
  const fs::path a = file("a.json", "one");
  const auto name = [&](std::string label) { return identify({std::move(label), {a}, {}}, index()).value().name; };
  EXPECT_TRUE(name("../x/\n").starts_with("_._x__-")) << name("../x/\n");
  EXPECT_LT(name(std::string(500, 'x')).size(), 128U);
  EXPECT_EQ(name("").find('-'), std::string::npos);
}

TEST_F(Identity, AMissingFileIsNamed) {
  const auto made = identify({"m", {directory_ / "none.onnx"}, {}}, index());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kNotFound);
  EXPECT_NE(made.error().message.find("none.onnx"), std::string::npos);
}

// What the index says is believed as long as nothing shows a change, so a wrong digest in it shows who was asked.
TEST_F(Identity, UnchangedFilesAreNotReadAgain) {
  const fs::path a = settled("a.json"), b = settled("b.json");
  const ArtifactId first = id({a, b});
  std::string text = read_bytes(index());
  const std::size_t at = text.find("\"sha256\": \"") + 11;
  text[at] = text[at] == '0' ? '1' : '0';
  write_bytes(index(), text);
  const ArtifactId believed = id({a, b});
  EXPECT_NE(believed.key, first.key);
  // Same size, modification time put back: the inode's time of change gives it away.
  write_old(a, "A.json");
  const ArtifactId changed = id({a, b});
  EXPECT_NE(changed.key, first.key);
  EXPECT_NE(changed.key, believed.key);
  write_old(a, "a.json");
  EXPECT_EQ(id({a, b}).key, first.key);
}

TEST_F(Identity, ExternalDataOfAnOnnxFileCounts) {
  namespace o = onnx::build;
  file("w.data", "0123456789abcdef");
  const fs::path model =
      file("m.onnx", o::model({.graph = {.initializers = {o::external_tensor("w", onnx::DType::kFloat32, {4},
                                                                             {{"location", "w.data"}})}}}));
  const ArtifactId first = id({model});
  file("w.data", "0123456789abcdeF");
  EXPECT_NE(id({model}).key, first.key);
  fs::remove(directory_ / "w.data");
  EXPECT_FALSE(identify({"m", {model}, {}}, index()));
}

TEST_F(Identity, FilesFromTheFutureAreNotRemembered) {
  const fs::path a = directory_ / "a.json";
  write_old(a, "one", 32'000'000'000);
  id({a});
  EXPECT_FALSE(fs::exists(index()));
}

TEST_F(Identity, ADamagedIndexIsNone) {
  const fs::path c = settled("c.json");
  const ArtifactId first = id({c});
  const std::string whole = read_bytes(index());
  ASSERT_FALSE(whole.empty());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_bytes(index(), whole.substr(0, n));
    ASSERT_EQ(id({c}).key, first.key) << "cut after " << n;
  }
  for (const char* text : {"[]", "{}", R"({"version": 2, "files": []})", R"({"version": 1, "files": 3})",
                           R"({"version": 1, "files": [{"path": 1}]})", "\xff\xfe"}) {
    write_bytes(index(), text);
    EXPECT_EQ(id({c}).key, first.key) << text;
  }
  fs::remove(index());
  fs::create_directory(index());
  EXPECT_EQ(id({c}).key, first.key);
}

TEST_F(Identity, ManyFilesDoNotMakeTheIndexGrowForEver) {
  std::vector<fs::path> files;
  for (int i = 0; i < kMany; ++i) files.push_back(settled(fmt::format("f{}.json", i)));
  id(files);
  const std::string text = read_bytes(index());
  std::size_t n = 0;
  for (std::size_t at = text.find("\"path\""); at != std::string::npos; at = text.find("\"path\"", at + 1)) ++n;
  EXPECT_EQ(n, 1024U);
}

}  // namespace
}  // namespace narthex
