// The kernels of the chosen instruction set.
//
//   kernels().softmax({rows, cols, x, cols, 1.0F, nullptr, 0, y, cols});
//
// Chosen once, at the first call, by feature bits and NARTHEX_ISA, and by a measurement of microseconds where the bits
// do not tell whether an instruction pays. Every table gives bit-identical results, but for
// products of bfloat16 by the processor's own instructions (args.h): vectors
// have 16 lanes everywhere, reductions run over one fixed tree of those lanes, products run over k in order, and
// multiply-adds are fused on purpose or not at all. Kernels use one thread; gemm.h spreads products over a Team.
// Covered by tests/kernels: every row of kernels.def on every table.
#pragma once

#include <span>
#include <string_view>

#include "base/cpu.h"
#include "kernels/args.h"

namespace narthex {

struct KernelTable {
  Isa isa;
  std::string_view name;  // "avx512+vnni": what a report of speed should say
#define NX_KERNEL(kernel, result, parameters) result(*kernel) parameters;
#define NX_UNARY(kernel, from, to, max_relative, max_absolute) UnaryFn* kernel;
#define NX_BINARY(kernel) BinaryFn* kernel;
#define NX_REDUCE(kernel) RowReduceFn* kernel;
#include "kernels/kernels.def"
#undef NX_KERNEL
#undef NX_UNARY
#undef NX_BINARY
#undef NX_REDUCE
};

const KernelTable& kernels();
// Whether its bfloat16 products are instructions of the processor that are faster than float32's.
bool native_bf16();
// Every table this machine can run, the slowest first. The last is what kernels() returns unless NARTHEX_ISA is set.
std::span<const KernelTable> supported_tables();

}  // namespace narthex
