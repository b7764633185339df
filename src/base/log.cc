#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>

namespace narthex {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warn", "error", "off"};

LogLevel level_from_environment() {
  const char* name = std::getenv("NARTHEX_LOG");
  if (name == nullptr || *name == '\0') return LogLevel::kWarn;
  if (const auto level = parse_log_level(name)) return *level;
  std::fprintf(stderr, "NARTHEX_LOG is '%s', expected debug, info, warn, error or off; warn is used\n", name);
  return LogLevel::kWarn;
}

std::atomic<LogLevel>& least_level() {
  static std::atomic<LogLevel> level{level_from_environment()};
  return level;
}

spdlog::logger& logger() {
  // Never destroyed: threads may log while static objects go.
  static spdlog::logger& instance = [] -> spdlog::logger& {
    auto* made = new spdlog::logger("narthex", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    made->set_level(spdlog::level::trace);  // log_enabled() has decided already
    made->flush_on(spdlog::level::trace);
    return *made;
  }();
  return instance;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); i++)
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  return std::nullopt;
}

void set_log_level(LogLevel level) {
  least_level().store(level, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && level >= least_level().load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view message) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err, spdlog::level::off};
  logger().log(kLevels[static_cast<std::size_t>(level)], spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace narthex
