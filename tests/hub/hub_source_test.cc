#include "hub/hub_source.h"

#include <gtest/gtest.h>

#include "hub/fake_hub.h"

namespace narthex {
namespace {

using testing_hub::FakeHub;
using testing_hub::kCommit;
using testing_hub::kRepository;
using testing_hub::Reply;
using testing_hub::SeenRequest;
using Kind = HubFailure::Kind;

class HubSourceTest : public testing::Test {
 protected:
  HubSourceTest() {
    settings.endpoint = hub.hub.url();
    settings.cache = directory.path();
    settings.first_backoff = std::chrono::milliseconds(1);
    hub.add_large("onnx/model.onnx", model);
    hub.add_small("config.json", config);
  }

  std::expected<HubFile, HubFailure> fetch(const std::string& file, const std::string& revision = "main") {
    return HubSource(settings, observer).fetch({.repository = kRepository, .revision = revision, .file = file});
  }

  const std::string model = testing_hub::noise(700'000);
  const std::string config = R"({"model_type": "bert"})";
  testing_hub::TemporaryDirectory directory;
  FakeHub hub;
  HubSettings settings;
  PullObserver observer;
};

TEST_F(HubSourceTest, LargeAndSmallFilesLandInTheSharedLayout) {
  std::uint64_t last = 0;
  observer.on_progress = [&](const PullProgress& at) {
    EXPECT_GE(at.done, last);
    EXPECT_EQ(at.total, model.size());
    last = at.done;
  };
  const auto large = fetch("onnx/model.onnx");
  ASSERT_TRUE(large) << large.error().error.message;
  EXPECT_EQ(last, model.size());
  EXPECT_EQ(large->commit, kCommit);
  const std::filesystem::path repository = directory / "models--acme--tiny";
  EXPECT_EQ(large->path, repository / "snapshots" / kCommit / "onnx/model.onnx");
  EXPECT_EQ(std::filesystem::read_symlink(large->path), "../../../blobs/" + testing_hub::sha256_of(model));
  EXPECT_TRUE(testing_hub::read_text(large->path) == model);
  observer.on_progress = nullptr;
  const auto small = fetch("config.json");
  ASSERT_TRUE(small) << small.error().error.message;
  EXPECT_EQ(std::filesystem::read_symlink(small->path), "../../blobs/" + testing_hub::git_hash_of(config));
  EXPECT_EQ(testing_hub::read_text(repository / "refs/main"), kCommit);
  EXPECT_EQ(hub.hub.seen()[0].header("accept-encoding"), "identity");
}

TEST_F(HubSourceTest, ABranchIsAskedAgainButTheBlobIsNotFetchedAgain) {
  ASSERT_TRUE(fetch("onnx/model.onnx"));
  ASSERT_TRUE(fetch("onnx/model.onnx"));
  EXPECT_EQ(hub.hub.count("HEAD"), 2U);
  EXPECT_EQ(hub.cdn.seen().size(), 1U);
}

TEST_F(HubSourceTest, AKnownCommitAsksNoNetwork) {
  ASSERT_TRUE(fetch("config.json", kCommit));
  const std::size_t asked = hub.hub.seen().size();
  ASSERT_TRUE(fetch("config.json", kCommit));
  EXPECT_EQ(fetch("absent.json", kCommit).error().kind, Kind::kNoSuchFile);
  const std::size_t asked_for_absent = hub.hub.seen().size();
  EXPECT_EQ(asked_for_absent, asked + 1);
  EXPECT_EQ(fetch("absent.json", kCommit).error().kind, Kind::kNoSuchFile);  // .no_exist remembers
  EXPECT_EQ(hub.hub.seen().size(), asked_for_absent);
}

TEST_F(HubSourceTest, OfflineUsesTheCacheAndNothingElse) {
  ASSERT_TRUE(fetch("config.json"));
  const std::size_t asked = hub.hub.seen().size();
  settings.offline = true;
  ASSERT_TRUE(fetch("config.json"));
  const auto unknown = fetch("onnx/model.onnx");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, Kind::kUnavailable);
  EXPECT_NE(unknown.error().error.message.find("HF_HUB_OFFLINE"), std::string::npos);
  EXPECT_EQ(hub.hub.seen().size(), asked);
}

TEST_F(HubSourceTest, TheTokenStaysWithTheHub) {
  settings.token = "hf_secret";
  ASSERT_TRUE(fetch("onnx/model.onnx"));
  EXPECT_EQ(hub.hub.seen()[0].header("authorization"), "Bearer hf_secret");
  ASSERT_EQ(hub.cdn.seen().size(), 1U);
  EXPECT_EQ(hub.cdn.seen()[0].header("authorization"), "");
}

TEST_F(HubSourceTest, RelativeRedirectsAreFollowedWithTheirQuery) {
  hub.at_hub = [&](const SeenRequest& request) -> std::optional<Reply> {
    if (request.target.starts_with("/acme/tiny/resolve/main/config.json?moved=1")) {
      Reply reply = testing_hub::with_range(request, config);
      reply.headers.emplace_back("ETag", '"' + testing_hub::git_hash_of(config) + '"');
      return reply;  // only the first answer named the commit
    }
    if (!request.target.ends_with("config.json")) return std::nullopt;
    return Reply{.status = 307,
                 .headers = {{"X-Repo-Commit", kCommit}, {"Location", "/acme/tiny/resolve/main/config.json?moved=1"}}};
  };
  const auto file = fetch("config.json");
  ASSERT_TRUE(file) << file.error().error.message;
  EXPECT_EQ(testing_hub::read_text(file->path), config);
}

TEST_F(HubSourceTest, EndlessRedirectsEnd) {
  hub.at_hub = [](const SeenRequest& request) -> std::optional<Reply> {
    return Reply{.status = 307, .headers = {{"Location", request.target}}};
  };
  EXPECT_EQ(fetch("config.json").error().kind, Kind::kFatal);
  EXPECT_LE(hub.hub.seen().size(), 10U);
}

TEST_F(HubSourceTest, WhenTheHubIsDownABranchFromTheCacheIsUsedAndSaid) {
  ASSERT_TRUE(fetch("config.json"));
  hub.at_hub = [](const SeenRequest&) -> std::optional<Reply> { return Reply{.status = 503}; };
  std::string said;
  observer.on_message = [&](std::string_view line) { said += line; };
  const auto file = fetch("config.json");
  ASSERT_TRUE(file) << file.error().error.message;
  EXPECT_NE(said.find("using the copy in the cache"), std::string::npos) << said;
}

TEST_F(HubSourceTest, NamesAreCheckedBeforeAnythingIsAsked) {
  for (const char* file : {"../config.json", "/etc/passwd", ""})
    EXPECT_EQ(fetch(file).error().kind, Kind::kFatal) << file;
  EXPECT_FALSE(fetch("config.json", "../main"));
  EXPECT_FALSE(HubSource(settings, observer).fetch({.repository = "../x", .revision = "main", .file = "config.json"}));
  EXPECT_TRUE(hub.hub.seen().empty());
}

TEST_F(HubSourceTest, AHostileHubCannotNamePaths) {
  const auto answer = [&](std::string commit, std::string etag) {
    hub.at_hub = [=](const SeenRequest&) -> std::optional<Reply> {
      return Reply{.headers = {{"X-Repo-Commit", commit}, {"ETag", etag}}, .body = "x"};
    };
    return fetch("config.json");
  };
  EXPECT_EQ(answer("../../../tmp", "\"abc\"").error().kind, Kind::kFatal);
  EXPECT_EQ(answer("", "\"abc\"").error().kind, Kind::kFatal);
  EXPECT_EQ(answer(kCommit, "\"../../../../tmp/x\"").error().kind, Kind::kFatal);
  EXPECT_EQ(answer(kCommit, "").error().kind, Kind::kFatal);
}

TEST(RetryAfter, SecondsDatesAndRateLimits) {
  const auto now = std::chrono::system_clock::from_time_t(784111777);  // Sun, 06 Nov 1994 08:49:37 GMT
  const auto asked = [&](const char* name, const char* value) {
    return retry_after({.status = 429, .headers = {{name, value}}}, now).value_or(std::chrono::seconds(-1)).count();
  };
  EXPECT_EQ(asked("retry-after", "7"), 7);
  EXPECT_EQ(asked("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), 10);
  EXPECT_EQ(asked("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), 0);
  EXPECT_EQ(asked("retry-after", "soon"), -1);
  EXPECT_EQ(asked("ratelimit", "\"resolvers\";r=0;t=55"), 55);
}

}  // namespace
}  // namespace narthex
