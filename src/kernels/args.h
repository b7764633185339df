// What kernels take: plain structs of pointers and sizes, shared by every instruction set.
//
// This header and kernels.def are the only ones that isa/*.cc share with the rest of the program, so it includes C
// headers only and has no functions. Sizes are in elements; `ld…` is the distance between rows, at least the row's
// length unless said otherwise. Nothing needs alignment. Index letters: m row (token), n output feature, k input
// feature.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace narthex {

inline constexpr size_t kPanel = 16;  // columns per packed panel, lanes per vector

// Applied to each output of a product after the bias.
enum class Activation : uint8_t { kNone, kRelu, kGeluErf, kGeluTanh, kTanh, kSigmoid, kSilu };

// c[m, n] = activation(a[m, k] · b[k, n] + bias[n]). Each output is one chain of fused multiply-adds over k in order,
// starting from 0, whatever m, n and the thread count are. k may be 0.
struct GemmF32 {
  size_t m, n, k;
  const float* a;
  size_t lda;
  const float* b;     // panels of 16 columns, [ceil(n / 16)][k][16], as pack_b_f32 writes them
  const float* bias;  // n values, or null
  float* c;
  size_t ldc;
  Activation activation;
};

// c[m, n] = Σ_k (a − a_zero)(b − b_zero) in int32 arithmetic modulo 2^32: exact wherever int32 can hold the sum.
struct GemmInt8 {
  size_t m, n, k;
  const uint8_t* a;  // u8, or s8 when a_signed
  size_t lda;
  bool a_signed;
  int32_t a_zero;
  const int8_t* b;          // [ceil(n / 16)][ceil(k / 4)][16][4], as pack_b_int8 writes it: always s8
  const int32_t* b_zero;    // n zero points as pack_b_int8 writes them, or null when all are 0
  const int32_t* b_colsum;  // n sums over k of packed b
  int32_t* c;
  size_t ldc;
};

// y = f(a, b) over [rows, cols]. A column step of 0 repeats one value along the row, a row step of 0 repeats the row:
//   same shape {cols, 1}   scalar {0, 0}   row vector {0, 1}   column vector {1, 0}
// y may be a or b where that one has the same strides as y.
struct Binary {
  size_t rows, cols;
  const float* a;
  size_t a_row, a_col;  // a_col and b_col are 0 or 1
  const float* b;
  size_t b_row, b_col;
  float* y;
  size_t y_row;
};

// y = softmax(scale · x + mask) along each row. −inf is masked out; a row that is all −inf becomes NaN, as ONNX has it;
// what is far enough below the maximum becomes exactly 0. y may be x.
struct Softmax {
  size_t rows, cols;
  const float* x;
  size_t ldx;
  float scale;        // 1 for none
  const float* mask;  // added after scaling, or null
  size_t ld_mask;     // 0: one row for all
  float* y;
  size_t ldy;
};

// y = (x − mean) / sqrt(variance + epsilon) · gamma + beta along each row; rms_norm: y = x / sqrt(mean(x²) + epsilon) ·
// gamma + beta. gamma and beta may be null. y may be x.
struct Norm {
  size_t rows, cols;
  const float* x;
  size_t ldx;
  const float* gamma;
  const float* beta;
  float epsilon;
  float* y;
  size_t ldy;
};

// y[row] = reduction of x[row, :].
struct RowReduce {
  size_t rows, cols;
  const float* x;
  size_t ldx;
  float* y;
};

// How the rows that a product reads are stored. Rows of kBf16 and kU8 end in zeros up to a whole 64 bytes.
enum class RowFormat : uint8_t { kF32, kBf16, kU8 };  // padded_depth() in formats.h

// c[m, n] = activation(a[m, k] · b[k, n] + bias[n]), a and b bfloat16, sums float32. k is a padded depth. Rows
// [m, round up to 16) of a must be readable; what they hold does not matter. Each output is one chain over k, whatever
// m, n and the thread count are; the chain differs between instruction sets.
struct LinearBf16 {
  size_t m, n, k;
  const uint16_t* a;
  size_t lda;         // at least k
  const uint16_t* b;  // [ceil(n / 16)][k / 2][16][2], as pack_b_bf16 writes it
  const float* bias;  // n values, or null
  void* c;            // float, or bfloat16 when c_bf16
  size_t ldc;
  bool c_bf16;
  Activation activation;
};

