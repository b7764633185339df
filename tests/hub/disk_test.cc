#include "hub/disk.h"

#include <gtest/gtest.h>

#include <thread>

#include "hub/test_tools.h"

namespace narthex {
namespace {

using testing_hub::read_text;
using testing_hub::TemporaryDirectory;
using testing_hub::write_text;

TEST(Disk, ALockWaitsSaysSoOnceAndCanBeCancelled) {
  const TemporaryDirectory directory;
  PullObserver observer;
  int n_messages = 0;
  observer.on_message = [&](std::string_view line) {
    ++n_messages;
    EXPECT_EQ(line, "bge: another process is fetching it; waiting");
  };
  auto held = FileLock::take(directory / "a/b.lock", "bge", observer);
  ASSERT_TRUE(held) << held.error().message;
  int n_looks = 0;
  observer.cancelled = [&] { return ++n_looks > 3; };
  const auto refused = FileLock::take(directory / "a/b.lock", "bge", observer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(n_messages, 1);
  observer.cancelled = nullptr;
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const FileLock gone = std::move(*held);
  });
  EXPECT_TRUE(FileLock::take(directory / "a/b.lock", "bge", observer));
  release.join();
}

TEST(Disk, PartialFilesGrowAndRefuseLinks) {
  const TemporaryDirectory directory;
  {
    PartialFile file = PartialFile::open(directory / "f").value();
    ASSERT_TRUE(file.append("one"));
  }
  PartialFile file = PartialFile::open(directory / "f").value();
  EXPECT_EQ(file.size(), 3U);
  ASSERT_TRUE(file.append("two"));
  ASSERT_TRUE(file.sync());
  EXPECT_EQ(read_text(directory / "f"), "onetwo");
  ASSERT_TRUE(file.truncate());
  ASSERT_TRUE(file.append("x"));
  EXPECT_EQ(read_text(directory / "f"), "x");
  std::filesystem::create_symlink("f", directory / "link");
  EXPECT_FALSE(PartialFile::open(directory / "link"));
}

TEST(Disk, PlacedFilesOutliveTheirSourceEvenThroughALink) {
  const TemporaryDirectory directory;
  write_text(directory / "blob", "content");
  std::filesystem::create_symlink("blob", directory / "link");
  write_text(directory / "to", "old");
  ASSERT_TRUE(place_file(directory / "link", directory / "to"));
  EXPECT_FALSE(std::filesystem::is_symlink(directory / "to"));
  EXPECT_EQ(std::filesystem::hard_link_count(directory / "to"), 2U);  // the bytes are there once
  std::filesystem::remove(directory / "blob");
  EXPECT_EQ(read_text(directory / "to"), "content");
  EXPECT_FALSE(place_file(directory / "link", directory / "other"));
}

}  // namespace
}  // namespace narthex
