#include "base/json.h"

#include <boost/json/src.hpp>
#include <charconv>
#include <cmath>

namespace narthex {

Result<json::value> parse_json(std::string_view text, std::string_view source) {
  json::parse_options options;
  options.max_depth = 64;
  json::parser parser({}, options);
  boost::system::error_code code;
  const std::size_t used = parser.write(text.data(), text.size(), code);
  if (code) return fail(ErrorCode::kBadInput, "{}: not valid JSON near byte {}: {}", source, used, code.message());
  return parser.release();
}

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20) {
          out += "\\u00";
          out += kHex[byte >> 4];
          out += kHex[byte & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_json_float(std::string& out, float value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[32];
  const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, code == std::errc{} ? end : buffer);
}

}  // namespace narthex
