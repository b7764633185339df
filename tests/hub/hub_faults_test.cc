// The hub and its CDN at their worst: what is broken must be noticed, what can be continued must be continued.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "hub/fake_hub.h"
#include "hub/hub_source.h"

namespace narthex {
namespace {

using testing_hub::FakeHub;
using testing_hub::kCommit;
using testing_hub::kRepository;
using testing_hub::Reply;
using testing_hub::SeenRequest;
using testing_hub::with_range;
using Kind = HubFailure::Kind;

const std::string kFile = "onnx/model.onnx";
// Larger than the client's buffers, so that cuts fall between writes too.
const std::string kModel = testing_hub::noise(1'500'000);

HubSettings settings_for(const std::string& endpoint, const std::filesystem::path& cache) {
  HubSettings settings;
  settings.endpoint = endpoint;
  settings.cache = cache;
  settings.first_backoff = std::chrono::milliseconds(1);
  settings.head_timeout = std::chrono::milliseconds(2000);
  settings.download_timeout = std::chrono::milliseconds(2000);
  return settings;
}

class HubFaults : public testing::Test {
 protected:
  HubFaults() : settings(settings_for(hub.hub.url(), directory.path())) { hub.add_large(kFile, kModel); }

  std::expected<HubFile, HubFailure> fetch() {
    return HubSource(settings, observer).fetch({.repository = kRepository, .revision = "main", .file = kFile});
  }
  void expect_model(const std::expected<HubFile, HubFailure>& file) {
    ASSERT_TRUE(file) << file.error().error.message;
    EXPECT_TRUE(testing_hub::read_text(file->path) == kModel);
  }
  std::filesystem::path blobs() const { return directory / "models--acme--tiny/blobs"; }

  testing_hub::TemporaryDirectory directory;
  FakeHub hub;
  HubSettings settings;
  PullObserver observer;
};

TEST_F(HubFaults, ResumesAfterCutTransfersAndStillChecksTheHash) {
  std::atomic<int> n = 0;
  hub.at_cdn = [&](const SeenRequest& request) -> std::optional<Reply> {
    Reply reply = with_range(request, kModel);
    if (n++ < 8) reply.cut_after = 150'000;  // more cuts than attempts: each one brought something
    return reply;
  };
  expect_model(fetch());
  const auto seen = hub.cdn.seen();
  EXPECT_EQ(seen[0].header("range"), "");
  EXPECT_EQ(seen[1].header("range"), "bytes=150000-");
  EXPECT_EQ(seen.size(), 9U);
}

TEST_F(HubFaults, AServerThatIgnoresRangeMakesItStartOver) {
  std::atomic<int> n = 0;
  hub.at_cdn = [&](const SeenRequest&) -> std::optional<Reply> {
    Reply reply{.body = kModel};
    if (n++ == 0) reply.cut_after = 400'000;
    return reply;
  };
  expect_model(fetch());
}

TEST_F(HubFaults, AWrongRangeIsNotTaken) {
  std::atomic<int> n = 0;
  hub.at_cdn = [&](const SeenRequest& request) -> std::optional<Reply> {
    Reply reply = with_range(request, kModel);
    if (n++ == 0) reply.cut_after = 400'000;
    if (n == 2)
      reply = {.status = 206, .headers = {{"Content-Range", "bytes 5-1499999/1500000"}}, .body = kModel.substr(5)};
    return reply;
  };
  expect_model(fetch());
}

TEST_F(HubFaults, AnExpiredAddressIsAskedForAgain) {
  std::atomic<int> n = 0;
  hub.at_cdn = [&](const SeenRequest& request) -> std::optional<Reply> {
    if (n++ > 0) return std::nullopt;
    hub.signature = 2;  // the next request with the old address gets 403
    Reply reply = with_range(request, kModel);
    reply.cut_after = 400'000;
    return reply;
  };
  expect_model(fetch());
  EXPECT_EQ(hub.hub.count("HEAD"), 2U);
  EXPECT_EQ(hub.cdn.seen().back().header("range"), "bytes=400000-");
}

TEST_F(HubFaults, AnAddressThatIsRefusedForeverEnds) {
  hub.at_cdn = [](const SeenRequest&) -> std::optional<Reply> { return Reply{.status = 403}; };
  const auto file = fetch();
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().error.message.find("403"), std::string::npos) << file.error().error.message;
  EXPECT_EQ(file.error().error.message.find("signature"), std::string::npos);  // a signed address is a secret
}

TEST_F(HubFaults, WrongContentNeverGetsAName) {
  std::string wrong = kModel;
  wrong[1'000'000] ^= 1;
  hub.at_cdn = [&](const SeenRequest& request) -> std::optional<Reply> { return with_range(request, wrong); };
  const auto file = fetch();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, Kind::kFatal);
  EXPECT_NE(file.error().error.message.find("its sha256 is"), std::string::npos) << file.error().error.message;
  EXPECT_TRUE(std::filesystem::is_empty(blobs()));  // nor is it continued later
}

