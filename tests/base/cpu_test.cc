// Instruction sets, cores and quotas; quotas on copies of the kernel's files.
#include "base/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace narthex {
namespace {

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~ScopedVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Cpu, FeaturesBuildOnEachOther) {
  const CpuFeatures& f = cpu_features();
  if (f.avx512) {
    EXPECT_TRUE(f.avx2);
  }
  if (f.avx512_vnni || f.avx512_bf16) {
    EXPECT_TRUE(f.avx512);
  }
  if (f.neon_dotprod || f.neon_i8mm) {
    EXPECT_TRUE(f.neon);
  }
  EXPECT_FALSE(f.neon && f.avx2);
}

TEST(Cpu, EmptyMeansTheBestAndScalarAlwaysWorks) {
  {
    const ScopedVariable isa("NARTHEX_ISA", "");
    EXPECT_EQ(requested_isa(), best_isa());
  }
  const ScopedVariable isa("NARTHEX_ISA", "scalar");
  EXPECT_EQ(requested_isa(), Isa::kScalar);
}

// The names of this architecture's instruction sets, and one of the other's.
#if defined(__aarch64__)
constexpr std::string_view kNames = "scalar, neon";
constexpr const char* kForeign = "avx2";
#else
constexpr std::string_view kNames = "scalar, avx2, avx512, amx";
constexpr const char* kForeign = "neon";
#endif

TEST(Cpu, UnknownForeignAndMissingInstructionSetsAreSentences) {
  {
    const ScopedVariable isa("NARTHEX_ISA", "avx3");
    const auto r = requested_isa();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::kUsage);
    EXPECT_EQ(r.error().message, fmt::format("NARTHEX_ISA is 'avx3', expected one of {}", kNames));
  }
  {
    const ScopedVariable isa("NARTHEX_ISA", kForeign);
    const auto r = requested_isa();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().message,
              fmt::format("NARTHEX_ISA is '{}', which is of another kind of processor; this one may have {}", kForeign,
                          kNames));
  }
#if defined(__x86_64__)
  if (best_isa() == Isa::kAmx) return;  // nothing is missing here
  const ScopedVariable isa("NARTHEX_ISA", "amx");
  const auto r = requested_isa();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message,
            fmt::format("NARTHEX_ISA is 'amx', but this processor only has {}; unset it or choose that",
                        isa_name(best_isa())));
#endif
}

TEST(Cpu, ThreadsFromTheEnvironment) {
  {
    const ScopedVariable threads("NARTHEX_THREADS", "3");
    EXPECT_EQ(requested_threads(), 3);
  }
  {
    const ScopedVariable threads("NARTHEX_THREADS", "");
    EXPECT_EQ(requested_threads(), usable_cores());
    EXPECT_GE(usable_cores(), 1);
  }
  for (const char* bad : {"0", "-1", "two", "2x", "99999999999999999999", "1025", " 2"}) {
    const ScopedVariable threads("NARTHEX_THREADS", bad);
    const auto r = requested_threads();
    ASSERT_FALSE(r) << bad;
    EXPECT_EQ(r.error().message, fmt::format("NARTHEX_THREADS is '{}', expected a whole number from 1 to 1024", bad));
  }
}

class Quota : public testing::Test {
 protected:
  Quota() : root_(testing::TempDir() + "/nx_cgroup") { std::filesystem::remove_all(root_); }
  ~Quota() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::optional<double> read(const std::string& groups) {
    write("groups", groups);
    return cgroup_cpu_quota(root_ / "groups", root_ / "mount");
  }
  std::filesystem::path root_;
};

TEST_F(Quota, NoneWhereNothingIsSet) {
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read("0::/\n"), std::nullopt);
  write("mount/cpu.max", "max 100000\n");
  EXPECT_EQ(read("0::/\n"), std::nullopt);
  EXPECT_EQ(read("nonsense\n::\n0:\n"), std::nullopt);
}

TEST_F(Quota, Version2TakesTheSmallestOnTheWayUp) {
  write("mount/a/cpu.max", "150000 100000\n");
  write("mount/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(read("0::/a/b\n"), 1.5);
  write("mount/cpu.max", "50000 100000\n");
  EXPECT_EQ(read("0::/a/b\n"), 0.5);
}

TEST_F(Quota, AContainerSeesItsOwnGroupAtTheRoot) {
  write("mount/cpu.max", "200000 100000\n");
  EXPECT_EQ(read("0::/docker/0123abcd\n"), 2.0);
  EXPECT_EQ(read("0::/../../outside\n"), 2.0);
}

TEST_F(Quota, Version1WithJoinedControllers) {
  write("mount/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
  write("mount/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read("5:memory:/x\n4:cpu,cpuacct:/x\n3:cpuset:/y\n"), 2.5);
  write("mount/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(read("4:cpu,cpuacct:/x\n"), std::nullopt);
}

TEST_F(Quota, MalformedFilesCountAsNone) {
  for (const char* text : {"", "\n", "100000", "abc def", "100000 0", "-5 100000", "100000 100000 7"}) {
    write("mount/cpu.max", text);
    EXPECT_EQ(read("0::/\n"), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace narthex
