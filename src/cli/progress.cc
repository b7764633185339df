#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace narthex::cli {

Progress::Progress(std::string label) : label_(std::move(label)), terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (!drawn_) return;
  draw();
  std::fputc('\n', stderr);
}

void Progress::update(std::uint64_t done, std::uint64_t total, const std::string& note) {
  done_ = done;
  total_ = total;
  note_ = note;
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  draw();
}

void Progress::draw() {
  constexpr int kWidth = 28;
  std::string line = fmt::format("\r\x1b[K{} ", label_);
  if (total_ > 0) {
    const auto filled = static_cast<int>(static_cast<double>(kWidth) * static_cast<double>(std::min(done_, total_)) /
                                         static_cast<double>(total_));
    for (int i = 0; i < kWidth; ++i) line += i < filled ? "█" : "░";
    line += fmt::format(" {:3}% ", std::min<std::uint64_t>(100, done_ * 100 / total_));
  }
  line += note_;
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

std::string bytes_string(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.1f} GB", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f} MB", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f} kB", value / 1e3);
  return fmt::format("{} B", bytes);
}

}  // namespace narthex::cli
