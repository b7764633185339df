#include "models/encoder_inputs.h"

#include <algorithm>

namespace narthex {

Result<EncoderInputs> EncoderInputs::create(const Graph& graph, int position_offset, std::int32_t pad_id) {
  EncoderInputs result;
  result.position_offset_ = position_offset;
  result.pad_id_ = pad_id;
  bool has_ids = false;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    Role role = Role::kIds;
    if (input.name == "input_ids") {
      has_ids = true;
    } else if (input.name == "attention_mask") {
      role = Role::kMask;
    } else if (input.name == "token_type_ids") {
      role = Role::kTypes;
    } else if (input.name == "position_ids") {
      role = Role::kPositions;
    } else {
      return fail(ErrorCode::kUnsupported,
                  "{}: graph input '{}' has no known meaning; input_ids, attention_mask, "
                  "token_type_ids and position_ids have",
                  graph.source, input.name);
    }
    if (input.dtype != DType::kInt64 && input.dtype != DType::kInt32) {
      return fail(ErrorCode::kUnsupported, "{}: graph input '{}' is {}, expected int64 or int32", graph.source,
                  input.name, dtype_name(input.dtype));
    }
    if (input.shape && input.shape->size() != 2) {
      return fail(ErrorCode::kUnsupported, "{}: graph input '{}' has shape {}, expected [batch, sequence]",
                  graph.source, input.name, shape_string(*input.shape));
    }
    if (input.shape) {
      result.fixed_batch_ = static_cast<std::size_t>((*input.shape)[0].constant().value_or(0));
      result.fixed_length_ = static_cast<std::size_t>((*input.shape)[1].constant().value_or(0));
    }
    result.inputs_.push_back({role, input.dtype});
  }
  if (!has_ids) return fail(ErrorCode::kUnsupported, "{}: has no graph input 'input_ids'", graph.source);
  return result;
}

std::int64_t EncoderInputs::element(Role role, const Encoding& sequence, std::size_t position) const {
  const bool real = position < sequence.ids.size();
  switch (role) {
    case Role::kIds:
      return real ? sequence.ids[position] : pad_id_;
    case Role::kMask:
      return real ? 1 : 0;
    case Role::kTypes:
      return real ? sequence.type_ids[position] : 0;
    case Role::kPositions:
      break;
  }
  // The RoBERTa family numbers real tokens from pad_id + 1 and gives padding pad_id itself.
  if (!real) return position_offset_ > 0 ? position_offset_ - 1 : 0;
  return static_cast<std::int64_t>(position) + position_offset_;
}

Result<std::vector<Tensor>> EncoderInputs::make(std::span<const Encoding* const> sequences) const {
  const std::size_t length = fixed_length_ > 0 ? fixed_length_ : sequences[0]->ids.size();
  const std::size_t batch = fixed_batch_ > 0 ? fixed_batch_ : sequences.size();
  NX_CHECK(sequences.size() <= batch && sequences[0]->ids.size() <= length,
           "a batch larger than the graph's fixed shape");
  std::vector<Tensor> tensors;
  for (const Input& input : inputs_) {
    NX_TRY(Tensor tensor,
           Tensor::allocate(input.dtype, {static_cast<std::int64_t>(batch), static_cast<std::int64_t>(length)}));
    for (std::size_t row = 0; row < batch; ++row) {
      const Encoding& sequence =
          *sequences[std::min(row, sequences.size() - 1)];  // a fixed batch is filled with repeats
      for (std::size_t position = 0; position < length; ++position) {
        const std::int64_t value = element(input.role, sequence, position);
        const std::size_t at = row * length + position;
        if (input.dtype == DType::kInt64) {
          tensor.as_mutable<std::int64_t>()[at] = value;
        } else {
          tensor.as_mutable<std::int32_t>()[at] = static_cast<std::int32_t>(value);
        }
      }
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace narthex
