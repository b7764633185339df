#include "cli/bench_workloads.h"

#include <bit>
#include <random>
#include <string_view>

#include "cli/text_source.h"

namespace narthex::cli {
namespace {

constexpr std::string_view kWords[] = {
    "The",           "API",       "layer",   "fired",   "its",      "security",  "guardrails", "because", "it",
    "needed",        "to",        "verify",  "whether", "the",      "incoming",  "prompt",     "was",     "an",
    "adversarial",   "injection", "attack,", "next",    "the",      "retrieval", "pipeline",   "woke",    "up",
    "intending",     "to",        "fetch",   "five",    "relevant", "context",   "chunks",     "from",    "the",
    "documentation", "index."};

// numpy.random.RandomState(seed).randint(0, n): the generator of the standard library, and of every number as many low
// bits as n needs, thrown away when they are n or more.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : generator_(seed) {}
  std::uint32_t below(std::uint32_t n) {
    const std::uint32_t mask = std::bit_ceil(n) - 1;
    while (true) {
      const std::uint32_t value = static_cast<std::uint32_t>(generator_()) & mask;
      if (value < n) return value;
    }
  }

 private:
  std::mt19937 generator_;
};

// `n_texts` texts of `least` words and up to `spread` − 1 more.
std::vector<std::string> made_texts(Draw& draw, std::uint32_t n_texts, std::uint32_t least, std::uint32_t spread) {
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t i = 0; i < n_texts; ++i) lengths.push_back(least + draw.below(spread));
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < n_texts; ++i) texts.push_back(made_text(lengths[i], i));
  return texts;
}

}  // namespace

std::string made_text(std::size_t n_words, std::uint32_t seed) {
  Draw draw(seed + static_cast<std::uint32_t>(n_words));
  std::string text;
  for (std::size_t i = 0; i < n_words; ++i) {
    if (!text.empty()) text += ' ';
    text += kWords[draw.below(std::size(kWords))];
  }
  return text;
}

std::vector<Workload> standard_workloads() {
  Draw lengths(7);
  std::vector<Workload> workloads = {{"q12", {"how do I reset my password on the portal"}},
                                     {"b1_128", {made_text(98, 1)}},
                                     {"b1_512", {made_text(600, 2)}}};
  workloads.push_back({"b32_short", made_texts(lengths, 32, 8, 8)});
  workloads.push_back({"b32_mixed", made_texts(lengths, 32, 10, 170)});
  workloads.push_back({"b256_mixed", made_texts(lengths, 256, 10, 290)});
  return workloads;
}

Result<Workload> read_workload(const std::string& path) {
  Workload workload{path, {}};
  NX_TRY(TextSource source, TextSource::open({}, path));
  while (true) {
    NX_TRY(std::optional<std::string> text, source.next());
    if (!text) break;
    workload.texts.push_back(*std::move(text));
  }
  if (workload.texts.empty()) return fail(ErrorCode::kBadInput, "{}: holds no texts", path);
  return workload;
}

double median_of_sorted(std::span<const double> times) {
  return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
}

}  // namespace narthex::cli
