#include "plan/recognise.h"

#include <algorithm>

#include "plan/recognise_run.h"

namespace narthex {
namespace {

using recognition::Lengths;
using recognition::Run;

// Lengths of the two walks: primes, so that they divide few sizes of a model. What depends on them comes out
// differently.
constexpr std::size_t kLong = 7;
constexpr std::size_t kShort = 5;
// Tables of positions are looked at up to twice the longer one.
constexpr std::size_t kFewestPositions = 2 * kLong;

Recognition refused(const Graph& graph, const std::string& why) {
  Recognition result;
  result.refusals.assign(graph.outputs.size(), why);
  return result;
}

std::string_view suffix_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "";
    case Activation::kRelu:
      return "+relu";
    case Activation::kGeluErf:
    case Activation::kGeluTanh:
      return "+gelu";
    case Activation::kTanh:
      return "+tanh";
    case Activation::kSigmoid:
      return "+sigmoid";
    case Activation::kSilu:
      return "+silu";
  }
  return "";
}

std::string name_of(const step::Embed& embed) {
  if (embed.index == step::Index::kPosition) return "embedding: positions";
  return embed.index == step::Index::kTokenIds ? "embedding: tokens" : "embedding: token types";
}
std::string name_of(const step::Linear& linear) {
  return fmt::format("linear{}", suffix_of(linear.activation));
}
std::string name_of(const step::Binary& binary) {
  return binary.kind == step::BinaryKind::kAdd ? "sum" : "product";
}
std::string name_of(const step::Affine& /*affine*/) {
  return "affine";
}
std::string name_of(const step::Norm& norm) {
  return norm.kind == NormKind::kRms ? "rms-norm" : "layer-norm";
}
std::string name_of(const step::Activate& activate) {
  const std::string_view suffix = suffix_of(activate.activation);
  return suffix.empty() ? "copy" : std::string(suffix.substr(1));
}
std::string name_of(const step::Rotate& /*rotate*/) {
  return "rotary positions";
}
std::string name_of(const step::Attention& /*attention*/) {
  return "attention";
}
std::string name_of(const step::Pool& pool) {
  constexpr std::string_view kNames[] = {"first", "last", "mean", "sum", "max"};
  return fmt::format("pooling: {}", kNames[static_cast<std::size_t>(pool.kind)]);
}
std::string name_of(const step::L2Normalize& /*norm*/) {
  return "L2 normalisation";
}
std::string name_of(const step::RowSoftmax& /*softmax*/) {
  return "softmax";
}

// Leaves only the outputs that both walks recognised, and says so of the others.
void keep_common(Run& a, Run& b, std::vector<std::string>& refusals) {
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    if (refusals[i].empty()) refusals[i] = b.refusals()[i];
  }
  for (Run* run : {&a, &b}) {
    std::erase_if(run->encoder().outputs, [&](const EncoderOutput& o) { return !refusals[o.graph_output].empty(); });
    recognition::finish(run->encoder());
  }
}

}  // namespace

Recognition recognise(const Graph& graph, const RecogniseOptions& options) {
  Lengths lengths(graph, options.position_offset);
  if (const auto possible = lengths.check(); !possible) return refused(graph, possible.error().message);
  // Each round finds a table that ends earlier; there are only so many.
  for (std::size_t max_positions = options.max_positions; max_positions >= kFewestPositions;) {
    Run walk(graph, lengths, kLong, max_positions);
    walk.execute();
    if (walk.limit() < max_positions) {
      max_positions = walk.limit();
      continue;
    }
    Run other(graph, lengths, kShort, max_positions);
    other.execute();
    Recognition result;
    result.refusals = walk.refusals();
    keep_common(walk, other, result.refusals);
    if (walk.encoder().outputs.empty()) return result;
    if (other.limit() < max_positions || !recognition::same_encoder(walk.encoder(), other.encoder())) {
      return refused(graph, "what the graph computes for a token changes with the length of the sequence");
    }
    result.counts = walk.counts();
    for (const Step& step : walk.encoder().steps) {
      ++result.counts[std::visit([](const auto& s) { return name_of(s); }, step)];
    }
    result.encoder = std::move(walk.encoder());
    result.encoder->excluded_ids.assign(lengths.excluded().begin(), lengths.excluded().end());
    return result;
  }
  return refused(graph, fmt::format("the graph has positions for fewer than {} tokens", kFewestPositions));
}

}  // namespace narthex
