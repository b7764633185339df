#include "hub/retry.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

namespace narthex {
namespace {

// However often bytes arrive in between: a server that sends one at a time must not hold us forever.
constexpr int kMaxTotalAttempts = 200;
constexpr std::chrono::milliseconds kPoll{50};

std::optional<long long> leading_number(std::string_view text) {
  long long value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || value < 0) return std::nullopt;
  return value;
}

std::string_view month_names() {
  return "JanFebMarAprMayJunJulAugSepOctNovDec";
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the only form that servers may still send; strptime would depend on the locale.
std::optional<std::time_t> parse_http_date(const std::string& text) {
  std::tm at{};
  char month[4] = {};
  if (std::sscanf(text.c_str(), "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &at.tm_mday, month, &at.tm_year, &at.tm_hour,
                  &at.tm_min, &at.tm_sec) != 6) {
    return std::nullopt;
  }
  const auto found = month_names().find(month);
  if (found == std::string_view::npos || found % 3 != 0) return std::nullopt;
  at.tm_mon = static_cast<int>(found / 3);
  at.tm_year -= 1900;
  return ::timegm(&at);
}

}  // namespace

std::optional<std::chrono::seconds> retry_after(const HttpResponse& response,
                                                std::chrono::system_clock::time_point now) {
  const std::string text = response.header("retry-after");
  if (const auto number = leading_number(text)) return std::chrono::seconds(*number);
  if (const auto date = parse_http_date(text)) {
    return std::chrono::seconds(std::max<long long>(0, *date - std::chrono::system_clock::to_time_t(now)));
  }
  const std::string limit = response.header("ratelimit");  // "resolvers";r=0;t=55
  if (const auto at = limit.find(";t="); at != std::string::npos) {
    if (const auto number = leading_number(std::string_view(limit).substr(at + 3)))
      return std::chrono::seconds(*number);
  }
  return std::nullopt;
}

Result<void> Retry::wait(const Error& why, std::optional<std::chrono::seconds> asked) {
  if (++attempts_ >= settings_.max_attempts || ++total_ >= kMaxTotalAttempts) return std::unexpected(why);
  auto pause = settings_.first_backoff * (1LL << std::min(attempts_ - 1, 20));
  pause = std::min<std::chrono::milliseconds>(pause, settings_.max_backoff);
  if (asked) {
    if (*asked > settings_.max_retry_after) {
      return fail(why.code, "{}; the server asks to wait {} s, which is too long", why.message, asked->count());
    }
    pause = *asked;
  }
  observer_.message(
      fmt::format("{}; trying again in {:.1f} s", why.message, static_cast<double>(pause.count()) / 1000));
  const auto until = std::chrono::steady_clock::now() + pause;
  while (std::chrono::steady_clock::now() < until) {
    if (observer_.is_cancelled()) return fail(ErrorCode::kCancelled, "cancelled while waiting to try again");
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    std::this_thread::sleep_for(std::clamp(left, std::chrono::milliseconds(1), kPoll));
  }
  return {};
}

}  // namespace narthex
