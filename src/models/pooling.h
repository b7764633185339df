// From the hidden states of one text to one vector: [n_tokens, hidden] → [dim].
//
//   pool(hidden, hidden_size, modes)   several modes are concatenated in the order sentence-transformers uses
//
// Formulas (sentence-transformers `Pooling`, without padding since none is ever there): cls = first token; max =
// elementwise maximum; mean = Σh / n; mean-sqrt = Σh / √n; weighted-mean = Σ(t·h_t) / Σt with t = 1…n; last = last
// token. Covered by tests/models/pooling_test.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace narthex {

enum class PoolingMode { kCls, kMax, kMean, kMeanSqrt, kWeightedMean, kLast };

const char* pooling_name(PoolingMode mode);

// What becomes of a graph's output.
struct Pooling {
  enum class Kind {
    kModes,    // hidden states [batch, seq, hidden] are pooled by `modes`
    kInGraph,  // the output is [batch, dim] already
    kNone,     // every token keeps its vector
  };
  Kind kind = Kind::kModes;
  std::vector<PoolingMode> modes;

  std::string to_string() const;
};

// "cls", "mean", "max", "last", "none", and the two weighted forms; several joined by '+'.
Result<Pooling> parse_pooling(std::string_view text);

// `hidden` is [n_tokens, hidden_size] with n_tokens ≥ 1; sums run in float64, tokens in order.
std::vector<float> pool(std::span<const float> hidden, std::size_t hidden_size, std::span<const PoolingMode> modes);

// Divides by max(‖v‖₂, 1e-12), as torch.nn.functional.normalize does.
void l2_normalize(std::span<float> vector);

}  // namespace narthex