TEST_F(HubFaults, WrongSizesAreNoticedBothWays) {
  hub.at_cdn = [&](const SeenRequest&) -> std::optional<Reply> { return Reply{.body = kModel + "more"}; };
  const auto longer = fetch();
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().error.message.find("more than the 1500000 bytes"), std::string::npos)
      << longer.error().error.message;
  std::filesystem::remove_all(blobs());
  hub.at_cdn = [&](const SeenRequest&) -> std::optional<Reply> { return Reply{.body = kModel.substr(0, 1000)}; };
  const auto shorter = fetch();
  ASSERT_FALSE(shorter);
  EXPECT_NE(shorter.error().error.message.find("1000 bytes arrived, expected 1500000"), std::string::npos)
      << shorter.error().error.message;
}

TEST_F(HubFaults, BusyServersAreAskedAgainAfterTheTimeTheyAskFor) {
  std::atomic<int> n = 0;
  hub.at_hub = [&](const SeenRequest&) -> std::optional<Reply> {
    if (n++ == 0) return Reply{.status = 429, .headers = {{"Retry-After", "1"}}};
    if (n == 2) return Reply{.status = 503};
    return std::nullopt;
  };
  std::atomic<int> m = 0;
  hub.at_cdn = [&](const SeenRequest&) -> std::optional<Reply> {
    if (m++ < 2) return Reply{.status = 500};
    return std::nullopt;
  };
  std::string said;
  observer.on_message = [&](std::string_view line) { said += fmt::format("{}\n", line); };
  const auto before = std::chrono::steady_clock::now();
  expect_model(fetch());
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
  EXPECT_NE(said.find("status 429; trying again in 1.0 s"), std::string::npos) << said;
}

TEST_F(HubFaults, AServerThatAsksForTooLongIsGivenUp) {
  hub.at_hub = [](const SeenRequest&) -> std::optional<Reply> {
    return Reply{.status = 429, .headers = {{"Retry-After", "3600"}}};
  };
  const auto file = fetch();
  EXPECT_EQ(file.error().kind, Kind::kUnavailable);
  EXPECT_NE(file.error().error.message.find("3600 s"), std::string::npos) << file.error().error.message;
  hub.at_hub = [](const SeenRequest&) -> std::optional<Reply> { return Reply{.status = 502}; };
  EXPECT_EQ(fetch().error().kind, Kind::kUnavailable);
  EXPECT_EQ(hub.hub.seen().size(), 1U + 5U);
}

TEST_F(HubFaults, RefusalsSayWhatToDo) {
  const auto refused = [&](int status, const char* code) {
    hub.at_hub = [=](const SeenRequest&) -> std::optional<Reply> {
      return Reply{.status = status, .headers = {{"X-Error-Code", code}, {"X-Repo-Commit", kCommit}}};
    };
    const auto file = fetch();
    EXPECT_FALSE(file);
    return file.error();
  };
  EXPECT_EQ(refused(404, "EntryNotFound").kind, Kind::kNoSuchFile);
  EXPECT_NE(refused(404, "RevisionNotFound").error.message.find("not this revision"), std::string::npos);
  EXPECT_NE(refused(401, "RepoNotFound")
                .error.message.find("no such repository, or it is private; no token is set (HF_TOKEN)"),
            std::string::npos);
  EXPECT_NE(refused(403, "GatedRepo").error.message.find("access must be asked for"), std::string::npos);
  EXPECT_EQ(refused(418, "Teapot").kind, Kind::kFatal);
}

TEST_F(HubFaults, ADamagedBlobIsFetchedAgain) {
  ASSERT_TRUE(fetch());
  const std::filesystem::path blob = blobs() / testing_hub::sha256_of(kModel);
  testing_hub::write_text(blob, "rotten");
  expect_model(fetch());
}

