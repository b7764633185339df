// Log lines on stderr, so that results alone go to stdout.
//
//   log_info("loaded {} in {:.1f} ms", name, ms);
//
// NARTHEX_LOG=debug|info|warn|error|off chooses the least level shown (warn unless set); set_log_level() overrides it.
// Thread-safe. The logging library is seen by log.cc only: its headers cost seconds per file. Covered by
// tests/base/log_test.cc.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace narthex {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

std::optional<LogLevel> parse_log_level(std::string_view name);
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view message);

template <class... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kWarn, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace narthex
