#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/home.h"
#include "base/log.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace narthex {
namespace {

constexpr std::array<std::string_view, 5> kIsaNames = {"scalar", "neon", "avx2", "avx512", "amx"};

#if defined(__x86_64__)
constexpr Isa kIsasOfBuild[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAmx};

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};
Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}
bool bit(unsigned value, int i) {
  return ((value >> i) & 1U) != 0;
}

// Which register states the operating system saves: without it the instructions fault or lose data.
std::uint64_t saved_states(const Leaf& leaf1) {
  if (!bit(leaf1.ecx, 27)) return 0;  // OSXSAVE
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

CpuFeatures detect() {
  const Leaf leaf1 = cpuid(1, 0), leaf7 = cpuid(7, 0), leaf7_1 = leaf7.eax >= 1 ? cpuid(7, 1) : Leaf{};
  const std::uint64_t saved = saved_states(leaf1);
  const auto saves = [&](std::uint64_t states) { return (saved & states) == states; };
  CpuFeatures f;
  f.avx2 = saves(0x6) && bit(leaf1.ecx, 12) && bit(leaf1.ecx, 28) && bit(leaf1.ecx, 29) && bit(leaf7.ebx, 5);
  f.avx512 = f.avx2 && saves(0xE6) && bit(leaf7.ebx, 16) && bit(leaf7.ebx, 17) && bit(leaf7.ebx, 28) &&
             bit(leaf7.ebx, 30) && bit(leaf7.ebx, 31);
  f.avx512_vnni = f.avx512 && bit(leaf7.ecx, 11);
  f.avx512_bf16 = f.avx512 && bit(leaf7_1.eax, 5);
  f.avx_vnni = f.avx2 && bit(leaf7_1.eax, 4);
  const bool tiles = saves(0x60000) && bit(leaf7.edx, 24);
  f.amx_int8 = tiles && bit(leaf7.edx, 25);
  f.amx_bf16 = tiles && bit(leaf7.edx, 22);
  return f;
}
// The state of tile registers is 8 KB per thread, which Linux allocates only for processes that ask. The permission
// holds for all threads, present and future.
bool tiles_permitted() {
  constexpr int kGetPermission = 0x1022, kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2)
  unsigned long permitted = 0;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 &&
         syscall(SYS_arch_prctl, kGetPermission, &permitted) == 0 && ((permitted >> kTileData) & 1U) != 0;
}
#elif defined(__aarch64__)
constexpr Isa kIsasOfBuild[] = {Isa::kScalar, Isa::kNeon};

CpuFeatures detect() {
  constexpr unsigned long kAdvancedSimd = 1UL << 1, kDotProduct = 1UL << 20,
                          kInt8Matrices = 1UL << 13;  // <asm/hwcap.h>
  CpuFeatures f;
  f.neon = (getauxval(AT_HWCAP) & kAdvancedSimd) != 0;
  f.neon_dotprod = f.neon && (getauxval(AT_HWCAP) & kDotProduct) != 0;
  f.neon_i8mm = f.neon && (getauxval(AT_HWCAP2) & kInt8Matrices) != 0;
  return f;
}
bool tiles_permitted() {
  return false;
}
#else
constexpr Isa kIsasOfBuild[] = {Isa::kScalar};

CpuFeatures detect() {
  return {};
}
bool tiles_permitted() {
  return false;
}
#endif

std::string names_of_build() {
  std::string names;
  for (const Isa isa : kIsasOfBuild) {
    if (!names.empty()) names += ", ";
    names += isa_name(isa);
  }
  return names;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> positive_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> ratio(std::string_view quota, std::string_view period) {
  const auto q = positive_number(quota), p = positive_number(period);
  if (!q || !p) return std::nullopt;  // "max" and −1 mean no limit
  return *q / *p;
}

std::optional<double> quota_of_folder(const std::filesystem::path& folder) {
  if (const std::string line = first_line(folder / "cpu.max"); !line.empty()) {  // v2: "QUOTA PERIOD"
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) return std::nullopt;
    return ratio(std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1));
  }
  return ratio(first_line(folder / "cpu.cfs_quota_us"), first_line(folder / "cpu.cfs_period_us"));
}