// c[m, n] = activation(a_scale[m] · b_scale[n] · Σ_k (a − a_zero[m]) b + bias[n]): integer sums are exact, and what
// follows is the same float32 operations on every instruction set: float(sum) · (a_scale · b_scale) fused with the
// bias. k is a padded depth, k · 255 · 127 < 2^31. Rows [m, round up to 16) of a must be readable.
struct LinearInt8 {
  size_t m, n, k;
  const uint8_t* a;
  size_t lda;
  const float* a_scale;     // m
  const int32_t* a_zero;    // m, in [0, 255]; null: all 0
  const int8_t* b;          // [ceil(n / 16)][k / 4][16][4], as pack_b_int8 writes it
  const float* b_scale;     // n
  const int32_t* b_colsum;  // n sums over k of packed b; not read when a_zero is null
  const float* bias;        // n values, or null
  void* c;                  // float, or bfloat16 when c_bf16
  size_t ldc;
  bool c_bf16;
  Activation activation;
};

// Quantises b [k, n] (or [n, k] when `transposed`) symmetrically, each column n by itself: scale = max|b| / 127, and
// packs it. A column of zeros has scale 0. k is the true depth; the packed depth is padded_depth(kU8, k).
struct PackInt8 {
  size_t k, n;
  const float* b;
  size_t ldb;
  bool transposed;
  int8_t* packed;   // round up to 16(n) · padded depth
  float* scale;     // n, rounded up to 16: the rest 0
  int32_t* colsum;  // likewise
};
// Rounds b to bfloat16 (to nearest even) and packs it; the packed depth is padded_depth(kBf16, k).
struct PackBf16 {
  size_t k, n;
  const void* b;  // float, or bfloat16 when b_bf16
  size_t ldb;
  bool b_bf16, transposed;
  uint16_t* packed;  // round up to 16(n) · padded depth
};

// Rows on their way into a product. kU8: each row has scale = (max(x, 0) − min(x, 0)) / 255 and zero = round(−min /
// scale) of its own, u = clamp(round_half_even(x / scale) + zero); a row of zeros has scale 1, zero 0.
struct EncodedRows {
  RowFormat format;
  void* y;
  size_t ldy;     // elements; at least padded_depth(format, cols)
  float* scale;   // rows; kU8 only
  int32_t* zero;  // rows; kU8 only
  // cols values that each row is multiplied by before it is encoded, or null: SmoothQuant moves outliers of columns
  // into the weights with it. Every kernel with EncodedRows applies it, except softmax_rows.
  const float* factor = nullptr;
};
struct EncodeRows {
  size_t rows, cols;
  const void* x;  // float, or bfloat16 when x_bf16
  size_t ldx;
  bool x_bf16;
  EncodedRows out;
};

// s = x + residual; y = norm(s) · gamma + beta in float32, and the same encoded. The stream of a transformer: y may be
// x or residual. With kind kNone y = s.
enum class NormKind : uint8_t { kNone, kLayer, kRms };
struct NormRows {
  size_t rows, cols;
  const float* x;
  size_t ldx;
  const float* residual;  // or null
  size_t ld_residual;
  float* sum;  // where s is kept, or null (pre-norm models need both); may be x or residual
  size_t ld_sum;
  NormKind kind;
  const float* gamma;  // or null
  const float* beta;   // or null
  float epsilon;
  float* y;  // or null
  size_t ldy;
  EncodedRows out;  // y null in it: nothing is encoded
};

// y = activation(a) · b, encoded: gated linear units.
struct GatedRows {
  size_t rows, cols;
  const float* a;
  size_t lda;
  const float* b;
  size_t ldb;
  Activation activation;
  EncodedRows out;
};

// p = softmax(scale · x + mask) along each row, as the left operand of the product with the values. kU8: e = exp(s −
// max), u = round_half_even(255 e), row scale 1 / Σ u, no zero point (out.zero is not written); the others hold p
// itself. A row whose scores are all −inf gives zeros.
struct SoftmaxRows {
  size_t rows, cols;
  const float* x;
  size_t ldx;
  float scale;
  const float* mask;  // cols values for row 0, or null; −inf allowed
  ptrdiff_t ld_mask;  // to the next row's values; may be 0 or negative
  EncodedRows out;
};

// Rotary positions on `heads` heads of `d` columns side by side: y = x · cos + rotated(x) · sin, where rotated(x) is
// (−x2, x1) of the halves of the first `rotary` columns of a head; the others stay. Row r has position first + r.
struct RotateRows {
  size_t rows, heads, d, rotary;
  float* x;  // changed in place
  size_t ldx;
  const float* cos;  // [positions, rotary]
  const float* sin;
  size_t first;
};

using UnaryFn = void(size_t n, const float* x, float* y);  // y may be x
using BinaryFn = void(const Binary& args);
using RowReduceFn = void(const RowReduce& args);

}  // namespace narthex
