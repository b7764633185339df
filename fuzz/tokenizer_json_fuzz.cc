// tokenizer.json and a text: the bytes before the first NUL are the file, those behind it the text.
//
// Nothing may crash, hang or allocate out of proportion, and what comes back keeps its promises: lists of one length,
// never longer than max_length, offsets in order and inside the text, the same ids with offsets and without, and the
// same from the general way and from tables. Corpus: fuzz/corpus/tokenizer_json.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/tokenizer.h"

namespace {

using namespace narthex;

void check(const Result<Encoding>& result, std::size_t text_size, const EncodeOptions& options) {
  if (!result) {
    NX_CHECK(!result.error().message.empty(), "an error says something");
    return;
  }
  const Encoding& e = *result;
  NX_CHECK(e.ids.size() == e.type_ids.size() && e.ids.size() == e.special_mask.size(), "lists of one length");
  NX_CHECK(options.max_length == 0 || e.ids.size() <= options.max_length, "max_length holds");
  NX_CHECK(e.truncated || e.n_tokens_total == e.ids.size(), "the count is exact unless truncated");
  if (!options.offsets) return;
  NX_CHECK(e.offsets.size() == e.ids.size() && e.byte_offsets.size() == e.ids.size(), "offsets of every token");
  for (std::size_t i = 0; i < e.ids.size(); ++i) {
    NX_CHECK(e.byte_offsets[i].begin <= e.byte_offsets[i].end && e.byte_offsets[i].end <= text_size, "inside the text");
    NX_CHECK(e.offsets[i].begin <= e.offsets[i].end && e.offsets[i].end <= text_size, "inside the text");
  }
}

void encode_every_way(const Tokenizer& tokenizer, std::string_view text) {
  EncodeOptions options{.offsets = true};
  const Result<Encoding> with_offsets = tokenizer.encode(text, options);
  check(with_offsets, text.size(), options);
  options.offsets = false;
  const Result<Encoding> without = tokenizer.encode(text, options);
  NX_CHECK(with_offsets.has_value() == without.has_value(), "offsets change no error");
  NX_CHECK(!without || with_offsets->ids == without->ids, "offsets change no id");

  const Result<Encoding> general = tokenizer.without_fast_path().encode(text, {.offsets = true});
  NX_CHECK(general.has_value() == with_offsets.has_value(), "the fast path changes no error");
  NX_CHECK(!general || general->ids == with_offsets->ids, "the fast path changes no id");
  NX_CHECK(!general || general->byte_offsets == with_offsets->byte_offsets, "the fast path changes no offset");

  const std::string tables = tokenizer.save_tables();
  const Result<Tokenizer> copy = Tokenizer::from_tables(std::as_bytes(std::span(tables)), nullptr, "tables");
  NX_CHECK(copy.has_value(), "what was written can be read");
  const Result<Encoding> copied = copy->encode(text, {.offsets = true});
  NX_CHECK(copied.has_value() == with_offsets.has_value(), "tables change no error");
  NX_CHECK(!copied || copied->ids == with_offsets->ids, "tables change no id");

  const std::string_view first = text.substr(0, text.size() / 2);
  options = {.allow_special = true, .max_length = 7, .offsets = true};
  check(tokenizer.encode_pair(first, text, options), text.size(), options);
  options.side = TruncationSide::kLeft;
  options.strategy = TruncationStrategy::kOnlySecond;
  check(tokenizer.encode_pair(first, text, options), text.size(), options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t separator = input.find('\0');
  const std::string_view text =
      separator == std::string_view::npos ? "Héllo [CLS] a\u0301\u0323 北京 ab  <m>, 123" : input.substr(separator + 1);
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(input.substr(0, separator), "fuzz");
  if (!tokenizer) {
    NX_CHECK(tokenizer.error().message.find("fuzz") != std::string::npos, "an error names the file");
    return 0;
  }
  encode_every_way(*tokenizer, text);
  return 0;
}
