#include "text/pipeline.h"

namespace narthex {
namespace {

// Small enough to waste little behind the 512th token, large enough to make the cost per chunk vanish.
constexpr std::size_t kChunkBytes = 8192;

bool is_cut(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

class TextReader {
 public:
  TextReader(const Pipeline& pipeline, std::string_view text, const TokenizeOptions& options, TokenList& out)
      : pipeline_(pipeline), text_(text), options_(options), out_(out) {
    words_.text = &normalized_;
  }

  Result<void> read() {
    const AddedTokenSet& added = pipeline_.added.raw();
    if (!may_match(added)) return read_plain({0, static_cast<std::uint32_t>(text_.size())});
    AddedTokens::Finder finder(added, text_, options_.allow_special);
    while (const auto span = finder.next()) {
      if (span->token != nullptr) {
        add(span->token->id, true, span->range);
      } else {
        NX_TRY_VOID(read_plain(span->range));
      }
      if (full()) break;
    }
    return {};
  }

 private:
  bool full() const { return out_.ids.size() > options_.stop_after; }
  bool may_match(const AddedTokenSet& set) const {
    return !set.empty() && (options_.allow_special || !set.all_special);
  }
  void add(std::int32_t id, bool added, ByteRange bytes) {
    out_.ids.push_back(id);
    if (options_.offsets) out_.origins.push_back({bytes, added});
  }

  // A stretch without raw added tokens, in chunks where that is allowed.
  Result<void> read_plain(ByteRange range) {
    if (pipeline_.fast.read && !may_match(pipeline_.added.normalized())) {
      pipeline_.fast.read(text_, range, options_, out_);
      return {};
    }
    while (range.begin < range.end && !full()) {
      std::uint32_t end = range.end;
      if (pipeline_.local && range.end - range.begin > kChunkBytes) {
        end = range.begin + kChunkBytes;
        while (end < range.end && !is_cut(text_[end])) ++end;
      }
      NX_TRY_VOID(read_chunk({range.begin, end}));
      range.begin = end;
    }
    return {};
  }

  Result<void> read_chunk(ByteRange range) {
    normalized_.assign(text_, range.begin, range.end, options_.offsets);
    if (pipeline_.normalizer.apply) pipeline_.normalizer.apply(normalized_);
    if (normalized_.overflow) {
      return fail(ErrorCode::kLimit, "the tokenizer's normalizer makes a text of {} bytes grow more than {} times",
                  range.end - range.begin, NormalizedText::kMaxGrowth);
    }
    const auto size = static_cast<std::uint32_t>(normalized_.text.size());
    if (!may_match(pipeline_.added.normalized())) return read_words({0, size});
    // Pre-tokenizers may rewrite the text in place, so the stretches are collected first.
    std::vector<AddedTokens::Span> spans;
    AddedTokens::Finder finder(pipeline_.added.normalized(), normalized_.text, options_.allow_special);
    while (const auto span = finder.next()) spans.push_back(*span);
    for (const AddedTokens::Span& span : spans) {
      if (span.token != nullptr) {
        add(span.token->id, true, normalized_.original(span.range));
      } else {
        NX_TRY_VOID(read_words(span.range));
      }
      if (full()) break;
    }
    return {};
  }

  Result<void> read_words(ByteRange range) {
    if (range.begin >= range.end) return {};
    words_.ranges.assign(1, range);
    if (pipeline_.pre_tokenizer.split) pipeline_.pre_tokenizer.split(words_);
    for (const ByteRange word : words_.ranges) {
      pieces_.clear();
      NX_TRY_VOID(pipeline_.model.tokenize(std::string_view(normalized_.text).substr(word.begin, word.end - word.begin),
                                           pieces_));
      for (const Piece& piece : pieces_) {
        const ByteRange in_chunk{word.begin + piece.begin, word.begin + piece.end};
        add(piece.id, false, normalized_.original(in_chunk));
      }
      if (full()) break;
    }
    return {};
  }

  const Pipeline& pipeline_;
  std::string_view text_;
  const TokenizeOptions& options_;
  TokenList& out_;
  NormalizedText normalized_;
  Words words_;
  std::vector<Piece> pieces_;
};

}  // namespace

Result<void> tokenize_text(const Pipeline& pipeline, std::string_view text, const TokenizeOptions& options,
                           TokenList& out) {
  return TextReader(pipeline, text, options, out).read();
}

}  // namespace narthex
