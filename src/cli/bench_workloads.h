// The texts that benchmarks run on, the same here and in bench/workloads.py.
//
//   standard_workloads()   a query, texts of about 128 and 512 tokens, batches of 32 and 256 texts
//   read_workload(file)    the texts of a file instead, one a line
//
// Both sides draw words from one list with the generator of numpy's RandomState (MT19937, masked rejection), so that a
// figure of `narthex bench engine` and one of a Python library are about the same bytes. Covered by
// tests/cli/bench_test.cc, which holds texts that numpy made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace narthex::cli {

struct Workload {
  std::string name;
  std::vector<std::string> texts;
};

std::vector<Workload> standard_workloads();
Result<Workload> read_workload(const std::string& path);

// n_words words; `seed` + n_words seeds the generator.
std::string made_text(std::size_t n_words, std::uint32_t seed);

// At least one time, in ascending order; of an even number the mean of the middle two.
double median_of_sorted(std::span<const double> times);

}  // namespace narthex::cli
