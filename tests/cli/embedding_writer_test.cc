#include "cli/embedding_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "base/file.h"
#include "base/json.h"

namespace narthex::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class EmbeddingWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    output_ = ::testing::TempDir() + "/writer_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* suffix : {"", ".part", ".part.job"}) fs::remove(output_ + suffix);
    info_.id = "m";
    info_.dim = 2;
  }
  Result<std::unique_ptr<EmbeddingWriter>> open(EmbedFormat format, const std::string& job = "job") {
    return EmbeddingWriter::open(format, output_, job, info_, "m");
  }
  static Embedding row(float a, float b) { return {{a, b}, 1, 3, false}; }
  std::string contents(const char* suffix = "") { return read_file(output_ + suffix, 1 << 20).value_or("missing"); }

  std::string output_;
  EmbedderInfo info_;
};

TEST_F(EmbeddingWriterTest, JsonHasTheContractsShape) {
  {
    auto writer = open(EmbedFormat::kJson);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE((*writer)->write(row(0.5f, -1)));
    ASSERT_TRUE((*writer)->write(row(1, 1e-8f)));
    EXPECT_FALSE(fs::exists(output_)) << "the result must not be there before it is whole";
    ASSERT_TRUE((*writer)->finish());
  }
  const auto parsed = parse_json(contents(), "output");
  ASSERT_TRUE(parsed) << contents();
  EXPECT_EQ(parsed->at("embedder").at("dim").to_number<int>(), 2);
  EXPECT_FALSE(parsed->at("embedder").at("semantic").as_bool());
  EXPECT_EQ(parsed->at("data").at(1).at("index").to_number<int>(), 1);
  EXPECT_EQ(parsed->at("data").at(0).at("embedding").at(1).to_number<double>(), -1.0);
  EXPECT_FALSE(fs::exists(output_ + ".part"));
  EXPECT_FALSE(fs::exists(output_ + ".part.job"));
}

TEST_F(EmbeddingWriterTest, AnInterruptedRunGoesOnAfterTheLastWholeRow) {
  for (const EmbedFormat format : {EmbedFormat::kJsonl, EmbedFormat::kNpy}) {
    SetUp();
    {
      auto writer = open(format);
      ASSERT_TRUE((*writer)->write(row(1, 2)));
      ASSERT_TRUE((*writer)->write(row(3, 4)));
    }
    std::ofstream(output_ + ".part", std::ios::app) << "to";  // a torn row, as a killed process leaves it
    auto writer = open(format);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_EQ((*writer)->rows_done(), 2u);
    ASSERT_TRUE((*writer)->write(row(5, 6)));
    ASSERT_TRUE((*writer)->finish());
    if (format == EmbedFormat::kJsonl) {
      EXPECT_EQ(contents(),
                "{\"index\":0,\"embedding\":[1,2],\"tokens\":3,\"truncated\":false}\n"
                "{\"index\":1,\"embedding\":[3,4],\"tokens\":3,\"truncated\":false}\n"
                "{\"index\":2,\"embedding\":[5,6],\"tokens\":3,\"truncated\":false}\n");
    } else {
      const std::string bytes = contents();
      ASSERT_EQ(bytes.size(), 128u + 3 * 2 * 4);
      EXPECT_THAT(bytes, HasSubstr("'shape': (3, 2)"));
      float last = 0;
      std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
      EXPECT_EQ(last, 6.0f);
    }
  }
}

TEST_F(EmbeddingWriterTest, WhatAnotherJobLeftIsNotMixedIn) {
  {
    auto writer = open(EmbedFormat::kJsonl, "job one");
    ASSERT_TRUE((*writer)->write(row(1, 2)));
  }
  EXPECT_THAT(open(EmbedFormat::kJsonl, "job two").error().message, HasSubstr("was left by another job (job one)"));
  EXPECT_EQ(contents(".part").size(), 59u) << "and nothing of it is lost";
}

TEST_F(EmbeddingWriterTest, AFullDiskIsAnErrorAndNotAResult) {
  // The kernel refuses to grow files past this limit, as it does on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  auto writer = open(EmbedFormat::kJsonl);
  ASSERT_TRUE(writer) << writer.error().message;
  const rlimit small{1024, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  bool written = true;
  for (int i = 0; i < 1000 && written; ++i) written = (*writer)->write(row(1, 2)) && (*writer)->flush();
  const bool finished = written && (*writer)->finish();
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_FALSE(finished);
  EXPECT_FALSE(fs::exists(output_));
}

// /dev/full never ends when it is read: this once hung.
TEST_F(EmbeddingWriterTest, APartThatIsADeviceIsRefused) {
  fs::create_symlink("/dev/full", output_ + ".part");
  EXPECT_THAT(open(EmbedFormat::kJsonl).error().message, HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace narthex::cli
