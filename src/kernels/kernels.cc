#include "kernels/kernels.h"

#include <vector>

#include "kernels/isa/isa.h"

namespace narthex {
namespace {

#define NX_KERNEL(kernel, result, parameters) , NX_ISA::kernel
#define NX_UNARY(kernel, from, to, max_relative, max_absolute) , NX_ISA::kernel
#define NX_BINARY(kernel) , NX_ISA::kernel
#define NX_REDUCE(kernel) , NX_ISA::kernel

#define NX_ISA scalar
constexpr KernelTable kScalarTable = {Isa::kScalar, "scalar"
#include "kernels/kernels.def"
};
#undef NX_ISA

#if defined(__x86_64__)
#define NX_ISA avx2
constexpr KernelTable kAvx2Table = {Isa::kAvx2, "avx2"
#include "kernels/kernels.def"
};
#undef NX_ISA
#define NX_ISA avx512
constexpr KernelTable kAvx512Table = {Isa::kAvx512, "avx512"
#include "kernels/kernels.def"
};
#undef NX_ISA
#elif defined(__aarch64__)
#define NX_ISA neon
constexpr KernelTable kNeonTable = {Isa::kNeon, "neon"
#include "kernels/kernels.def"
};
#undef NX_ISA
#endif

std::vector<KernelTable> make_tables() {
  std::vector<KernelTable> tables = {kScalarTable};
#if defined(__x86_64__)
  const CpuFeatures& cpu = cpu_features();
  if (cpu.avx2) tables.push_back(kAvx2Table);
  // Variants for further features, each a copy of the table before it with some kernels replaced.
  if (cpu.avx_vnni) {
    KernelTable& t = tables.emplace_back(kAvx2Table);
    t.name = "avx2+vnni";
    t.gemm_int8 = avx2_vnni::gemm_int8;
    t.linear_int8 = avx2_vnni::linear_int8;
  }
  if (cpu.avx512) tables.push_back(kAvx512Table);
  const bool bf16_pays = cpu.avx512_bf16 && avx512_bf16::pays();
  if (cpu.avx512_bf16 && !bf16_pays) {
    KernelTable& t = tables.emplace_back(kAvx512Table);
    t.name = "avx512+bf16";
    t.linear_bf16 = avx512_bf16::linear_bf16;
  }
  if (cpu.avx512_vnni) {
    KernelTable& t = tables.emplace_back(kAvx512Table);
    t.name = "avx512+vnni";
    t.gemm_int8 = avx512_vnni::gemm_int8;
    t.linear_int8 = avx512_vnni::linear_int8;
    if (bf16_pays) {
      KernelTable& both = tables.emplace_back(KernelTable(t));
      both.name = "avx512+vnni+bf16";
      both.linear_bf16 = avx512_bf16::linear_bf16;
    }
    if (best_isa() >= Isa::kAmx) {
      KernelTable& tiles = tables.emplace_back(KernelTable(tables.back()));
      tiles.isa = Isa::kAmx;
      tiles.name = "amx";
      tiles.begin_products = amx::begin_products;
      tiles.end_products = amx::end_products;
      tiles.linear_bf16 = amx::linear_bf16;
      tiles.linear_int8 = amx::linear_int8;
    }
  }
#elif defined(__aarch64__)
  const CpuFeatures& cpu = cpu_features();
  if (cpu.neon) tables.push_back(kNeonTable);
  if (cpu.neon_dotprod) {
    KernelTable& t = tables.emplace_back(kNeonTable);
    t.name = "neon+dotprod";
    t.gemm_int8 = neon_dotprod::gemm_int8;
    t.linear_int8 = neon_dotprod::linear_int8;
  }
  if (cpu.neon_i8mm) {
    KernelTable& t = tables.emplace_back(kNeonTable);
    t.name = "neon+i8mm";
    t.gemm_int8 = neon_i8mm::gemm_int8;
    t.linear_int8 = neon_i8mm::linear_int8;
  }
#endif
  return tables;
}

const KernelTable& choose() {
  const Isa isa = active_isa();
  const auto tables = supported_tables();
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < tables.size(); i++)
    if (tables[i].isa <= isa) chosen = i;
  return tables[chosen];
}

}  // namespace

std::span<const KernelTable> supported_tables() {
  static const std::vector<KernelTable> tables = make_tables();
  return tables;
}

const KernelTable& kernels() {
  static const KernelTable& table = choose();
  return table;
}

bool native_bf16() {
#if defined(__x86_64__)
  return kernels().linear_bf16 == amx::linear_bf16 || kernels().linear_bf16 == avx512_bf16::linear_bf16;
#else
  return false;
#endif
}

}  // namespace narthex
