#include "hub/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "hub/test_tools.h"

namespace narthex {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Subprocess, ArgumentsArriveAsTheyAreAndOutputComesBack) {
  const testing_hub::TemporaryDirectory directory;
  const auto result = run_program({"printf", "%s|", "a b", "$HOME; rm *", "\"'"}, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->output, "a b|$HOME; rm *|\"'|");
  EXPECT_EQ(result->exit_code, 0);
  const auto both = run_program({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}, {});
  EXPECT_EQ(both->output, "out\nerr\n");  // its input is empty, not ours
  EXPECT_EQ(both->exit_code, 3);
  EXPECT_EQ(run_program({"pwd"}, {.directory = directory.path()})->output, directory.path().string() + "\n");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}, {})->exit_code, 128 + SIGKILL);
}

TEST(Subprocess, OnlyTheEndOfMuchOutputIsKept) {
  const auto result = run_program({"sh", "-c", "yes line | head -n 100000; echo last"}, {});
  ASSERT_TRUE(result);
  EXPECT_LE(result->output.size(), 64U * 1024);
  EXPECT_TRUE(result->output.ends_with("line\nlast\n"));
}

TEST(Subprocess, AMissingProgramIsNotFound) {
  const auto result = run_program({"no-such-program-anywhere"}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
}

TEST(Subprocess, DeadlineAndCancelEndTheWholeGroup) {
  const testing_hub::TemporaryDirectory directory;
  // The child ignores SIGTERM and has a child of its own that would write later.
  const std::string script = "trap '' TERM; (sleep 1; touch late) & sleep 30";
  auto before = Clock::now();
  const auto late =
      run_program({"sh", "-c", script}, {.directory = directory.path(), .timeout = std::chrono::milliseconds(100)});
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("did not end within"), std::string::npos) << late.error().message;
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(6));
  before = Clock::now();
  const auto stopped = run_program({"sleep", "30"}, {.cancelled = [] { return true; }});
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(2));
}

TEST(Subprocess, AGrandchildThatKeepsTheOutputOpenDoesNotHoldUs) {
  const auto before = Clock::now();
  const auto result = run_program({"sh", "-c", "sleep 5 & echo done"}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "done\n");
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(3));
}

}  // namespace
}  // namespace narthex
