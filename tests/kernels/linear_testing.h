// What the tests of linear_bf16 and linear_int8 share.
#pragma once

#include "kernels/isa/isa.h"
#include "kernels/testing.h"

namespace narthex {

inline constexpr Activation kActivations[] = {Activation::kNone,     Activation::kRelu, Activation::kGeluErf,
                                              Activation::kGeluTanh, Activation::kTanh, Activation::kSigmoid,
                                              Activation::kSilu};

// Those of this machine, and the control flow of AMX on tiles in plain C++.
inline std::vector<KernelTable> tables_to_test() {
  const auto supported = supported_tables();
  std::vector<KernelTable> tables(supported.begin(), supported.end());
  KernelTable& tiles = tables.emplace_back(supported.front());
  tiles.name = "tiles in plain C++";
  tiles.begin_products = tiles_emulated::begin_products;
  tiles.end_products = tiles_emulated::end_products;
  tiles.linear_bf16 = tiles_emulated::linear_bf16;
  tiles.linear_int8 = tiles_emulated::linear_int8;
  return tables;
}

inline std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

inline float activated(Activation kind, float x) {
  const KernelTable& t = supported_tables().front();
  UnaryFn* const fns[] = {nullptr, t.relu, t.gelu_erf, t.gelu_tanh, t.tanh, t.sigmoid, t.silu};
  if (kind != Activation::kNone) fns[static_cast<std::size_t>(kind)](1, &x, &x);
  return x;
}

}  // namespace narthex
