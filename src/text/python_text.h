// CPython 3.11's str.lower() and str.split(), for the hashing embedder, whose vectors must equal the Python version's.
//
//   python_lower("ΟΔΟΣ")     "οδος": sigma depends on the whole string, and U+0130 becomes two code points
//   python_split(" a\tb ")   {"a", "b"}
//
// Precondition of both: valid UTF-8. Covered by tests/text/python_text_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace narthex {

std::string python_lower(std::string_view text);
// The pieces point into `text`.
std::vector<std::string_view> python_split(std::string_view text);

}  // namespace narthex
