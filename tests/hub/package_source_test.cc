#include "hub/package_source.h"

#include <gtest/gtest.h>

#include "hub/fake_clients.h"
#include "hub/zip_tools.h"

namespace narthex {
namespace {

using testing_hub::FakeClients;
using testing_hub::read_text;

class PackageSource : public testing::Test {
 protected:
  PackageSource() : clients(variables) {
    testing_hub::write_zip(directory / "made.zip", {{"deep/m.onnx", "model"}, {"t.json", "tokenizer"}});
    std::filesystem::create_directories(directory / "work");
    std::filesystem::create_directories(directory / "staging");
    options.package_timeout = std::chrono::seconds(20);
  }
  std::string copy_to(const std::string& name) const {
    return "cp " + (directory / "made.zip").string() + " \"$out/" + name + "\"";
  }
  Result<void> fetch(const PackageSpec& package) {
    return fetch_package(package, directory / "work", directory / "staging", options);
  }
  static PackageSpec maven() {
    return {PackageKind::kMaven,
            "org.acme:tiny:1.0",
            {{.from = "deep/m.onnx", .name = "model.onnx"}, {.from = "t.json", .name = "tokenizer.json"}}};
  }
  static PackageSpec pip() {
    return {PackageKind::kPip, "acme-tiny==1.0", {{.from = "deep/m.onnx", .name = "model.onnx"}}};
  }

  testing_hub::Variables variables;
  FakeClients clients;
  testing_hub::TemporaryDirectory directory;
  PullOptions options;
};

TEST_F(PackageSource, MavenBringsAJarAndItsMembersAreExtracted) {
  clients.install("mvn", copy_to("tiny-1.0.jar"));
  const auto done = fetch(maven());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(read_text(directory / "staging/model.onnx"), "model");
  EXPECT_EQ(read_text(directory / "staging/tokenizer.json"), "tokenizer");
  EXPECT_NE(clients.calls().find("mvn -q -B dependency:copy -Dartifact=org.acme:tiny:1.0 -DoutputDirectory="),
            std::string::npos)
      << clients.calls();
  EXPECT_TRUE(std::filesystem::is_empty(directory / "work"));
}

TEST_F(PackageSource, PipIsFoundUnderAnyOfItsNames) {
  clients.install("python3", copy_to("acme_tiny-1.0-py3-none-any.whl"));
  ASSERT_TRUE(fetch(pip()));
  EXPECT_NE(clients.calls().find("python3 -m pip download --no-deps --only-binary=:all:"), std::string::npos)
      << clients.calls();
  clients.install("pip", "echo 'pyenv: pip: command not found'; exit 127");
  ASSERT_TRUE(fetch(pip()));
  clients.install("pip3", copy_to("acme_tiny-1.0-py3-none-any.whl"));
  ASSERT_TRUE(fetch(pip()));
  EXPECT_NE(clients.calls().find("pip3 download"), std::string::npos);
}

TEST_F(PackageSource, WithoutAClientTheErrorNamesIt) {
  EXPECT_EQ(fetch(maven()).error().message, "Maven (mvn) is needed to fetch org.acme:tiny:1.0, and is not installed");
  EXPECT_EQ(fetch(pip()).error().message, "pip is needed to fetch acme-tiny==1.0, and is not installed");
  clients.install("python3", "echo '/usr/bin/python3: No module named pip'; exit 1");
  EXPECT_EQ(fetch(pip()).error().code, ErrorCode::kNotFound);
}

TEST_F(PackageSource, ARegistrysRefusalIsPassedOnInOneLine) {
  clients.install("mvn",
                  "printf '\\033[31m[ERROR]\\033[m Could not find artifact\\n[ERROR] Re-run with -e\\n'; exit 1");
  EXPECT_EQ(fetch(maven()).error().message,
            "'mvn' cannot bring org.acme:tiny:1.0 (exit code 1): [ERROR] Could not find artifact");
  clients.install("mvn", "exit 0");
  EXPECT_EQ(fetch(maven()).error().message, "org.acme:tiny:1.0: the client brought no .jar file");
  clients.install("mvn", "echo not a zip > \"$out/tiny.jar\"");
  EXPECT_EQ(fetch(maven()).error().code, ErrorCode::kBadInput);
}

TEST_F(PackageSource, AClientThatHangsIsStopped) {
  clients.install("mvn", "sleep 30");
  options.package_timeout = std::chrono::milliseconds(200);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_NE(fetch(maven()).error().message.find("did not end within"), std::string::npos);
  options.package_timeout = std::chrono::seconds(20);
  options.observer.cancelled = [&] {
    return std::chrono::steady_clock::now() - before > std::chrono::milliseconds(500);
  };
  EXPECT_EQ(fetch(maven()).error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
}

TEST_F(PackageSource, CoordinatesThatAreNoneNeverReachAClient) {
  clients.install("mvn", copy_to("tiny-1.0.jar"));
  for (const char* bad : {"", "tiny", "-x:y:z", "a:b:c d", "a:b:c;d", "a:b:../c", "a:b"}) {
    PackageSpec package = maven();
    package.coordinates = bad;
    EXPECT_EQ(fetch(package).error().code, ErrorCode::kUsage) << bad;
  }
  PackageSpec package = pip();
  package.coordinates = "acme-tiny";
  EXPECT_EQ(fetch(package).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists(clients.log()));
}

}  // namespace
}  // namespace narthex
