// The part of a graph that does not depend on the tokens: what each value depends on, and its value at a given length.
//
//   Lengths lengths(graph, 0);  lengths.check();  lengths.at(value, n)
//
// A sequence of n tokens stands alone: batch 1, a mask of ones, positions 0 … n − 1. An input id compared with a
// constant is taken to differ from it (the constant is padding; excluded() lists such ids). Values are evaluated by the
// reference, once per length, and only when somebody asks. Covered by tests/plan/recognise_test.cc.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "graph/graph.h"

namespace narthex::recognition {

enum class Depends : std::uint8_t { kConstant, kLength, kTokens };
enum class Role : std::uint8_t { kNone, kTokenIds, kTokenTypes, kMask, kPositions };

class Lengths {
 public:
  // position_offset: what the first token of a sequence has in the graph input position_ids.
  Lengths(const Graph& graph, std::int64_t position_offset);
  // Why no sequence of any length can run alone, if so: inputs of unknown meaning or of fixed size.
  Result<void> check() const;

  Depends depends(ValueId value) const { return depends_[index(value)]; }
  bool is_known(ValueId value) const { return depends(value) != Depends::kTokens; }
  bool reads_mask(ValueId value) const { return reads_mask_[index(value)]; }
  Role role(ValueId value) const { return role_[index(value)]; }
  // Index of the node that makes it; the number of nodes when none does.
  std::size_t producer(ValueId value) const { return producer_[index(value)]; }
  const std::set<std::int64_t>& excluded() const { return excluded_; }

  // The value of a known ValueId.
  Result<Tensor> at(ValueId value, std::size_t length);
  // The same as doubles.
  Result<std::vector<double>> numbers_at(ValueId value, std::size_t length);
  // Drops what was evaluated for other lengths than `length`.
  void keep_only(std::size_t length);

 private:
  static std::size_t index(ValueId value) { return static_cast<std::size_t>(value); }
  using Memo = std::map<ValueId, Tensor>;
  void read_inputs();
  void classify(const Node& node);
  bool compares_ids(const Node& node) const;
  bool shape_alone(const Node& node) const;
  // Evaluates the node whose inputs are all in the memos; false when `missing` got inputs that must come first.
  Result<bool> step(ValueId value, std::size_t length, std::vector<ValueId>& missing);
  Result<Tensor> leaf(ValueId value, std::size_t length) const;
  Result<Dims> symbolic_dims(ValueId value, std::size_t length) const;
  Result<Tensor> shape_of(const Node& node, std::size_t length) const;
  Result<Tensor> nothing_equal(const Node& node, std::size_t length);
  const Tensor* find(ValueId value, std::size_t length);

  const Graph& graph_;
  std::int64_t position_offset_ = 0;
  std::vector<Depends> depends_;
  std::vector<bool> reads_mask_;
  std::vector<bool> from_ids_;  // the token ids themselves, at most reshaped
  std::vector<Role> role_;
  std::vector<std::size_t> producer_;
  std::map<std::string, bool, std::less<>> symbols_;  // name → is the length (else the batch)
  std::optional<Error> error_;
  std::set<std::int64_t> excluded_;
  Memo constants_;
  std::map<std::size_t, Memo> memo_;
};

// Elements of any numeric or bool tensor.
Result<std::vector<double>> numbers_of(const Tensor& tensor);
// The same values as float32; the tensor itself if it is.
Result<Tensor> as_float(const Tensor& tensor);

}  // namespace narthex::recognition
