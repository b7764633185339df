// Cold start: what a person waits from `narthex embed` to the first vector.
//
//   bench_cold(arguments)   runs this program again and again and prints the fastest and the median
//
// A run is a new process with `embed TEXT`; its clock stops when the last byte of the vector has come through the pipe.
// One run before the measured ones fills the page cache and makes the artifact. Covered by tests/cli/bench_test.cc.
#pragma once

#include <string>

#include "cli/model_options.h"

namespace narthex::cli {

struct ColdArguments {
  ModelArguments model;
  std::string text = "how do I reset my password on the portal";
  int runs = 20;
  std::string format = "text";
};

Result<void> bench_cold(const ColdArguments& arguments);

}  // namespace narthex::cli
