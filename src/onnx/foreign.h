// Tells people what a file that is not ONNX seems to be, and what to do about it.
//
//   describe_foreign(bytes)   "is a git-lfs pointer …; run `git lfs pull` …", or empty when nothing is recognised
//
// Asked only after reading has failed: none of these signatures is a complete ONNX model.
// Covered by tests/onnx/corruption_test.cc.
#pragma once

#include <string>
#include <string_view>

namespace narthex::onnx {

std::string describe_foreign(std::string_view bytes);

// For error messages: quotes a name from the file, with invalid UTF-8 and control characters replaced, cut to 100
// bytes.
std::string show_name(std::string_view name);

}  // namespace narthex::onnx
