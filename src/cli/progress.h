// A progress bar on standard error, drawn only when that is a terminal and at most ten times a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace narthex::cli {

class Progress {
 public:
  explicit Progress(std::string label);
  ~Progress();  // leaves the finished line on the screen
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `total` 0: not known. `note` stands behind the bar ("1,204 texts, 310/s").
  void update(std::uint64_t done, std::uint64_t total, const std::string& note);

 private:
  void draw();

  std::string label_;
  std::string note_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// 12345678 → "12.3 MB"
std::string bytes_string(std::uint64_t bytes);

}  // namespace narthex::cli
