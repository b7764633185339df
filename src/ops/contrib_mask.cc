// The masks of com.microsoft's attention operators, as one additive mask for the canonical Attention.
//
//   expand_mask(expansion, request)   [B,1,1,T], [B,1,S,T]: 0 where a key may be attended to, else mask_filter_value
//
// mask_index is, by rank: 1-D [B] lengths, [2B] lengths and starts, [3B+2] lengths and offsets that say the same; 2-D
// [B,T]; 3-D [B,S,T]; 4-D [B,1,M,M], of which the rows of the queries and the first T columns count. Covered by
// tests/ops/contrib_test.cc.
#include "ops/contrib.h"

namespace narthex {
namespace {

// Keys from `start` to `end` of each sequence, bool [B,T].
ValueId keys_in_range(Expansion& e, const MaskRequest& r) {
  const ValueId numbers = e.cast(r.mask, DType::kInt64);
  const ValueId batch = e.dim(r.query, 0);
  const ValueId zero = e.ints({0});
  const ValueId scalar_zero = e.rewriter().constant(Tensor::scalar(std::int64_t{0}));
  const ValueId scalar_one = e.rewriter().constant(Tensor::scalar(std::int64_t{1}));
  const ValueId total = e.op("Squeeze", {r.total, zero});
  const ValueId positions = e.op("Range", {scalar_zero, total, scalar_one});
  const ValueId ends = e.slice(numbers, zero, batch, 0);
  const ValueId before_end = e.op("Less", {positions, e.unsqueeze(ends, {1})});
  const Shape* mask = e.shape(r.mask);
  const Shape* query = e.shape(r.query);
  if (mask != nullptr && query != nullptr && !query->empty() && (*mask)[0] == (*query)[0]) return before_end;
  // Entries B to 2B are starts if there are 2B. Zeros behind the list stand in when it is [B]; of [3B+2] they are
  // offsets of queries, which the comparison turns to 0.
  const ValueId padded = e.op("Concat", {numbers, e.op("Expand", {zero, batch})}, {{"axis", std::int64_t{0}}});
  const ValueId twice = e.op("Mul", {batch, e.ints({2})});
  const ValueId has_starts = e.cast(e.op("Equal", {e.dim(r.mask, 0), twice}), DType::kInt64);
  const ValueId starts = e.op("Mul", {e.slice(padded, batch, twice, 0), has_starts});
  const ValueId from_start = e.op("GreaterOrEqual", {positions, e.unsqueeze(starts, {1})});
  return e.op("And", {before_end, from_start});
}

ValueId square_part(Expansion& e, const MaskRequest& r) {
  ValueId first = e.ints({0});
  ValueId last = e.dim(r.query, 1);
  if (r.past != kNoValue) {
    first = r.past;
    last = e.op("Add", {r.past, last});
  }
  return e.slice(e.slice(r.mask, first, last, 2), e.ints({0}), r.total, 3);
}

}  // namespace

Result<ValueId> expand_mask(Expansion& e, const MaskRequest& r) {
  const std::optional<std::int64_t> rank = e.rank(r.mask);
  if (!rank) return fail(ErrorCode::kUnsupported, "the rank of its mask is not known");
  const auto kept = [&](ValueId numbers) {
    return e.op("Greater", {e.cast(numbers, DType::kInt32), e.rewriter().constant(Tensor::scalar(std::int32_t{0}))});
  };
  ValueId keep = kNoValue;
  switch (*rank) {
    case 1:
      keep = e.unsqueeze(keys_in_range(e, r), {1, 2});
      break;
    case 2:
      keep = e.unsqueeze(kept(r.mask), {1, 2});
      break;
    case 3:
      keep = e.unsqueeze(kept(r.mask), {1});
      break;
    case 4:
      keep = kept(square_part(e, r));
      break;
    default:
      return fail(ErrorCode::kBadModel, "its mask has rank {}, expected 1 to 4", *rank);
  }
  const ValueId zero = e.scalar_like(0, {r.like});
  const ValueId filter = e.scalar_like(r.filter_value, {r.like});
  return e.op("Where", {keep, zero, filter});
}

}  // namespace narthex
