// What a compiled model runs and what it costs, as `inspect` and `compile` show it.
//
// Covered by tests/cli/compile_test.cc.
#pragma once

#include <map>
#include <string>

#include "models/compile_encoder.h"

namespace narthex::cli {

// "48 linear, 25 norm": most frequent first.
std::string ops_line(const std::map<std::string, std::size_t>& counts);
// The same as a JSON object.
void append_counts(std::string& out, const std::map<std::string, std::size_t>& counts);

// Lines under the heading "plan".
void print_plan(const CompiledEncoder& compiled);
// Members of a JSON object that has members before: "recognised", then "plan", null with "refusal" where there is none.
void append_plan(std::string& out, const CompiledEncoder& compiled);

}  // namespace narthex::cli
