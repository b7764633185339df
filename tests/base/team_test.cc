// The team: every chunk once, whatever the size, from many callers, nested, and asleep when idle.
#include "base/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <numeric>

namespace narthex {
namespace {

TEST(Team, EveryItemOnceInChunksOfTheGrain) {
  for (const int threads : {1, 2, 3, 8}) {
    Team team(threads);
    for (const std::size_t n : {0U, 1U, 2U, 7U, 64U, 1000U})
      for (const std::size_t grain : {0U, 1U, 3U, 64U, 5000U}) {
        std::vector<std::atomic<int>> seen(n);
        std::atomic<bool> bounds_ok{true};
        team.parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
          const std::size_t g = grain == 0 ? 1 : grain;
          if (begin % g != 0 || end != std::min(n, begin + g)) bounds_ok = false;
          for (std::size_t i = begin; i < end; i++) seen[i]++;
        });
        EXPECT_TRUE(bounds_ok) << threads << " threads, " << n << " items, grain " << grain;
        for (std::size_t i = 0; i < n; i++) ASSERT_EQ(seen[i], 1) << threads << " " << n << " " << grain << " " << i;
      }
  }
}

TEST(Team, SizesOutOfRangeBecomeSensible) {
  EXPECT_EQ(Team(0).size(), 1);
  EXPECT_EQ(Team(-5).size(), 1);
  EXPECT_EQ(Team(1 << 20).size(), 1024);  // no thread is made before the first call
}

TEST(Team, HugeRangesDoNotOverflow) {
  Team team(3);
  std::atomic<std::size_t> chunks{0};
  const std::size_t n = SIZE_MAX;
  team.parallel_for(n, n / 5, [&](std::size_t begin, std::size_t end) {
    EXPECT_LT(begin, end);
    chunks++;
  });
  EXPECT_EQ(chunks, 5U);  // SIZE_MAX is a multiple of 5
}

TEST(Team, ManyCallersShareIt) {
  Team team(4);
  std::atomic<std::size_t> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; c++) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; i++) {
        std::vector<int> mine(97, 0);  // written by other threads, read by this one after the call
        team.parallel_for(97, 10, [&](std::size_t begin, std::size_t end) {
          for (std::size_t k = begin; k < end; k++) mine[k] = 1;
        });
        total += static_cast<std::size_t>(std::accumulate(mine.begin(), mine.end(), 0));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 6U * 200 * 97);
}

TEST(Team, ManyShortJobsInARow) {
  Team team(3);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < 5000; i++) {
    std::size_t parts[3] = {};
    team.parallel_for(3, 1, [&](std::size_t begin, std::size_t) { parts[begin] = i; });
    sum += parts[0] + parts[1] + parts[2];
  }
  EXPECT_EQ(sum, 3U * 5000 * 4999 / 2);
}

TEST(Team, NestedCallsRunInTheirThread) {
  Team team(4), other(4);
  std::atomic<int> count{0}, elsewhere{0};
  team.parallel_for(8, 1, [&](std::size_t, std::size_t) {
    const auto me = std::this_thread::get_id();
    for (Team* inner : {&team, &other}) {
      inner->parallel_for(5, 1, [&](std::size_t, std::size_t) {
        count++;
        if (std::this_thread::get_id() != me) elsewhere++;
      });
    }
  });
  EXPECT_EQ(count, 80);
  EXPECT_EQ(elsewhere, 0);
}

// A worker that found no memory used to end the process, whatever the caller would have done about it.
TEST(Team, WhatAChunkThrowsReachesTheCallerAndTheTeamGoesOn) {
  for (const int threads : {1, 2, 8}) {
    Team team(threads);
    for (const std::size_t bad : {0U, 63U}) {
      const auto fail_at = [&](std::size_t begin, std::size_t) {
        if (begin == bad) throw std::bad_alloc();
      };
      EXPECT_THROW(team.parallel_for(64, 1, fail_at), std::bad_alloc) << threads << " threads, chunk " << bad;
      std::atomic<std::size_t> sum{0};
      team.parallel_for(64, 1, [&](std::size_t begin, std::size_t) { sum += begin; });
      EXPECT_EQ(sum, 64U * 63U / 2) << threads << " threads, after chunk " << bad;
    }
  }
}

TEST(Team, IdleWorkersUseNoProcessor) {
  Team team(4);
  std::atomic<int> count{0};
  team.parallel_for(64, 1, [&](std::size_t, std::size_t) { count++; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // past the spinning
  const auto cpu = [] {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double before = cpu();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu() - before, 0.02);
}

TEST(Team, AForkedChildWorksAlone) {
  Team team(3);
  std::atomic<int> count{0};
  team.parallel_for(10, 1, [&](std::size_t, std::size_t) { count++; });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> in_child{0};
    team.parallel_for(10, 1, [&](std::size_t, std::size_t) { in_child++; });
    _exit(in_child == 10 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(Team, TurnsNeverRunMoreThreadsThanTheTeamHas) {
  Team team(3);
  std::atomic<int> running{0}, most{0}, whole{0}, done{0};
  const auto busy_chunk = [&](std::size_t, std::size_t) {
    const int now = ++running;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    --running;
    ++done;
  };
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; c++) {
    callers.emplace_back([&] {
      for (int i = 0; i < 20; i++) {
        const Team::Turn turn(team);
        if (turn.whole_team()) ++whole;
        team.parallel_for(6, 1, busy_chunk);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 8 * 20 * 6);
  EXPECT_LE(most, 3);
  EXPECT_GE(whole, 1);  // the last caller at the latest is alone
}

TEST(Team, ALoneCallerGetsTheWholeTeamAndTurnsNest) {
  Team team(2);
  for (int i = 0; i < 3; i++) {
    const Team::Turn outer(team);
    EXPECT_TRUE(outer.whole_team());
    const Team::Turn inner(team);  // would wait for ever if it counted
    EXPECT_TRUE(inner.whole_team());
    team.parallel_for(4, 1, [&](std::size_t, std::size_t) {
      const Team::Turn in_chunk(team);
      EXPECT_FALSE(in_chunk.whole_team());
    });
  }
}

TEST(Team, AForkedChildWaitsForNoTurn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a child that starts a thread after a fork with threads";
#endif
  Team team(2);
  auto turn = std::make_unique<Team::Turn>(team);
  std::thread waiter([&] { const Team::Turn later(team); });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::thread([&] { const Team::Turn mine(team); }).join();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  turn.reset();
  waiter.join();
}

TEST(Team, OneOfTheProcess) {
  Team& team = Team::process();
  EXPECT_GE(team.size(), 1);
  EXPECT_EQ(&team, &Team::process());
  EXPECT_TRUE(Team::set_process_size(team.size()));
  EXPECT_FALSE(Team::set_process_size(team.size() + 1));
}

}  // namespace
}  // namespace narthex
