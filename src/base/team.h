// The threads that share one piece of work. One team per process, sized by active_threads(); models share it.
//
//   team.parallel_for(n_rows, 16, [&](std::size_t begin, std::size_t end) { ... });
//
// The items are cut into chunks of `grain` whose bounds depend on n and grain alone, and each chunk runs exactly once,
// so what is computed never depends on the number of threads. Each member owns a contiguous run of chunks (the same
// member the same run, which keeps its cache warm) and, when done, takes chunks that others have not begun. The caller
// takes part. A caller that finds the team busy, and a call from inside a chunk, run all chunks themselves. Who
// computes for longer takes a Turn first, so that many callers do not run more threads than there are cores. Workers
// are made by the first call that can use them, spin for about 50 us after work, then sleep. What `fn` throws
// reaches the caller. After
// fork() a child has no workers and runs everything itself. Covered by tests/base/team_test.cc.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace narthex {

class Team {
 public:
  // The team of the process. Never destroyed: workers may outlive static objects.
  static Team& process();
  // Before the first process(): its size. False, without effect, when the team exists with another size.
  static bool set_process_size(int n_threads);

  // n_threads counts the caller: 1 means no workers at all.
  explicit Team(int n_threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return n_threads_; }

  // A thread's leave to compute: at most size() threads have one, and they come in the order in which they asked. Who
  // finds nobody else gets the whole team; while others compute or wait, one core each, and parallel_for runs in the
  // thread itself. Within another turn of the same thread, in a chunk, and in a forked child it waits for nobody.
  class Turn {
   public:
    explicit Turn(Team& team);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool whole_team() const { return whole_team_; }

   private:
    Team& team_;
    int threads_ = 0;  // that this turn holds; 0: it is within another
    bool whole_team_ = false;
    bool was_alone_ = false;
  };

  // Calls fn(begin, end) for [0, grain), [grain, 2 grain) ... below n_items, and returns when all have returned.
  template <class F>
  void parallel_for(std::size_t n_items, std::size_t grain, F&& fn) {
    run({n_items, grain == 0 ? 1 : grain, const_cast<void*>(static_cast<const void*>(&fn)),
         [](void* f, std::size_t begin, std::size_t end) {
           (*static_cast<std::remove_reference_t<F>*>(f))(begin, end);
         }});
  }

 private:
  struct Job {
    std::size_t n_items = 0;
    std::size_t grain = 1;
    void* fn = nullptr;
    void (*call)(void* fn, std::size_t begin, std::size_t end) = nullptr;
  };
  struct alignas(64) Slice {
    std::atomic<std::size_t> next{0};  // first chunk nobody has taken
    std::size_t end = 0;
  };

  void run(const Job& job);
  void start_workers();
  void work(int member);
  void run_chunks(int member);
  bool join_job();
  void leave_job();

  const int n_threads_;
  std::unique_ptr<Slice[]> slices_;  // one per member
  std::vector<std::thread> workers_;
  Job job_;
  bool started_ = false;
  std::mutex turns_mutex_;
  std::condition_variable turns_changed_;
  std::uint64_t next_turn_ = 0, serving_turn_ = 0;  // tickets: whose turn it will be, is next
  int free_threads_ = 0;
  const int process_id_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> busy_{false};                    // held by the caller whose job it is
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // counts jobs; workers wait on it
  alignas(64) std::atomic<std::uint32_t> gate_{0};   // kOpen while a job may be joined, plus the workers inside
};

}  // namespace narthex
