// Waiting between attempts: bounded exponential back-off, and the server's own Retry-After.
//
//   Retry retry(settings, observer);
//   NX_TRY_VOID(retry.wait(error, response.header("retry-after")));   an error when the attempts are spent
//
// Covered by tests/hub/hub_source_test.cc.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "hub/hub_settings.h"
#include "hub/observer.h"

namespace narthex {

// The seconds of a Retry-After header (a number or an HTTP date), or of `t=` in the hub's RateLimit header.
std::optional<std::chrono::seconds> retry_after(const HttpResponse& response,
                                                std::chrono::system_clock::time_point now);

class Retry {
 public:
  Retry(const HubSettings& settings, const PullObserver& observer) : settings_(settings), observer_(observer) {}

  // Sleeps before the next attempt. Gives `why` back when attempts are spent, kCancelled when the user stops.
  Result<void> wait(const Error& why, std::optional<std::chrono::seconds> asked);
  // An attempt that made progress: count from the start again.
  void reset() { attempts_ = 0; }

 private:
  const HubSettings& settings_;
  const PullObserver& observer_;
  int attempts_ = 0;
  int total_ = 0;
};

}  // namespace narthex
