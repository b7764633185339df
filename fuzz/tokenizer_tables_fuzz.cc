// Tokenizer tables: bytes that save_tables() made, damaged or forged, and what comes of encoding with them.
//
// Nothing may read outside of the bytes, crash or hang. What loads keeps its promises: no negative ids, offsets inside
// the text, the fast path equal to the general way. Corpus: fuzz/corpus/tokenizer_tables.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/tokenizer.h"

namespace {

using namespace narthex;

constexpr std::string_view kText = "H\u00E9llo, hellos [CLS] a\u0301\u0323 \u5317\u4EAC ab  \u0438\u0438, 123";

void check_encoding(const Tokenizer& tokenizer, const EncodeOptions& options) {
  const Result<Encoding> fast = tokenizer.encode(kText, options);
  const Result<Encoding> general = tokenizer.without_fast_path().encode(kText, options);
  NX_CHECK(fast.has_value() == general.has_value(), "the fast path changes no error");
  if (!fast) return;
  NX_CHECK(fast->ids == general->ids && fast->byte_offsets == general->byte_offsets, "the fast path changes nothing");
  for (const std::int32_t id : fast->ids) NX_CHECK(id >= 0, "an id is a row of the embedding table");
  for (const Offsets& range : fast->byte_offsets) {
    NX_CHECK(range.begin <= range.end && range.end <= kText.size(), "inside the text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A block of exactly this size, so that the sanitizer sees a read behind the last byte.
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  const auto bytes = std::make_shared<const std::vector<std::byte>>(first, first + size);
  const Result<Tokenizer> tokenizer = Tokenizer::from_tables(*bytes, bytes, "fuzz");
  if (!tokenizer) {
    NX_CHECK(tokenizer.error().message.find("fuzz") != std::string::npos, "an error names the file");
    return 0;
  }
  check_encoding(*tokenizer, {.offsets = true});
  check_encoding(*tokenizer, {.allow_special = true, .max_length = 5});
  NX_CHECK(tokenizer->save_tables().size() > 0, "what was read can be written");
  return 0;
}
