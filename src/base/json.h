// JSON, strict and bounded, on Boost.JSON. The only place that knows its parser options.
//
//   parse_json(text, "tokenizer.json")   an Error names the source, the byte and the reason
//
// Lone surrogate escapes, trailing text, duplicate roots and depth over 64 are errors; integers over 64 bits become
// doubles.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "base/result.h"

namespace narthex {

namespace json = boost::json;

Result<json::value> parse_json(std::string_view text, std::string_view source);

// Appends `text` as a JSON string with quotes; `text` must be UTF-8.
void append_json_string(std::string& out, std::string_view text);
// Appends the shortest decimal that reads back as the same float32; NaN and infinities become null.
void append_json_float(std::string& out, float value);

}  // namespace narthex
