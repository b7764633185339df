// WordPiece: the longest token that fits, again and again; later pieces carry the prefix ("##"). A word that cannot be
// covered whole, or that has too many characters, becomes one unknown token: pieces found before the gap are dropped.
#include <memory>

#include "base/utf8.h"
#include "text/byte_trie.h"
#include "text/models.h"

namespace narthex {
namespace {

struct WordPiece {
  ByteTrie trie;
  std::uint32_t continuation = ByteTrie::kNone;  // node behind the prefix
  std::uint64_t max_chars = 100;
  std::optional<std::int32_t> unknown;
  std::string unknown_token;
  std::string source;

  Result<void> add_unknown(std::string_view word, std::vector<Piece>& out) const {
    if (!unknown) {
      return fail(ErrorCode::kBadModel,
                  "{}: WordPiece: the unknown token '{}' is not in the vocabulary, but '{}' needs it", source,
                  unknown_token, word.substr(0, 40));
    }
    out.push_back({*unknown, 0, static_cast<std::uint32_t>(word.size())});
    return {};
  }

  bool too_long(std::string_view word) const {
    if (word.size() <= max_chars) return false;
    std::uint64_t n_chars = 0;
    for (const char c : word) n_chars += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return n_chars > max_chars;
  }

  Result<void> tokenize(std::string_view word, std::vector<Piece>& out) const {
    if (too_long(word)) return add_unknown(word, out);
    const std::size_t before = out.size();
    for (std::size_t at = 0; at < word.size();) {
      const std::uint32_t start = at == 0 ? ByteTrie::kRoot : continuation;
      const ByteTrie::Match match = start == ByteTrie::kNone ? ByteTrie::Match{} : trie.longest(start, word.substr(at));
      if (match.length == 0) {
        out.resize(before);
        return add_unknown(word, out);
      }
      out.push_back({static_cast<std::int32_t>(match.value), static_cast<std::uint32_t>(at),
                     static_cast<std::uint32_t>(at + match.length)});
      at += match.length;
    }
    return {};
  }
};

}  // namespace

Result<Model> parse_wordpiece(const Fields& fields) {
  auto wordpiece = std::make_shared<WordPiece>();
  wordpiece->source = fields.source;
  NX_TRY(wordpiece->unknown_token, fields.text("unk_token", "[UNK]"));
  NX_TRY(const std::string prefix, fields.text("continuing_subword_prefix", "##"));
  NX_TRY(wordpiece->max_chars, fields.number("max_input_chars_per_word", 100));
  NX_TRY(Vocabulary vocabulary, Vocabulary::from_json(fields, "vocab"));
  wordpiece->unknown = vocabulary.id(wordpiece->unknown_token);
  for (const Vocabulary::Entry& entry : vocabulary.entries()) {
    wordpiece->trie.add(vocabulary.text(entry), static_cast<std::uint32_t>(entry.id));
  }
  wordpiece->continuation = wordpiece->trie.walk(ByteTrie::kRoot, prefix);
  return Model{std::move(vocabulary),
               [wordpiece](std::string_view word, std::vector<Piece>& out) { return wordpiece->tokenize(word, out); }};
}

}  // namespace narthex
