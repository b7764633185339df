// The executable form of an encoder: steps over slots of packed rows, weights packed for one precision each.
//
//   PackedPlan plan = lower(encoder, options)   lower.h
//   plan.run(batch, out)                        packed_run.cc; any number of threads at once
//
// Constants are pointers into memory that `owners` keeps: buffers of lower(), or a mapped artifact. The layouts are the
// same on every instruction set, so a plan may be stored and loaded elsewhere. Each row is computed by the same chain
// of operations whatever rows stand beside it, so a text's vector is the same bytes in any batch, in any order and with
// any number of threads. Covered by tests/plan/packed_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kernels/formats.h"
#include "plan/encoder.h"

namespace narthex {

class Team;

enum class Precision : std::uint8_t { kFp32, kBf16, kInt8 };
std::string_view precision_name(Precision precision);
constexpr RowFormat format_of(Precision precision) {
  return precision == Precision::kFp32   ? RowFormat::kF32
         : precision == Precision::kBf16 ? RowFormat::kBf16
                                         : RowFormat::kU8;
}

// Bytes that do not change; 64-byte aligned.
struct Constant {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
  explicit operator bool() const { return data != nullptr; }
};

// A buffer of rows during a run. Slots whose lifetimes do not meet share a region.
struct Slot {
  RowFormat format = RowFormat::kF32;
  std::uint32_t width = 0;
  bool per_sequence = false;
  std::uint32_t region = 0;

  std::size_t stride() const;     // elements from row to row: whole 64 bytes
  std::size_t row_bytes() const;  // with scale and zero point for kU8
};
using SlotId = std::uint32_t;
inline constexpr SlotId kNoSlot = UINT32_MAX;

// Columns of a slot.
struct View {
  SlotId slot = kNoSlot;
  std::uint32_t first = 0;
  std::uint32_t width = 0;
  bool operator==(const View&) const = default;
};

namespace packed {

struct Table {
  Constant rows;  // [entries, width] float or bfloat16
  bool bf16 = false;
  step::Index index = step::Index::kTokenIds;
  std::uint32_t entries = 0;
};
// out = Σ tables[index], in the order of the tables.
struct Gather {
  std::vector<Table> tables;
  View out;  // f32
};
// The kernel norm_rows: s = x + residual, kept in sum; y = norm(s), kept in f32 and encoded.
struct Norm {
  View x, residual, sum, y;  // f32; all but x may be absent
  SlotId encoded = kNoSlot;
  NormKind kind = NormKind::kLayer;
  Constant gamma, beta, factor;
  float epsilon = 0;
};
struct Linear {
  View in;   // k columns of a slot in the format of `precision`
  View out;  // f32 or bf16
  std::uint32_t k = 0, n = 0;
  Precision precision = Precision::kFp32;
  Activation activation = Activation::kNone;
  Constant weights, scale, colsum, bias;  // scale and colsum: kInt8 only
};
struct Encode {
  View in;  // f32 or bf16
  SlotId out = 0;
  Constant factor;
};
struct Gated {
  View a, b;  // f32
  SlotId out = 0;
  Activation activation = Activation::kNone;
  Constant factor;
};
struct Attention {
  View q, k, v;  // f32 or bf16
  View out;
  std::uint32_t heads = 0, kv_heads = 0, d = 0, d_value = 0;
  Precision precision = Precision::kFp32;
  bool first_query_only = false;  // `out` has a row per sequence: what its first token sees
  float scale = 1;
  Constant bias;  // [bias_rows, 2 · bias_positions − 1], see step::Attention
  std::uint32_t bias_rows = 0, bias_positions = 0, window = 0;
};
struct Rotate {
  View x;  // f32, in place
  std::uint32_t heads = 0, d = 0, rotary = 0;
  Constant cos, sin;
};
struct Binary {
  View a, b, out;  // f32
  step::BinaryKind kind = step::BinaryKind::kAdd;
};
struct Affine {
  View in, out;
  Constant factor, shift;
};
struct Activate {
  View in, out;
  Activation activation = Activation::kNone;
};
struct Pool {
  View in, out;
  step::PoolKind kind = step::PoolKind::kFirst;
};
struct L2Normalize {
  View in, out;
  float epsilon = 0;
};
struct RowSoftmax {
  View in, out;
};

using Step = std::variant<Gather, Norm, Linear, Encode, Gated, Attention, Rotate, Binary, Affine, Activate, Pool,
                          L2Normalize, RowSoftmax>;

}  // namespace packed

// Sequences end to end.
struct TokenBatch {
  std::span<const std::int32_t> ids;
  std::span<const std::int32_t> types;  // as many, or empty: all 0
  std::span<const std::size_t> starts;  // n_sequences + 1; the last is ids.size(); no sequence is empty
  std::size_t n_sequences() const { return starts.size() - 1; }
};

// Sees the float32 rows that enter each product of a plan in fp32: calibration.
class LinearObserver {
 public:
  virtual ~LinearObserver() = default;
  virtual void linear_input(std::size_t step, std::size_t n_rows, std::size_t width, const float* rows,
                            std::size_t stride) = 0;
};

// Calls f(constant) for each constant of a step, in a fixed order. Works on const and mutable steps.
template <class S, class F>
void for_constants(S& step, F f) {
  std::visit(
      [&](auto& s) {
        if constexpr (requires { s.tables; }) {
          for (auto& table : s.tables) f(table.rows);
        }
        if constexpr (requires { s.weights; }) {
          f(s.weights);
          f(s.scale);
          f(s.colsum);
        }
        if constexpr (requires { s.gamma; }) {
          f(s.gamma);
          f(s.beta);
        }
        if constexpr (requires { s.cos; }) {
          f(s.cos);
          f(s.sin);
        }
        if constexpr (requires { s.shift; }) f(s.shift);
        if constexpr (requires { s.bias; }) f(s.bias);
        if constexpr (requires { s.factor; }) f(s.factor);
      },
      step);
}

struct PackedPlan {
  std::vector<Slot> slots;
  std::vector<packed::Step> steps;
  View output;
  std::size_t max_positions = 0;
  std::uint32_t n_regions = 0;
  std::vector<std::int32_t> excluded_ids;
  std::vector<std::shared_ptr<const void>> owners;

  bool output_per_sequence() const { return slots[output.slot].per_sequence; }
  std::size_t width() const { return output.width; }
  // Whether this plan may run the sequence; if not, the interpreter must.
  bool covers(std::span<const std::int32_t> ids) const;
  // Bounds of ids, types and lengths; the sentence names the token.
  Result<void> check(const TokenBatch& batch) const;
  // out: [n_tokens or n_sequences, width()]. The batch must have passed check().
  void run(Team& team, const TokenBatch& batch, float* out, LinearObserver* observer = nullptr) const;

  // For reports: bytes of constants, and steps by kind: "linear bf16" → 48.
  std::size_t constant_bytes() const;
  std::map<std::string, std::size_t> step_counts() const;
};

}  // namespace narthex
