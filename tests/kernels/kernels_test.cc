// The tables and their choice.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace narthex {
namespace {

TEST(Kernels, EveryTableIsComplete) {
  ASSERT_FALSE(supported_tables().empty());
  EXPECT_EQ(supported_tables().front().isa, Isa::kScalar);
  for (const KernelTable& t : supported_tables()) {
#define NX_KERNEL(kernel, result, parameters) EXPECT_NE(t.kernel, nullptr) << t.name << " " << #kernel;
#define NX_UNARY(kernel, from, to, max_relative, max_absolute) EXPECT_NE(t.kernel, nullptr) << t.name << " " << #kernel;
#define NX_BINARY(kernel) EXPECT_NE(t.kernel, nullptr) << t.name << " " << #kernel;
#define NX_REDUCE(kernel) EXPECT_NE(t.kernel, nullptr) << t.name << " " << #kernel;
#include "kernels/kernels.def"
#undef NX_KERNEL
#undef NX_UNARY
#undef NX_BINARY
#undef NX_REDUCE
  }
}

TEST(Kernels, ChosenIsTheBestOfTheActiveInstructionSet) {
  const KernelTable& chosen = kernels();
  EXPECT_LE(chosen.isa, active_isa());
  for (const KernelTable& t : supported_tables()) {
    if (t.isa <= active_isa()) {
      EXPECT_LE(t.isa, chosen.isa);
    }
  }
  EXPECT_EQ(&chosen, &kernels());
}

TEST(Kernels, TablesAreOrderedAndFitTheMachine) {
  EXPECT_TRUE(std::ranges::is_sorted(supported_tables(), {}, &KernelTable::isa));
  EXPECT_EQ(supported_tables().back().isa, best_isa());
}

}  // namespace
}  // namespace narthex
