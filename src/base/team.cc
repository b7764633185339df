#include "base/team.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>

#include "base/cpu.h"

namespace narthex {
namespace {

constexpr std::uint32_t kOpen = 0x80000000U;
// Long enough to catch the next layer's product (a few microseconds away), short against a scheduler's time slice.
constexpr std::chrono::microseconds kSpin{50};

thread_local bool inside_chunk = false;  // or in a turn without the team: parallel_for runs in this thread
thread_local bool inside_turn = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until done(value) holds for the atomic's value and returns that value: spinning first, then asleep.
template <class Done>
std::uint32_t wait_until(const std::atomic<std::uint32_t>& atomic, Done done) {
  const auto limit = std::chrono::steady_clock::now() + kSpin;
  std::uint32_t value = atomic.load(std::memory_order_acquire);
  for (int turn = 1; !done(value); turn++) {
    relax();
    if (turn % 64 == 0 && std::chrono::steady_clock::now() > limit) atomic.wait(value, std::memory_order_acquire);
    value = atomic.load(std::memory_order_acquire);
  }
  return value;
}

// A chunk that runs out of memory in a worker must not end the process: the first exception is kept for the caller, and
// chunks that have not begun are left out.
struct Guarded {
  void* fn;
  void (*call)(void* fn, std::size_t begin, std::size_t end);
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // written by whoever sets `failed`, read when all have left

  static void run(void* self, std::size_t begin, std::size_t end) {
    auto& job = *static_cast<Guarded*>(self);
    if (job.failed.load(std::memory_order_relaxed)) return;
    try {
      job.call(job.fn, begin, end);
    } catch (...) {
      if (!job.failed.exchange(true, std::memory_order_relaxed)) job.error = std::current_exception();
    }
  }
};

std::mutex process_mutex;
int process_size = 0;          // 0: not asked for
Team* process_team = nullptr;  // kept for ever

}  // namespace

Team& Team::process() {
  static Team& team = []() -> Team& {
    const std::scoped_lock lock(process_mutex);
    process_team = new Team(process_size > 0 ? process_size : active_threads());
    return *process_team;
  }();
  return team;
}

bool Team::set_process_size(int n_threads) {
  const std::scoped_lock lock(process_mutex);
  if (process_team != nullptr) return process_team->size() == n_threads;
  process_size = n_threads;
  return true;
}

Team::Team(int n_threads)
    : n_threads_(std::clamp(n_threads, 1, kMaxThreads)),
      slices_(new Slice[static_cast<std::size_t>(n_threads_)]),
      free_threads_(n_threads_),
      process_id_(getpid()) {}

Team::~Team() {
  stopping_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Team::Turn::Turn(Team& team) : team_(team), was_alone_(inside_chunk) {
  // A forked child may have inherited the mutex locked and turns that nobody will end.
  if (inside_chunk || inside_turn || getpid() != team.process_id_) {
    whole_team_ = !inside_chunk;
    return;
  }
  std::unique_lock lock(team.turns_mutex_);
  const std::uint64_t ticket = team.next_turn_++;
  team.turns_changed_.wait(lock, [&] { return team.serving_turn_ == ticket && team.free_threads_ > 0; });
  ++team.serving_turn_;
  whole_team_ = team.free_threads_ == team.n_threads_ && team.serving_turn_ == team.next_turn_;
  threads_ = whole_team_ ? team.n_threads_ : 1;
  team.free_threads_ -= threads_;
  inside_turn = true;
  inside_chunk = !whole_team_;
  if (team.free_threads_ > 0) team.turns_changed_.notify_all();
}

Team::Turn::~Turn() {
  if (threads_ == 0) return;
  inside_turn = false;
  inside_chunk = was_alone_;
  const std::scoped_lock lock(team_.turns_mutex_);
  team_.free_threads_ += threads_;
  if (team_.serving_turn_ != team_.next_turn_) team_.turns_changed_.notify_all();
}

void Team::run(const Job& job) {
  const std::size_t n_chunks = job.n_items / job.grain + (job.n_items % job.grain != 0 ? 1 : 0);
  // busy_ comes last: what precedes it must not take the team from another caller.
  if (n_chunks <= 1 || n_threads_ == 1 || inside_chunk || busy_.exchange(true, std::memory_order_acquire)) {
    for (std::size_t begin = 0; begin < job.n_items; begin += std::min(job.grain, job.n_items - begin))
      job.call(job.fn, begin, begin + std::min(job.grain, job.n_items - begin));
    return;
  }
  start_workers();
  Guarded guarded{job.fn, job.call, {}, {}};
  job_ = {job.n_items, job.grain, &guarded, &Guarded::run};
  const auto members = static_cast<std::size_t>(n_threads_);
  for (std::size_t i = 0; i < members; i++) {
    // n_chunks / members each, the first ones one more; without products that could overflow.
    const std::size_t each = n_chunks / members, more = n_chunks % members;
    slices_[i].next.store(i * each + std::min(i, more), std::memory_order_relaxed);
    slices_[i].end = (i + 1) * each + std::min(i + 1, more);
  }
  gate_.store(kOpen, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  run_chunks(0);
  // A worker that has not arrived by now finds the gate closed: all chunks are taken, so nobody need wait for it.
  if (gate_.fetch_and(~kOpen, std::memory_order_acq_rel) != kOpen)
    wait_until(gate_, [](std::uint32_t gate) { return gate == 0; });
  busy_.store(false, std::memory_order_release);
  if (guarded.error) std::rethrow_exception(std::move(guarded.error));
}

void Team::start_workers() {
  if (started_) return;
  started_ = true;
  try {
    workers_.reserve(static_cast<std::size_t>(n_threads_ - 1));
    for (int member = 1; member < n_threads_; member++) workers_.emplace_back([this, member] { work(member); });
  } catch (const std::exception&) {
    return;  // a process limit, or no memory: those that exist and the caller do the work
  }
}

void Team::work(int member) {
  inside_chunk = true;  // a worker's own calls run serially
  std::uint32_t seen = 0;
  for (;;) {
    seen = wait_until(epoch_, [&](std::uint32_t epoch) { return epoch != seen; });
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (!join_job()) continue;
    run_chunks(member);
    leave_job();
  }
}

bool Team::join_job() {
  std::uint32_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate & kOpen) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
  }
  return false;
}

void Team::leave_job() {
  if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_one();
}

void Team::run_chunks(int member) {
  const bool outer = inside_chunk;
  inside_chunk = true;
  for (int i = 0; i < n_threads_; i++) {
    Slice& slice = slices_[static_cast<std::size_t>((member + i) % n_threads_)];
    for (;;) {
      const std::size_t chunk = slice.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= slice.end) break;
      const std::size_t begin = chunk * job_.grain;
      job_.call(job_.fn, begin, begin + std::min(job_.grain, job_.n_items - begin));
    }
  }
  inside_chunk = outer;
}

}  // namespace narthex
