#include "hub/hub_cache.h"

#include <gtest/gtest.h>

#include "hub/disk.h"
#include "hub/test_tools.h"

namespace narthex {
namespace {

using testing_hub::TemporaryDirectory;
using State = HubCache::State;

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";

TEST(HubCache, NamesOfRepositories) {
  for (const char* good : {"gpt2", "BAAI/bge-small-en-v1.5", "a/b", "a_b/c.d-e"})
    EXPECT_TRUE(check_repository(good)) << good;
  for (const char* bad : {"", "/", "a/", "/a", "a/b/c", "a--b/c", "a/b..c", "../a", "a/..", "a/b.git", "-a/b", "a/.b",
                          "a b/c", "a/b\n", "a/b?x", "http://a/b", "a\\b"}) {
    EXPECT_FALSE(check_repository(bad)) << bad;
  }
  EXPECT_FALSE(check_repository("a/" + std::string(97, 'x')));
}

TEST(HubCache, NamesOfRevisionsAndFilesStayInside) {
  for (const char* good : {"main", "v1.0", "refs/pr/1"}) EXPECT_TRUE(check_revision(good)) << good;
  for (const char* good : {"config.json", "1_Pooling/config.json", "a b.txt", "..a"})
    EXPECT_TRUE(check_file(good)) << good;
  for (const char* bad : {"", ".", "..", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "a\\b", "a\nb", "./a"}) {
    EXPECT_FALSE(check_revision(bad)) << bad;
    EXPECT_FALSE(check_file(bad)) << bad;
  }
  EXPECT_FALSE(is_plain_etag("../../x"));
  EXPECT_FALSE(is_plain_etag(""));
  EXPECT_FALSE(is_plain_etag("a.lock"));
  EXPECT_TRUE(is_plain_etag("5e6f-abc"));
}

TEST(HubCache, LayoutIsThatOfThePythonClient) {
  const TemporaryDirectory root;
  const HubCache cache(root.path(), "acme/tiny", true);
  ASSERT_TRUE(cache.prepare());
  EXPECT_TRUE(testing_hub::read_text(root / "CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
  testing_hub::write_text(cache.blob("abc"), "content");
  ASSERT_TRUE(cache.publish(kCommit, "config.json", "abc"));
  ASSERT_TRUE(cache.publish(kCommit, "onnx/deep/model.onnx", "abc"));
  const std::filesystem::path snapshot = root / "models--acme--tiny/snapshots" / kCommit;
  EXPECT_EQ(std::filesystem::read_symlink(snapshot / "config.json"), "../../blobs/abc");
  EXPECT_EQ(std::filesystem::read_symlink(snapshot / "onnx/deep/model.onnx"), "../../../../blobs/abc");
  EXPECT_EQ(testing_hub::read_text(snapshot / "onnx/deep/model.onnx"), "content");
  ASSERT_TRUE(cache.write_ref("main", kCommit));
  ASSERT_TRUE(cache.write_ref("refs/pr/1", kCommit));
  ASSERT_TRUE(cache.write_ref(kCommit, kCommit));
  EXPECT_EQ(testing_hub::read_text(root / "models--acme--tiny/refs/main"), kCommit);
  EXPECT_EQ(testing_hub::read_text(root / "models--acme--tiny/refs/refs/pr/1"), kCommit);
  EXPECT_FALSE(std::filesystem::exists(root / ("models--acme--tiny/refs/" + kCommit)));
  EXPECT_EQ(cache.lock("abc"), root / ".locks/models--acme--tiny/abc.lock");
}

TEST(HubCache, FindsByBranchAndByCommit) {
  const TemporaryDirectory root;
  const HubCache cache(root.path(), "acme/tiny", true);
  ASSERT_TRUE(cache.prepare());
  EXPECT_EQ(cache.find("main", "config.json").state, State::kUnknown);
  testing_hub::write_text(cache.blob("abc"), "content");
  ASSERT_TRUE(cache.publish(kCommit, "config.json", "abc"));
  cache.remember_missing(kCommit, "1_Pooling/config.json");
  EXPECT_EQ(cache.find("main", "config.json").state, State::kUnknown);
  EXPECT_EQ(cache.find(kCommit, "config.json").state, State::kPresent);
  ASSERT_TRUE(cache.write_ref("main", kCommit));
  EXPECT_EQ(cache.find("main", "config.json").state, State::kPresent);
  EXPECT_EQ(cache.find("main", "config.json").commit, kCommit);
  EXPECT_EQ(cache.find("main", "1_Pooling/config.json").state, State::kKnownMissing);
  std::filesystem::remove(cache.blob("abc"));  // a dangling link is nothing
  EXPECT_EQ(cache.find("main", "config.json").state, State::kUnknown);
  testing_hub::write_text(root / "models--acme--tiny/refs/main", "../../../../etc");
  EXPECT_EQ(cache.find("main", "passwd").state, State::kUnknown);
}

TEST(HubCache, WithoutSymbolicLinksSnapshotsHoldFiles) {
  const TemporaryDirectory root;
  const HubCache cache(root.path(), "acme/tiny", false);
  ASSERT_TRUE(cache.prepare());
  testing_hub::write_text(cache.blob("abc"), "content");
  const auto path = cache.publish(kCommit, "config.json", "abc");
  ASSERT_TRUE(path);
  EXPECT_FALSE(std::filesystem::is_symlink(*path));
  EXPECT_EQ(testing_hub::read_text(*path), "content");
}

}  // namespace
}  // namespace narthex
