#include "plan/buffers.h"

#include <gtest/gtest.h>

namespace narthex {
namespace {

TEST(BufferPool, MemoryOfADeadTensorServesTheNext) {
  BufferPool pool(1 << 20);
  const std::byte* first = nullptr;
  {
    const Tensor a = *pool.allocate(DType::kFloat32, {100});
    first = a.data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  }
  const Tensor b = *pool.allocate(DType::kFloat32, {90});
  EXPECT_EQ(b.data(), first);
  const Tensor c = *pool.allocate(DType::kFloat32, {90});
  EXPECT_NE(c.data(), first);
}

TEST(BufferPool, AViewHoldsTheMemory) {
  BufferPool pool(1 << 20);
  Tensor a = *pool.allocate(DType::kFloat32, {6, 4});
  EXPECT_TRUE(pool.is_sole_owner(a));
  const Tensor view = a.reshaped({24});
  EXPECT_FALSE(pool.is_sole_owner(a));
  a = Tensor();
  EXPECT_TRUE(pool.is_sole_owner(view));
  EXPECT_NE(pool.allocate(DType::kFloat32, {24})->data(), view.data());
}

TEST(BufferPool, SmallTensorsDoNotTakeLargeBuffers) {
  BufferPool pool(1 << 20);
  static_cast<void>(pool.allocate(DType::kFloat32, {10000}));
  static_cast<void>(pool.allocate(DType::kFloat32, {10}));
  EXPECT_GT(pool.bytes(), 40000U);
}

TEST(BufferPool, TrimGivesBackWhatTheLastRunDidNotUse) {
  BufferPool pool(1 << 20);
  static_cast<void>(pool.allocate(DType::kFloat32, {10000}));
  pool.trim();
  EXPECT_GE(pool.bytes(), 40000U);
  static_cast<void>(pool.allocate(DType::kFloat32, {10}));
  pool.trim();
  EXPECT_LT(pool.bytes(), 1000U);
}

TEST(BufferPool, LimitIsAnError) {
  BufferPool pool(1000);
  const auto tensor = pool.allocate(DType::kFloat32, {251});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().message, "a float tensor of shape [251] exceeds the limit of 1000 bytes");
}

}  // namespace
}  // namespace narthex
