#include "base/log.h"

#include <gtest/gtest.h>

namespace narthex {
namespace {

TEST(Log, LevelsByName) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("off"), LogLevel::kOff);
  EXPECT_EQ(parse_log_level("WARN"), std::nullopt);
  EXPECT_EQ(parse_log_level(""), std::nullopt);
}

TEST(Log, OnlyTheLevelsAskedForGoToStderr) {
  set_log_level(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  log_debug("hidden {}", 1);
  log_info("loaded {} in {:.1f} ms", "bge", 2.25);
  log_error("braces {} stay {}", "{}", "{x}");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_NE(text.find(" info loaded bge in 2.2 ms\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" error braces {} stay {x}\n"), std::string::npos) << text;

  set_log_level(LogLevel::kOff);
  EXPECT_FALSE(log_enabled(LogLevel::kError));
  EXPECT_FALSE(log_enabled(LogLevel::kOff));
  testing::internal::CaptureStderr();
  log_error("silent");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  set_log_level(LogLevel::kWarn);
}

}  // namespace
}  // namespace narthex
