// Tokenizer speed on one core: megabytes of text and tokens a second.
//
//   bench_tokenizer(arguments)   encodes every text of a file, again and again, and prints the median round
//
// Covered by tests/cli/bench_test.cc.
#pragma once

#include <string>

#include "base/result.h"

namespace narthex::cli {

struct TokenizerArguments {
  std::string model;
  std::string texts;  // a file; empty: the largest standard workload, whose few words flatter any cache of words
  double seconds = 3;
  std::string format = "text";
};

Result<void> bench_tokenizer(const TokenizerArguments& arguments);

}  // namespace narthex::cli
