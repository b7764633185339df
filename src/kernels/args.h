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

using UnaryFn = void(size_t n, const float* x, float* y);  // y may be x
using BinaryFn = void(const Binary& args);
using RowReduceFn = void(const RowReduce& args);

}  // namespace narthex
