// BertNormalizer, BertPreTokenizer and WordPiece in one pass, without a normalised copy of the text.
//
// ASCII words are found 16 bytes at a time and looked up in the word cache. Everything else is put together in a
// buffer, character by character: what the normalizer makes of a character does not depend on its neighbours, except
// where a mark survives that canonical ordering may move. Such a run of non-ASCII goes through the normalizer itself.
// Cutting there is exact for the reason given in normalizer_bert.cc. Covered by tests/text/fast_path_test.cc.
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/utf8.h"
#include "text/fast_path.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace narthex {
namespace {

// What a byte of the text is; below 0x80, the byte of a word that it becomes.
enum Kind : std::uint8_t {
  kSpace = 0x80,
  kPunctuation = 0x81,
  kGone = 0x82,   // removed by clean_text
  kOther = 0x83,  // not ASCII
};

struct BertFast {
  BertFlags flags;
  std::function<void(NormalizedText&)> normalize;
  std::shared_ptr<const WordPiece> model;
  std::uint32_t number = 0;                  // for the word cache
  std::array<std::uint8_t, 256> kinds{};     // Kind
  std::array<std::int32_t, 128> mark_ids{};  // of each punctuation mark
};

using Bytes = std::uint8_t __attribute__((vector_size(16)));

constexpr std::size_t kScanBytes = sizeof(Bytes);

struct ScannedWord {
  alignas(16) std::array<char, kScanBytes> bytes;  // in lower case if asked for
  std::size_t length;                              // of the ASCII letters and digits it begins with
};

// Precondition: 16 bytes can be read.
inline ScannedWord scan_word(const char* at, std::uint8_t lowercase_bit) {
  Bytes bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  const Bytes letters = Bytes((bytes | 0x20) - 'a' < 26);
  const Bytes digits = Bytes(bytes - '0' < 10);
  const Bytes stops = ~(letters | digits);
  const Bytes lowered = bytes | (letters & lowercase_bit);  // sets what lower-case letters have already
  std::uint64_t halves[2];
  std::memcpy(halves, &stops, sizeof halves);
  ScannedWord word;
  std::memcpy(word.bytes.data(), &lowered, sizeof lowered);
  word.length = halves[0] != 0   ? static_cast<std::size_t>(std::countr_zero(halves[0])) / 8
                : halves[1] != 0 ? 8 + static_cast<std::size_t>(std::countr_zero(halves[1])) / 8
                                 : kScanBytes;
  return word;
}

template <bool kOffsets>
class BertReader {
 public:
  BertReader(const BertFast& fast, std::string_view text, ByteRange range, std::size_t stop_after, TokenList& out)
      : fast_(fast),
        model_(*fast.model),
        cache_(WordCache::mine()),
        text_(text.data()),
        at_(text.data() + range.begin),
        end_(text.data() + range.end),
        stop_after_(stop_after),
        out_(out),
        word_(kFirstWordBytes),
        origins_(kOffsets ? kFirstWordBytes : 0) {}

  void read() {
    const std::uint8_t lowercase_bit = fast_.flags.lowercase ? 0x20 : 0;
    while (at_ < end_ && !full_) {
      if (size_ == 0 && static_cast<std::size_t>(end_ - at_) > kScanBytes) {
        const ScannedWord word = scan_word(at_, lowercase_bit);
        const std::uint8_t after = kind(at_ + word.length);
        if (word.length < kScanBytes && (after == kSpace || after == kPunctuation)) {
          if (word.length > 0) add_scanned(word);
          at_ += word.length;
          if (after == kPunctuation) add_mark();
          ++at_;
          continue;
        }
      }
      read_one();
    }
    flush();
  }

 private:
  static constexpr std::size_t kFirstWordBytes = 128;
  enum class Put { kNothing, kSome, kDepends };

  std::uint8_t kind(const char* at) const { return fast_.kinds[static_cast<unsigned char>(*at)]; }
  std::uint32_t offset(const char* at) const { return static_cast<std::uint32_t>(at - text_); }

  void read_one() {
    const std::uint8_t k = kind(at_);
    if (k == kOther || k == kGone) return read_run();
    if (k < 0x80) {
      append(static_cast<char>(k), {offset(at_), offset(at_) + 1});
    } else {
      flush();
      if (k == kPunctuation) add_mark();
    }
    ++at_;
  }

