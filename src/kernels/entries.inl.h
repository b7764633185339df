// The functions of kernels.def, defined for the instruction set that includes this: the last include of isa/*.cc.
#pragma once

void gemm_f32(const GemmF32& g) {
  gemm_f32_all(g);
}
void pack_b_f32(size_t k, size_t n, const float* b, size_t ldb, bool transposed, float* packed) {
  pack_panels(k, n, b, ldb, transposed, packed);
}
void gemm_int8(const GemmInt8& g) {
  gemm_int8_all(g);
}
void begin_products() {}
void end_products() {}
void linear_bf16(const LinearBf16& g) {
  linear_all<LinearBf16Dots>(g, 2);
}
void linear_int8(const LinearInt8& g) {
  linear_all<LinearInt8Dots>(g, 1);
}
void transpose_f32(size_t rows, size_t cols, const float* x, size_t ldx, float* y, size_t ldy) {
  transpose_matrix(rows, cols, x, ldx, y, ldy);
}

void pack_b_bf16(const PackBf16& g) {
  pack_bf16_all(g);
}
void pack_b_int8(const PackInt8& g) {
  pack_int8_all(g);
}
void encode_rows(const EncodeRows& g) {
  encode_rows_all(g);
}
void norm_rows(const NormRows& g) {
  norm_rows_all(g);
}
void gated_rows(const GatedRows& g) {
  gated_rows_all(g);
}
void softmax_rows(const SoftmaxRows& g) {
  softmax_rows_all(g);
}
void rotate_rows(const RotateRows& g) {
  rotate_rows_all(g);
}

void softmax(const Softmax& s) {
  for (size_t row = 0; row < s.rows; row++) {
    const float* mask = s.mask == nullptr ? nullptr : s.mask + row * s.ld_mask;
    softmax_row(s.cols, s.x + row * s.ldx, s.scale, mask, s.y + row * s.ldy);
  }
}
void layer_norm(const Norm& l) {
  for (size_t row = 0; row < l.rows; row++) layer_norm_row(l, l.x + row * l.ldx, l.y + row * l.ldy);
}
void rms_norm(const Norm& l) {
  for (size_t row = 0; row < l.rows; row++) rms_norm_row(l, l.x + row * l.ldx, l.y + row * l.ldy);
}
void l2_normalize(const Norm& l) {
  for (size_t row = 0; row < l.rows; row++) l2_normalize_row(l, l.x + row * l.ldx, l.y + row * l.ldy);
}
float dot(size_t n, const float* a, const float* b) {
  return dot_row(n, a, b);
}
void fma(size_t n, const float* a, const float* b, const float* c, float* y) {
  fma_spans(n, a, b, c, y);
}
void min_max(size_t n, const float* x, float* low_high) {
  low_high[0] = min_row(n, x);
  low_high[1] = max_row(n, x);
}
void quantize_u8(size_t n, const float* x, float scale, uint8_t zero, uint8_t* y) {
  quantize_span(n, x, scale, zero, y);
}

#define NX_ENTRY_UNARY(name, vector)                              \
  void name(size_t n, const float* x, float* y) {                 \
    map16(n, x, y, [](Vec16f v) NX_LAMBDA { return vector(v); }); \
  }
NX_ENTRY_UNARY(exp, exp16)
NX_ENTRY_UNARY(log, log16)
NX_ENTRY_UNARY(erf, erf16)
NX_ENTRY_UNARY(tanh, tanh16)
NX_ENTRY_UNARY(sigmoid, sigmoid16)
NX_ENTRY_UNARY(gelu_erf, gelu_erf16)
NX_ENTRY_UNARY(gelu_tanh, gelu_tanh16)
NX_ENTRY_UNARY(silu, silu16)
NX_ENTRY_UNARY(relu, relu16)
NX_ENTRY_UNARY(sqrt, sqrt16)
NX_ENTRY_UNARY(rsqrt, rsqrt16)
NX_ENTRY_UNARY(reciprocal, reciprocal16)
NX_ENTRY_UNARY(square, square16)
NX_ENTRY_UNARY(neg, neg16)
NX_ENTRY_UNARY(abs, abs16)
#undef NX_ENTRY_UNARY

#define NX_ENTRY_BINARY(name, expression)                                   \
  void name(const Binary& g) {                                              \
    map_binary(g, [](Vec16f a, Vec16f b) NX_LAMBDA { return expression; }); \
  }
NX_ENTRY_BINARY(add, a + b)
NX_ENTRY_BINARY(sub, a - b)
NX_ENTRY_BINARY(mul, a* b)
NX_ENTRY_BINARY(div, a / b)
NX_ENTRY_BINARY(min, min_or_nan(a, b))
NX_ENTRY_BINARY(max, max_or_nan(a, b))
#undef NX_ENTRY_BINARY

void reduce_sum(const RowReduce& g) {
  reduce_rows(g, sum_row);
}
void reduce_mean(const RowReduce& g) {
  reduce_rows(g, [](size_t n, const float* x) NX_LAMBDA { return sum_row(n, x) / static_cast<float>(n); });
}
void reduce_max(const RowReduce& g) {
  reduce_rows(g, max_row);
}
void reduce_min(const RowReduce& g) {
  reduce_rows(g, min_row);
}
