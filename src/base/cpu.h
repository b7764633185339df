// What this processor can do and how much of it this process may use.
//
//   requested_isa()       the best instruction set here, or the one NARTHEX_ISA forces; an Error when that is
//   impossible requested_threads()   usable_cores(), or what NARTHEX_THREADS says
//
// Features come from CPUID and XCR0 bits (on ARM from the kernel's auxiliary vector), never from the model number:
// virtual machines report impossible models. The command line calls both `requested_` functions at its start, so that a
// mistyped variable is a sentence and exit code 2; code below it uses active_isa() and active_threads(), which fall
// back to the machine's own values. Covered by tests/base/cpu_test.cc.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace narthex {

// Ordered: each includes the ones before it that its processors have. kNeon, which stands alone on ARM, comes before
// all of x86's, so that `isa >= Isa::kAvx2` is false there.
enum class Isa { kScalar, kNeon, kAvx2, kAvx512, kAmx };

struct CpuFeatures {
  bool avx2 = false;         // with fma and f16c, and ymm state saved by the system
  bool avx512 = false;       // f, bw, vl, dq, cd, and zmm state saved by the system
  bool avx512_vnni = false;  // only ever true with avx512
  bool avx512_bf16 = false;  // only ever true with avx512
  bool avx_vnni = false;     // only ever true with avx2
  bool amx_int8 = false;     // the instructions exist and the system saves tiles; permission is asked by best_isa()
  bool amx_bf16 = false;
  bool neon = false;          // every 64-bit ARM processor
  bool neon_dotprod = false;  // only ever true with neon, as the next: products of four bytes and their sum
  bool neon_i8mm = false;     // the same of an unsigned by a signed byte
};

const CpuFeatures& cpu_features();
// Asks the system for the tile registers first, once, where they exist: kAmx only if it lends them. A thread with a
// signal stack too small for them makes it refuse, so ask before there are threads.
Isa best_isa();
std::string_view isa_name(Isa isa);

// Reads NARTHEX_ISA ("scalar", "avx2", "avx512", "amx", on ARM "scalar", "neon"; empty or unset means best_isa()).
// kUsage for an unknown name, one of the other architecture or one this machine lacks.
Result<Isa> requested_isa();
Isa active_isa();

// Cores in the affinity mask, further limited by the cgroup's CPU quota (rounded down, at least 1: a quota of 1.5 cores
// given to two threads is throttled for a third of each period, which ruins latency).
int usable_cores();
// Reads NARTHEX_THREADS (1 to kMaxThreads; empty or unset means usable_cores()).
Result<int> requested_threads();
int active_threads();
inline constexpr int kMaxThreads = 1024;

// The CPU quota in cores that applies to the process whose /proc/self/cgroup is given; the smallest of the group and
// its parents, cgroup v1 and v2. `cgroup_root` is where they are mounted. Nothing when no quota is set or readable.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& proc_self_cgroup,
                                       const std::filesystem::path& cgroup_root);

}  // namespace narthex