  // Up to the next kept ASCII character.
  void read_run() {
    const char* settled = at_;  // no mark from before here can move behind it
    while (at_ < end_ && !full_) {
      const std::uint8_t k = kind(at_);
      if (k != kOther && k != kGone) return;
      const char* const begin = at_;
      const char32_t c = decode_utf8(at_);
      if (k == kGone) continue;
      switch (put(c, {offset(begin), offset(at_)})) {
        case Put::kNothing:
          break;
        case Put::kSome:
          settled = at_;
          break;
        case Put::kDepends:
          while (at_ < end_ && (kind(at_) == kOther || kind(at_) == kGone)) ++at_;
          put_normalized({offset(settled), offset(at_)});
          return;
      }
    }
  }

  // What the normalizer makes of one character that is not ASCII.
  Put put(char32_t c, ByteRange from) {
    const unsigned bits = char_class(c);
    if (fast_.flags.clean_text && (bits & kCleanRemoved) != 0) return Put::kNothing;
    if (fast_.flags.clean_text && (bits & kCleanSpace) != 0) {
      flush();
      return Put::kSome;
    }
    const bool alone = fast_.flags.chinese && (bits & kCjk) != 0;
    if (!fast_.flags.strip_accents) {
      put_lowered(c, from, alone);
      return Put::kSome;
    }
    const Mapped decomposed = nfd(c);
    for (const char32_t part : decomposed.get()) {
      if (combining_rank(part) != 0 && !has_class(part, kBertMark)) return Put::kDepends;
    }
    Put result = Put::kNothing;
    for (const char32_t part : decomposed.get()) {
      if (has_class(part, kBertMark)) continue;
      put_lowered(part, from, alone);
      result = Put::kSome;
    }
    return result;
  }

  void put_lowered(char32_t c, ByteRange from, bool alone) {
    if (alone) flush();
    if (fast_.flags.lowercase) {
      const Mapped lowered = lower(c);
      for (const char32_t part : lowered.get()) put_final(part, from);
    } else {
      put_final(c, from);
    }
    if (alone) flush();
  }

  // A character of the normalised text.
  void put_final(char32_t c, ByteRange from) {
    const unsigned bits = char_class(c) & (kWhitespace | kPunct);
    if (bits != 0) flush();
    if ((bits & kWhitespace) != 0) return;
    std::array<char, 4> bytes;
    const std::size_t n = encode(c, bytes);
    for (std::size_t i = 0; i < n; ++i) append(bytes[i], from);
    if (bits != 0) flush();
  }

  static std::size_t encode(char32_t c, std::array<char, 4>& out) {
    const auto tail = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
    if (c < 0x80) {
      out[0] = static_cast<char>(c);
      return 1;
    }
    if (c < 0x800) {
      out = {static_cast<char>(0xC0 | c >> 6), tail(c)};
      return 2;
    }
    if (c < 0x10000) {
      out = {static_cast<char>(0xE0 | c >> 12), tail(c >> 6), tail(c)};
      return 3;
    }
    out = {static_cast<char>(0xF0 | c >> 18), tail(c >> 12), tail(c >> 6), tail(c)};
    return 4;
  }

  void put_normalized(ByteRange range) {
    NormalizedText run;
    run.assign({text_, range.end}, range.begin, range.end, kOffsets);
    fast_.normalize(run);
    for (const char* p = run.text.data(); p < run.text.data() + run.text.size();) {
      const auto at = static_cast<std::size_t>(p - run.text.data());
      put_final(decode_utf8(p), kOffsets ? run.alignment[at] : ByteRange{});
    }
  }

  void append(char byte, ByteRange from) {
    if (size_ == word_.size()) {
      word_.resize(2 * size_);
      if (kOffsets) origins_.resize(2 * size_);
    }
    word_[size_] = byte;
    if (kOffsets) origins_[size_] = from;
    ++size_;
  }

  // The word in the buffer ends here.
  void flush() {
    if (size_ == 0) return;
    const std::string_view word(word_.data(), size_);
    size_ = 0;
    if (full_) return;
    if constexpr (kOffsets) {
      split(word, [&](std::size_t begin, std::size_t end) {
        return ByteRange{origins_[begin].begin, origins_[end - 1].end};
      });
    } else if (word.size() <= WordKey::kMaxBytes) {
      add_cached(word);
    } else {
      split(word, nullptr);
    }
    full_ = out_.ids.size() > stop_after_;
  }

  void add_scanned(const ScannedWord& scanned) {
    const std::string_view word(scanned.bytes.data(), scanned.length);
    if constexpr (kOffsets) {
      const std::uint32_t base = offset(at_);
      split(word, [&](std::size_t begin, std::size_t end) {
        return ByteRange{base + static_cast<std::uint32_t>(begin), base + static_cast<std::uint32_t>(end)};
      });
    } else {
      add_cached(word);
    }
    full_ = out_.ids.size() > stop_after_;
  }

