// What every isa/*.cc starts with: the arguments, the attributes, and the declarations of kernels.def per instruction
// set. No header of the standard library may be added: its inline functions would be compiled with this file's
// instructions, and the linker might choose that copy for the whole program.
#pragma once

#include "kernels/args.h"

// The plain files leave inlining to the compiler: their vectors are arrays, and everything in one function takes
// minutes to compile.
#if defined(NX_PLAIN)
#define NX_INLINE inline
#define NX_LAMBDA
#else
#define NX_INLINE __attribute__((always_inline)) inline
#define NX_LAMBDA __attribute__((always_inline))
#endif

#define NX_KERNEL(name, result, parameters) result name parameters;
#define NX_UNARY(name, from, to, max_relative, max_absolute) void name(size_t n, const float* x, float* y);
#define NX_BINARY(name) void name(const Binary& g);
#define NX_REDUCE(name) void name(const RowReduce& g);
namespace narthex::scalar {
#include "kernels/kernels.def"
}
namespace narthex::neon {
#include "kernels/kernels.def"
}
namespace narthex::avx2 {
#include "kernels/kernels.def"
}
namespace narthex::avx512 {
#include "kernels/kernels.def"
}
#undef NX_KERNEL
#undef NX_UNARY
#undef NX_BINARY
#undef NX_REDUCE

// Variants for further feature bits; kernels.cc puts them into the table in place of the plain ones.
namespace narthex::neon_dotprod {
void gemm_int8(const GemmInt8& g);
void linear_int8(const LinearInt8& g);
}  // namespace narthex::neon_dotprod
namespace narthex::neon_i8mm {
void gemm_int8(const GemmInt8& g);
void linear_int8(const LinearInt8& g);
}  // namespace narthex::neon_i8mm
namespace narthex::avx2_vnni {
void gemm_int8(const GemmInt8& g);
void linear_int8(const LinearInt8& g);
}  // namespace narthex::avx2_vnni
namespace narthex::avx512_vnni {
void gemm_int8(const GemmInt8& g);
void linear_int8(const LinearInt8& g);
}  // namespace narthex::avx512_vnni
namespace narthex::avx512_bf16 {
void linear_bf16(const LinearBf16& g);
bool pays();  // whether this processor runs it faster than the plain one; some have the instruction, slowly
}  // namespace narthex::avx512_bf16
#define NX_TILE_KERNELS                  \
  void begin_products();                 \
  void end_products();                   \
  void linear_bf16(const LinearBf16& g); \
  void linear_int8(const LinearInt8& g);
namespace narthex::amx {
NX_TILE_KERNELS
}
namespace narthex::tiles_emulated {  // for tests
NX_TILE_KERNELS
}
#undef NX_TILE_KERNELS