TEST_F(HubFaults, BytesOfAnEarlierProcessThatAreWrongCostOneMoreTry) {
  testing_hub::write_text(blobs() / (testing_hub::sha256_of(kModel) + ".narthex.incomplete"),
                          std::string(600'000, 'x'));
  expect_model(fetch());
  EXPECT_EQ(hub.cdn.seen()[0].header("range"), "bytes=600000-");
  EXPECT_EQ(hub.cdn.seen()[1].header("range"), "");
}

TEST_F(HubFaults, CancelStopsATransferAndKeepsItsBytes) {
  hub.at_cdn = [&](const SeenRequest&) -> std::optional<Reply> {
    return Reply{.body = kModel, .stall_after = 500'000};
  };
  std::atomic<std::uint64_t> done = 0;
  observer.on_progress = [&](const PullProgress& at) { done = at.done; };
  observer.cancelled = [&] { return done >= 500'000; };
  const auto file = fetch();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().error.code, ErrorCode::kCancelled);
  observer.cancelled = nullptr;
  hub.at_cdn = nullptr;
  expect_model(fetch());
  EXPECT_EQ(hub.cdn.seen().back().header("range"), "bytes=500000-");
}

// Children are made before any server thread exists, and learn the port through a pipe.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      int port = 0;
      const bool is_told = ::read(ends[0], &port, sizeof port) == sizeof port;
      ::_exit(is_told ? body(fmt::format("http://127.0.0.1:{}", port)) : 99);
    }
    ::close(ends[0]);
    tell_ = ends[1];
  }
  void start(int port) const { EXPECT_EQ(::write(tell_, &port, sizeof port), static_cast<ssize_t>(sizeof port)); }
  void kill() const { ::kill(pid_, SIGKILL); }
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  ~Child() { ::close(tell_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t pid_ = -1;
  int tell_ = -1;
};

int fetch_in_child(const std::string& endpoint, const std::filesystem::path& cache) {
  const PullObserver observer;
  HubSource hub(settings_for(endpoint, cache), observer);
  const auto file = hub.fetch({.repository = kRepository, .revision = "main", .file = kFile});
  return file && testing_hub::read_text(file->path) == kModel ? 0 : 1;
}

TEST(HubProcesses, TwoAtOnceFetchOnce) {
  const testing_hub::TemporaryDirectory directory;
  const auto body = [&](const std::string& endpoint) { return fetch_in_child(endpoint, directory.path()); };
  const Child first(body);
  const Child second(body);
  FakeHub hub;
  hub.add_large(kFile, kModel);
  hub.at_cdn = [](const SeenRequest& request) -> std::optional<Reply> {
    Reply reply = with_range(request, kModel);
    reply.delay = std::chrono::milliseconds(300);  // long enough for the other process to arrive
    return reply;
  };
  first.start(hub.hub.port());
  second.start(hub.hub.port());
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(hub.cdn.seen().size(), 1U);
}

TEST(HubProcesses, AKilledProcessIsContinued) {
  const testing_hub::TemporaryDirectory directory;
  const Child child([&](const std::string& endpoint) { return fetch_in_child(endpoint, directory.path()); });
  FakeHub hub;
  hub.add_large(kFile, kModel);
  hub.at_cdn = [](const SeenRequest&) -> std::optional<Reply> { return Reply{.body = kModel, .stall_after = 800'000}; };
  child.start(hub.hub.port());
  const std::filesystem::path partial =
      directory / ("models--acme--tiny/blobs/" + testing_hub::sha256_of(kModel) + ".narthex.incomplete");
  std::error_code code;
  for (int i = 0; i < 500 && (std::filesystem::file_size(partial, code) < 800'000 || code); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  child.kill();
  EXPECT_EQ(child.wait(), 128 + SIGKILL);
  hub.at_cdn = nullptr;
  const PullObserver observer;
  const auto file = HubSource(settings_for(hub.hub.url(), directory.path()), observer)
                        .fetch({.repository = kRepository, .revision = "main", .file = kFile});
  ASSERT_TRUE(file) << file.error().error.message;
  EXPECT_TRUE(testing_hub::read_text(file->path) == kModel);
  EXPECT_EQ(hub.cdn.seen().back().header("range"), "bytes=800000-");
}

// A limit on file sizes stands for a full disk: write() fails in the same way.
TEST(HubProcesses, AFullDiskIsAnErrorThatNamesTheFile) {
  const testing_hub::TemporaryDirectory directory;
  const Child child([&](const std::string& endpoint) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1'000'000, 1'000'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const PullObserver observer;
    HubSource hub(settings_for(endpoint, directory.path()), observer);
    const auto file = hub.fetch({.repository = kRepository, .revision = "main", .file = kFile});
    return !file && file.error().kind == Kind::kFatal &&
                   file.error().error.message.find("cannot write") != std::string::npos
               ? 0
               : 1;
  });
  FakeHub hub;
  hub.add_large(kFile, kModel);
  child.start(hub.hub.port());
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace narthex