  // Precondition: 16 bytes can be read from the word's begin.
  void add_cached(std::string_view word) {
    const WordKey key = WordKey::of(word.data(), word.size());
    WordCache::Entry& entry = cache_.at(key);
    if (!entry.holds(key, fast_.number)) {
      const std::size_t before = out_.ids.size();
      split(word, nullptr);
      const std::span<const std::int32_t> pieces = std::span<const std::int32_t>(out_.ids).subspan(before);
      if (pieces.size() <= WordCache::kMaxIds) entry.put(key, fast_.number, pieces);
      return;
    }
    out_.ids.insert(out_.ids.end(), entry.ids.begin(), entry.ids.begin() + static_cast<std::ptrdiff_t>(entry.n_ids()));
  }

  // `origin_of` tells where a range of the word's bytes came from.
  template <class OriginOf>
  void split(std::string_view word, const OriginOf& origin_of) {
    const std::size_t before = out_.ids.size();
    const bool known = model_.split(word, [&](std::int32_t id, std::size_t begin, std::size_t end) {
      out_.ids.push_back(id);
      if constexpr (kOffsets) out_.origins.push_back({origin_of(begin, end), false});
    });
    if (known) return;
    out_.ids.resize(before);
    out_.ids.push_back(*model_.unknown);
    if constexpr (kOffsets) {
      out_.origins.resize(before);
      out_.origins.push_back({origin_of(0, word.size()), false});
    }
  }

  // The punctuation mark at at_.
  void add_mark() {
    if (full_) return;
    out_.ids.push_back(fast_.mark_ids[static_cast<unsigned char>(*at_)]);
    if (kOffsets) out_.origins.push_back({{offset(at_), offset(at_) + 1}, false});
    full_ = out_.ids.size() > stop_after_;
  }

  const BertFast& fast_;
  const WordPiece& model_;
  WordCache& cache_;
  const char* text_;
  const char* at_;
  const char* end_;
  std::size_t stop_after_;
  TokenList& out_;
  bool full_ = false;
  std::size_t size_ = 0;  // of the word being put together
  std::vector<char> word_;
  std::vector<ByteRange> origins_;  // of each of its bytes
};

void fill_tables(BertFast& fast) {
  for (unsigned b = 0; b < 256; ++b) {
    const unsigned bits = b < 0x80 ? char_class(b) : 0;
    const bool cleaned = fast.flags.clean_text;
    std::uint8_t kind = static_cast<std::uint8_t>(b);
    if (b >= 0x80) {
      kind = kOther;
    } else if (cleaned && (bits & kCleanRemoved) != 0) {
      kind = kGone;
    } else if ((cleaned && (bits & kCleanSpace) != 0) || (bits & kWhitespace) != 0) {
      kind = kSpace;
    } else if ((bits & kPunct) != 0) {
      kind = kPunctuation;
      const char mark = static_cast<char>(b);
      fast.mark_ids[b] = *fast.model->unknown;
      std::int32_t id = 0;
      const auto keep = [&](std::int32_t piece, std::size_t, std::size_t) { id = piece; };
      if (fast.model->split({&mark, 1}, keep)) fast.mark_ids[b] = id;
    } else if (fast.flags.lowercase && b >= 'A' && b <= 'Z') {
      kind = static_cast<std::uint8_t>(b + 32);
    }
    fast.kinds[b] = kind;
  }
}

}  // namespace

FastPath make_bert_fast_path(const Normalizer& normalizer, const PreTokenizer& pre_tokenizer, const Model& model) {
  if (!normalizer.bert || !pre_tokenizer.is_bert || !model.wordpiece || !model.wordpiece->unknown) return {};
  static std::atomic<std::uint32_t> last_number{0};
  auto fast = std::make_shared<BertFast>();
  fast->flags = *normalizer.bert;
  fast->normalize = normalizer.apply;
  fast->model = model.wordpiece;
  fast->number = ++last_number;
  fill_tables(*fast);
  return {"bert", [fast](std::string_view text, ByteRange range, const TokenizeOptions& options, TokenList& out) {
            if (options.offsets) {
              BertReader<true>(*fast, text, range, options.stop_after, out).read();
            } else {
              BertReader<false>(*fast, text, range, options.stop_after, out).read();
            }
          }};
}

}  // namespace narthex
