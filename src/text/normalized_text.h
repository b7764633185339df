// Text on its way through the normalizers, with (on demand) the original bytes that each of its bytes came from.
//
//   Rewriter out(text);      one pass over `text`, building its replacement
//   out.replace(c)           c stands for the next input character and takes its alignment
//   out.insert(c)            c is new and shares the alignment of the character consumed last
//   out.skip()               the next input character vanishes
//   out.finish()             makes the result the new content of `text`
//
// These three moves are the whole alignment algebra of the reference; offsets follow from them exactly. Without
// alignments the same code only builds the string. Covered by tests/text/normalizers_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace narthex {

// Half-open byte range.
struct ByteRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

struct NormalizedText {
  // Normalizers make a text grow a few times at most; a file that asks for more gets `overflow` instead of memory.
  static constexpr std::size_t kMaxGrowth = 32;
  static constexpr std::size_t kAlwaysAllowedBytes = 4096;

  std::string text;                  // valid UTF-8
  bool aligned = false;              // whether `alignment` is kept
  std::vector<ByteRange> alignment;  // one entry per byte of `text`, in bytes of the original
  std::size_t max_bytes = 0;         // of `text`, set by assign()
  bool overflow = false;             // that was not enough; what went over it is missing
  std::string spare_text;            // buffers of the last pass, kept for the next one
  std::vector<ByteRange> spare_alignment;

  // Starts from original[begin, end). Precondition: valid UTF-8, whole characters.
  void assign(std::string_view original, std::size_t begin, std::size_t end, bool with_alignment);
  // Original bytes of a range of `text`; the range itself when nothing is aligned or the range is empty.
  ByteRange original(ByteRange range) const;
};

class Rewriter {
 public:
  explicit Rewriter(NormalizedText& text);

  bool done() const { return next_ == end_; }
  // The next input character. Precondition: !done().
  char32_t peek() const;
  // Bytes of input consumed so far.
  std::size_t position() const { return static_cast<std::size_t>(next_ - begin_); }

  void replace(char32_t c);
  void insert(char32_t c);
  void skip();
  void keep();
  void finish();

 private:
  void emit(char32_t c, ByteRange from);

  NormalizedText& text_;
  const char* begin_;
  const char* next_;
  const char* end_;
};

}  // namespace narthex
