// Dim: a dimension as an integer expression in named sizes (batch, sequence, ...).
//
// A Dim is kept in a canonical form (a polynomial over atoms with integer coefficients; an atom is a name, or an opaque
// floor division, minimum or maximum of two Dims), so that equal expressions compare equal. Arithmetic that would
// overflow 64 bits, or grow past 64 terms, gives a fresh unknown: unknowns are equal only to themselves. Covered by
// tests/graph/dim_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narthex {

class Dim {
 public:
  Dim() : Dim(std::int64_t{0}) {}
  Dim(std::int64_t value);  // implicit: a number is a dimension
  static Dim symbol(std::string_view name);
  static Dim unknown();

  bool is_constant() const;
  std::optional<std::int64_t> constant() const;
  bool is_unknown() const;
  // The name, if this is exactly one symbol.
  std::optional<std::string_view> symbol_name() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  // Rounds toward minus infinity; exact when every coefficient of a constant divisor divides, or a is a multiple of b.
  static Dim floor_div(const Dim& a, const Dim& b);
  static Dim min(const Dim& a, const Dim& b);
  static Dim max(const Dim& a, const Dim& b);
  // Whether a ≥ b for every binding of the symbols to positive numbers; nullopt when that is not decided.
  static std::optional<bool> always_at_least(const Dim& a, const Dim& b);

  // The value under the bindings; nullopt if a symbol is not bound or the result overflows.
  using Bindings = std::function<std::optional<std::int64_t>(std::string_view symbol)>;
  std::optional<std::int64_t> evaluate(const Bindings& bindings) const;
  // "batch", "batch*seq + 1", "floor(seq/2)"; unknowns print as "?3".
  std::string to_string() const;

 private:
  struct Expr;
  explicit Dim(std::shared_ptr<const Expr> expr) : expr_(std::move(expr)) {}
  std::shared_ptr<const Expr> expr_;
};

using Shape = std::vector<Dim>;
std::string shape_string(const Shape& shape);

}  // namespace narthex
