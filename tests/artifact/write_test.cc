// Who writes, where it cannot be written, and what is read of the file.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "artifact/artifact_tools.h"

namespace narthex {
namespace {

namespace fs = std::filesystem;
using namespace testing_artifact;

// Exit code of `body` in a process of its own.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(ArtifactWrite, ProcessesThatWriteAtOnceLeaveOneWholeFile) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a";
  const PackedPlan plans[] = {random_plan(4), random_plan(5)};
  const std::vector<float> want[] = {run(plans[0]), run(plans[1])};
  ASSERT_TRUE(write_artifact(path, {kKey, &plans[0], {}, {{"writer", "0"}}}));
  std::vector<pid_t> children;
  for (std::size_t w = 0; w < 2; ++w) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int i = 0; i < 40; ++i)
      if (!write_artifact(path, {kKey, &plans[w], {}, {{"writer", std::to_string(w)}}})) ::_exit(1);
    ::_exit(0);
  }
  for (int i = 0; i < 100; ++i) {
    const auto loaded = load_artifact(path, kKey);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const std::size_t writer = loaded->metadata.at("writer") == "1" ? 1 : 0;
    ASSERT_TRUE(same_bytes(run(*loaded->plan), want[writer]));
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(directory.n_files(), 1U);
}

TEST(ArtifactWrite, WhereNothingCanBeWrittenIsAnError) {
  const TemporaryDirectory directory;
  write_bytes(directory / "file", "");
  fs::create_directory(directory / "folder");
  for (const fs::path& path : {directory / "file/sub/a", directory / "folder", fs::path("/proc/self/fdinfo/a")}) {
    const auto written = write_artifact(path, {kKey, nullptr, {}, {}});
    ASSERT_FALSE(written) << path;
    EXPECT_EQ(written.error().code, ErrorCode::kIo);
    EXPECT_NE(written.error().message.find(": cannot "), std::string::npos) << written.error().message;
  }
  EXPECT_EQ(directory.n_files(), 2U);
}

TEST(ArtifactWrite, AFullDiskLeavesTheOldFileAndNoOther) {
  const TemporaryDirectory directory;
  const PackedPlan old = random_plan(4), larger = plan_of({}, 1, Precision::kFp32);
  ASSERT_TRUE(write_artifact(directory / "a", {kKey, &old, {}, {}}));
  const std::string before = read_bytes(directory / "a");
  for (const rlim_t limit : {rlim_t{0}, rlim_t{100}, rlim_t{5000}, rlim_t{100'000}}) {
    const int code = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);  // then write() fails, as on a full disk
      const rlimit most{limit, limit};
      if (::setrlimit(RLIMIT_FSIZE, &most) != 0) return 2;
      const auto written = write_artifact(directory / "a", {kKey, &larger, {}, {}});
      return !written && written.error().message.find("cannot write") != std::string::npos ? 0 : 1;
    });
    EXPECT_EQ(code, 0) << limit;
    EXPECT_EQ(read_bytes(directory / "a"), before) << limit;
    EXPECT_EQ(directory.n_files(), 1U) << limit;
  }
}

TEST(ArtifactWrite, WhatKilledWritersLeftIsRemovedAfterAnHour) {
  const TemporaryDirectory directory;
  for (const char* name : {"a.abcdef", "a.ABC123", "a.narthex", "b.abcdef", "a.abcdefg"}) {
    write_bytes(directory / name, "");
    fs::last_write_time(directory / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  write_bytes(directory / "a.newone", "");
  ASSERT_TRUE(write_artifact(directory / "a", {kKey, nullptr, {}, {}}));
  EXPECT_FALSE(fs::exists(directory / "a.abcdef"));
  EXPECT_FALSE(fs::exists(directory / "a.ABC123"));
  for (const char* name : {"a.narthex", "b.abcdef", "a.abcdefg", "a.newone", "a"})
    EXPECT_TRUE(fs::exists(directory / name)) << name;
}

TEST(ArtifactWrite, AKeyIsCheckedAndSoIsThePlan) {
  const TemporaryDirectory directory;
  EXPECT_EQ(write_artifact(directory / "a", {"short", nullptr, {}, {}}).error().code, ErrorCode::kUsage);
  PackedPlan plan = random_plan(0);
  plan.output.width += 1000;
  EXPECT_FALSE(write_artifact(directory / "a", {kKey, &plan, {}, {}}));
  EXPECT_EQ(directory.n_files(), 0U);
}

// Bytes of this process's mappings of the file that are in memory.
std::size_t resident_bytes(const fs::path& path) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  std::size_t sum = 0;
  bool ours = false;
  while (std::getline(maps, line)) {
    if (line.find('-') < line.find(' ') && line.find(':') > line.find(' ')) ours = line.ends_with(path.string());
    if (ours && line.starts_with("Rss:")) sum += std::stoul(line.substr(4)) * 1024;
  }
  return sum;
}

TEST(ArtifactTables, AreNotReadAtLoadAndCanBeChecked) {
  const TemporaryDirectory directory;
  EncoderShape shape;
  shape.vocabulary = 40'000;
  const PackedPlan plan = plan_of(shape, 1, Precision::kFp32);
  const std::size_t table = shape.vocabulary * shape.hidden() * sizeof(float);
  ASSERT_GE(table, 8 * kTableBytes);
  const fs::path path = directory / "a";
  ASSERT_TRUE(write_artifact(path, {kKey, &plan, {}, {}}));
  const auto loaded = load_artifact(path, kKey);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->tables.size(), 1U);
  EXPECT_EQ(loaded->tables[0].bytes.size(), table);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded->tables[0].bytes.data()) % 4096, 0U);
  EXPECT_GE(resident_bytes(path), loaded->file_bytes - table - 4096);
  EXPECT_LT(resident_bytes(path), loaded->file_bytes - table + kTableBytes);
  EXPECT_TRUE(same_bytes(run(*loaded->plan), run(plan)));
  EXPECT_LT(resident_bytes(path), loaded->file_bytes - table + kTableBytes);
  EXPECT_TRUE(loaded->check_tables("a"));
  EXPECT_GE(resident_bytes(path), table);

  // A flipped bit in a row changes that row's numbers and is found when somebody asks.
  std::string bytes = read_bytes(path);
  bytes[bytes.size() - table + 64 * 77] ^= 1;
  write_bytes(directory / "b", bytes);
  const auto damaged = load_artifact(directory / "b", kKey);
  ASSERT_TRUE(damaged) << damaged.error().message;
  EXPECT_TRUE(same_bytes(run(*damaged->plan), run(plan)));
  EXPECT_FALSE(damaged->check_tables("b"));
}

}  // namespace
}  // namespace narthex
