// Texts on which int8 is calibrated and every precision's loss is measured: questions, passages, code, tables, chat and
// several languages, 3 to about 200 tokens. Always the same, so that a compiled model is the same everywhere.
#pragma once

#include <span>
#include <string_view>

namespace narthex {

std::span<const std::string_view> calibration_texts();

}  // namespace narthex