// Inside a container the path is often that of the host, which does not exist under the mounted root; the root is then
// the container's own group, and is looked at in any case.
void lower_to_quota_of(const std::filesystem::path& mount, const std::string& group, std::optional<double>& quota) {
  std::filesystem::path folder = std::filesystem::path(group).relative_path().lexically_normal();
  if (folder.begin() != folder.end() && *folder.begin() == "..") folder.clear();
  for (;;) {
    if (const auto q = quota_of_folder(mount / folder)) quota = quota ? std::min(*quota, *q) : *q;
    if (folder.empty() || folder == folder.parent_path()) return;
    folder = folder.parent_path();
  }
}

int affinity_cores() {
  // The mask grows with the machine: try larger ones until the kernel's fits.
  for (std::size_t n_cpus = 1024; n_cpus <= 1U << 20; n_cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(n_cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(n_cpus);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(count, 1);
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

Isa best_isa() {
  static const Isa isa = [] {
    const CpuFeatures& f = cpu_features();
    // The tiles' table takes its other kernels from AVX-512 with all that these processors have.
    if (f.amx_int8 && f.amx_bf16 && f.avx512_vnni && f.avx512_bf16 && tiles_permitted()) return Isa::kAmx;
    return f.avx512 ? Isa::kAvx512 : f.avx2 ? Isa::kAvx2 : f.neon ? Isa::kNeon : Isa::kScalar;
  }();
  return isa;
}

std::string_view isa_name(Isa isa) {
  return kIsaNames[static_cast<std::size_t>(isa)];
}

Result<Isa> requested_isa() {
  const std::string name = environment("NARTHEX_ISA");
  if (name.empty()) return best_isa();
  for (const Isa isa : kIsasOfBuild) {
    if (isa_name(isa) != name) continue;
    if (isa <= best_isa()) return isa;
    return fail(ErrorCode::kUsage, "NARTHEX_ISA is '{}', but this processor only has {}; unset it or choose that", name,
                isa_name(best_isa()));
  }
  if (std::ranges::find(kIsaNames, name) != kIsaNames.end()) {
    return fail(ErrorCode::kUsage, "NARTHEX_ISA is '{}', which is of another kind of processor; this one may have {}",
                name, names_of_build());
  }
  return fail(ErrorCode::kUsage, "NARTHEX_ISA is '{}', expected one of {}", name, names_of_build());
}

Isa active_isa() {
  static const Isa isa = [] {
    const auto requested = requested_isa();
    if (!requested) log_warn("{}; {} is used", requested.error().message, isa_name(best_isa()));
    return requested.value_or(best_isa());
  }();
  return isa;
}

std::optional<double> cgroup_cpu_quota(const std::filesystem::path& proc_self_cgroup,
                                       const std::filesystem::path& cgroup_root) {
  std::ifstream file(proc_self_cgroup);
  std::optional<double> quota;
  for (std::string line; std::getline(file, line);) {  // "ID:CONTROLLERS:PATH"; v2 has id 0 and no controllers
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      lower_to_quota_of(cgroup_root, group, quota);
      lower_to_quota_of(cgroup_root / "unified", group, quota);
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      lower_to_quota_of(cgroup_root / controllers, group, quota);
      if (controllers != "cpu") lower_to_quota_of(cgroup_root / "cpu", group, quota);
    }
  }
  return quota;
}

int usable_cores() {
  static const int cores = [] {
    const auto quota = cgroup_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    const int affinity = std::min(affinity_cores(), kMaxThreads);
    if (!quota || *quota >= affinity) return affinity;
    return std::max(1, static_cast<int>(std::floor(*quota)));
  }();
  return cores;
}

Result<int> requested_threads() {
  const std::string text = environment("NARTHEX_THREADS");
  if (text.empty()) return usable_cores();
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > kMaxThreads) {
    return fail(ErrorCode::kUsage, "NARTHEX_THREADS is '{}', expected a whole number from 1 to {}", text, kMaxThreads);
  }
  return n;
}

int active_threads() {
  static const int threads = [] {
    const auto requested = requested_threads();
    if (!requested) log_warn("{}; {} is used", requested.error().message, usable_cores());
    return requested.value_or(usable_cores());
  }();
  return threads;
}

}  // namespace narthex
