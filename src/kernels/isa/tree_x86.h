// The last three levels of the reduction tree, and a 4 by 4 transposition: the same code for AVX2 and AVX-512.
// Included by vec_avx2.h and vec_avx512.h.

NX_INLINE float sum_lanes(Vec16f a) {
  const __m256 eight = _mm256_add_ps(lower_half(a), upper_half(a));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
NX_INLINE float max_lanes(Vec16f a) {
  const __m256 eight = _mm256_max_ps(lower_half(a), upper_half(a));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

NX_INLINE void transpose_4x4(const float* x, size_t ldx, float* y, size_t ldy) {
  const __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + ldx), c = _mm_loadu_ps(x + 2 * ldx),
               d = _mm_loadu_ps(x + 3 * ldx);
  const __m128 ab_lo = _mm_unpacklo_ps(a, b), ab_hi = _mm_unpackhi_ps(a, b);
  const __m128 cd_lo = _mm_unpacklo_ps(c, d), cd_hi = _mm_unpackhi_ps(c, d);
  _mm_storeu_ps(y, _mm_movelh_ps(ab_lo, cd_lo));
  _mm_storeu_ps(y + ldy, _mm_movehl_ps(cd_lo, ab_lo));
  _mm_storeu_ps(y + 2 * ldy, _mm_movelh_ps(ab_hi, cd_hi));
  _mm_storeu_ps(y + 3 * ldy, _mm_movehl_ps(cd_hi, ab_hi));
}

NX_INLINE float sqrt1(float x) {
  return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
}
