// The tensors that an encoder's graph asks for, made from token ids by the names that exporters give its inputs.
//
//   EncoderInputs::create(graph, position_offset)   an input that is not known, or has no known meaning, is an Error
//   inputs.make(sequences)                          [batch, seq] tensors in the order of the graph's inputs
//
// All sequences of one call have equal length: nothing is padded, so no result can depend on padding. Only a graph
// whose dimensions are fixed numbers gets padding, masked out, up to them. Covered by
// tests/models/encoder_inputs_test.cc.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "text/tokenizer.h"

namespace narthex {

class EncoderInputs {
 public:
  static Result<EncoderInputs> create(const Graph& graph, int position_offset, std::int32_t pad_id);

  // 0 where the graph leaves the dimension open.
  std::size_t fixed_batch() const { return fixed_batch_; }
  std::size_t fixed_length() const { return fixed_length_; }

  // `sequences` is not empty; all have one length, at most fixed_length() where that is set, and there are at most
  // fixed_batch() of them.
  Result<std::vector<Tensor>> make(std::span<const Encoding* const> sequences) const;

 private:
  enum class Role { kIds, kMask, kTypes, kPositions };
  struct Input {
    Role role;
    DType dtype;
  };

  std::int64_t element(Role role, const Encoding& sequence, std::size_t position) const;

  std::vector<Input> inputs_;
  std::size_t fixed_batch_ = 0;
  std::size_t fixed_length_ = 0;
  int position_offset_ = 0;
  std::int32_t pad_id_ = 0;
};

}  // namespace narthex
