// What every step of an Encoder has, whatever it is: the rows it writes and the columns it reads.
#pragma once

#include "plan/encoder.h"

namespace narthex {

inline RowsId& out_of(Step& step) {
  return std::visit([](auto& s) -> RowsId& { return s.out; }, step);
}
inline RowsId out_of(const Step& step) {
  return std::visit([](const auto& s) { return s.out; }, step);
}

inline std::vector<Columns*> columns_of(Step& step) {
  return std::visit(
      [](auto& s) -> std::vector<Columns*> {
        if constexpr (requires { s.q; }) {
          return {&s.q, &s.k, &s.v};
        } else if constexpr (requires { s.a; }) {
          return {&s.a, &s.b};
        } else if constexpr (requires { s.in; }) {
          return {&s.in};
        } else {
          return {};
        }
      },
      step);
}
inline std::vector<const Columns*> columns_of(const Step& step) {
  const std::vector<Columns*> columns = columns_of(const_cast<Step&>(step));
  return {columns.begin(), columns.end()};
}

}  // namespace narthex
