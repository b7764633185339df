// Numbers from one type to another where C++ leaves the result open.
//
//   truncate<T>(x)   float64 to an integer, for every x
//
// Covered by tests/ops/cast_test.cc.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace narthex {

// Toward zero. Out of range it gives what compilers for x86 make of static_cast, and ONNX Runtime with them, but on
// every machine: the smallest integer for 32 and 64 bits, and the low bits of that for narrower types.
template <class T>
T truncate(double x) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(truncate<std::int32_t>(x));
  } else if constexpr (std::is_unsigned_v<T>) {
    using Signed = std::make_signed_t<T>;
    const double half = std::ldexp(1.0, static_cast<int>(sizeof(T) * 8) - 1);
    const T top = T{1} << (sizeof(T) * 8 - 1);
    return x >= half ? static_cast<T>(truncate<Signed>(x - half)) ^ top : static_cast<T>(truncate<Signed>(x));
  } else {
    const double bound = std::ldexp(1.0, static_cast<int>(sizeof(T) * 8) - 1);
    const double whole = std::trunc(x);
    return whole >= -bound && whole < bound ? static_cast<T>(whole) : std::numeric_limits<T>::min();
  }
}

}  // namespace narthex
