// Canonical integer polynomials over atoms; see dim.h.
//
// Terms are kept in descending graded lexicographic order, which multiplication respects, so that exact polynomial
// division works by leading terms. Expressions are immutable and shared, and nothing is interned: an expression lives
// as long as some Dim holds it. Every expression is bounded in terms, degree and tree size, so comparing two is cheap
// too.
#include "graph/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <compare>
#include <numeric>
#include <utility>

namespace narthex {
namespace {

constexpr std::size_t kMaxTerms = 64;
constexpr std::size_t kMaxDegree = 16;
constexpr std::size_t kMaxSize = 512;  // atoms of the whole tree, repeated ones counted each time
constexpr std::size_t kMaxArgs = 8;    // of a minimum or maximum
constexpr int kMaxBoundSteps = 32;     // attempts to prove one inequality: a hostile model must not make it slow

using Number = std::optional<std::int64_t>;

Number add(Number a, Number b) {
  std::int64_t out = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}
Number multiply(Number a, Number b) {
  std::int64_t out = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}
Number divide(Number a, Number b) {
  if (!a || !b || *b == 0 || (*b == -1 && *a == INT64_MIN)) return std::nullopt;
  const std::int64_t quotient = *a / *b;
  return *a % *b != 0 && (*a < 0) != (*b < 0) ? quotient - 1 : quotient;
}

// Closed interval; nullopt: no bound is known.
struct Range {
  Number low;
  Number high;
};

}  // namespace

struct Dim::Expr {
  enum class Kind { kSymbol, kUnknown, kFloorDiv, kMin, kMax };
  struct Atom {
    Kind kind;
    std::string name;       // of a symbol
    std::uint64_t id = 0;   // of an unknown
    std::vector<Dim> args;  // of an opaque function
    std::size_t size = 1;
    bool unknown = false;  // it or an argument is unknown
  };
  using AtomPtr = std::shared_ptr<const Atom>;
  struct Term {
    std::vector<AtomPtr> atoms;  // ascending, repeated for powers
    std::int64_t coefficient;
  };
  using Terms = std::vector<Term>;

  Terms terms;  // descending; no coefficient is zero; none at all is 0

  static const Terms& of(const Dim& dim) { return dim.expr_->terms; }
  static std::strong_ordering compare(const Atom& a, const Atom& b);
  static std::strong_ordering compare(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b);
  static std::strong_ordering compare(const Dim& a, const Dim& b);

  static Dim make(Terms terms);
  static Dim from_atom(Atom atom);
  static Dim function(Kind kind, std::vector<Dim> args);
  static const Atom* single_atom(const Dim& dim);

  static Dim scale(const Dim& a, std::int64_t factor);
  static std::optional<Dim> divide_exactly(const Dim& a, const Dim& b);
  static void cancel_common_factors(Dim& a, Dim& b);
  static Dim divide_by_constant(const Dim& a, std::int64_t divisor);
  static Dim extremum(Kind kind, const Dim& a, const Dim& b);

  static Range range(const Atom& atom, std::int64_t symbol_low);
  static Range range(const Dim& dim, std::int64_t symbol_low);
  static Dim shift_symbols(const Dim& dim);
  static bool never_negative(const Dim& dim, int& steps);
  static Number evaluate(const Atom& atom, const Bindings& bindings);
  static std::string print(const Atom& atom);
};

std::strong_ordering Dim::Expr::compare(const Atom& a, const Atom& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (a.kind != b.kind) return a.kind <=> b.kind;
  if (a.kind == Kind::kSymbol) return a.name <=> b.name;
  if (a.kind == Kind::kUnknown) return a.id <=> b.id;
  if (a.args.size() != b.args.size()) return a.args.size() <=> b.args.size();
  for (std::size_t i = 0; i < a.args.size(); ++i) {
    if (const auto order = compare(a.args[i], b.args[i]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

// Graded lexicographic: of two monomials of one degree, the one with more of an earlier atom is the greater.
std::strong_ordering Dim::Expr::compare(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const auto order = compare(*b[i], *a[i]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering Dim::Expr::compare(const Dim& a, const Dim& b) {
  const Terms& x = of(a);
  const Terms& y = of(b);
  if (&x == &y) return std::strong_ordering::equal;
  if (x.size() != y.size()) return x.size() <=> y.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (const auto order = compare(x[i].atoms, y[i].atoms); order != 0) return order;
    if (x[i].coefficient != y[i].coefficient) return x[i].coefficient <=> y[i].coefficient;
  }
  return std::strong_ordering::equal;
}

// Sorts, combines and checks the limits.
Dim Dim::Expr::make(Terms terms) {
  std::ranges::sort(terms, [](const Term& a, const Term& b) { return compare(a.atoms, b.atoms) > 0; });
  Terms out;
  std::size_t size = 0;
  for (std::size_t i = 0; i < terms.size();) {
    // Positive and negative parts apart: x + MAX - MAX must not overflow on the way in one order and not in another.
    Number positive = 0;
    Number negative = 0;
    std::size_t end = i;
    for (; end < terms.size() && compare(terms[end].atoms, terms[i].atoms) == 0; ++end) {
      Number& part = terms[end].coefficient > 0 ? positive : negative;
      part = add(part, terms[end].coefficient);
    }
    const Number sum = add(positive, negative);
    if (!sum || terms[i].atoms.size() > kMaxDegree) return unknown();
    if (*sum != 0) {
      for (const AtomPtr& atom : terms[i].atoms) size += atom->size;
      out.push_back(Term{std::move(terms[i].atoms), *sum});
    }
    i = end;
  }
  if (out.size() > kMaxTerms || size > kMaxSize) return unknown();
  auto expr = std::make_shared<Expr>();
  expr->terms = std::move(out);
  return Dim(std::shared_ptr<const Expr>(std::move(expr)));
}

Dim Dim::Expr::from_atom(Atom atom) {
  auto expr = std::make_shared<Expr>();
  expr->terms.push_back(Term{{std::make_shared<const Atom>(std::move(atom))}, 1});
  return Dim(std::shared_ptr<const Expr>(std::move(expr)));
}

Dim Dim::Expr::function(Kind kind, std::vector<Dim> args) {
  Atom atom{kind, {}, 0, std::move(args), 1, false};
  for (const Dim& arg : atom.args) {
    for (const Term& term : of(arg)) {
      for (const AtomPtr& inner : term.atoms) {
        atom.size += inner->size;
        atom.unknown |= inner->unknown;
      }
    }
  }
  return atom.size > kMaxSize ? Dim::unknown() : from_atom(std::move(atom));
}

// The atom, when the expression is nothing but one.
const Dim::Expr::Atom* Dim::Expr::single_atom(const Dim& dim) {
  const Terms& terms = of(dim);
  return terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1 ? terms[0].atoms[0].get()
                                                                                      : nullptr;
}

Dim::Dim(std::int64_t value) {
  auto expr = std::make_shared<Expr>();
  if (value != 0) expr->terms.push_back(Expr::Term{{}, value});
  expr_ = std::move(expr);
}

Dim Dim::symbol(std::string_view name) {
  return Expr::from_atom(Expr::Atom{Expr::Kind::kSymbol, std::string(name), 0, {}, 1, false});
}

Dim Dim::unknown() {
  static std::atomic<std::uint64_t> next{0};
  return Expr::from_atom(
      Expr::Atom{Expr::Kind::kUnknown, {}, next.fetch_add(1, std::memory_order_relaxed), {}, 1, true});
}

std::optional<std::int64_t> Dim::constant() const {
  const Expr::Terms& terms = expr_->terms;
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].atoms.empty()) return terms[0].coefficient;
  return std::nullopt;
}
bool Dim::is_constant() const {
  return constant().has_value();
}
bool Dim::is_unknown() const {
  return std::ranges::any_of(expr_->terms, [](const Expr::Term& term) {
    return std::ranges::any_of(term.atoms, [](const Expr::AtomPtr& atom) { return atom->unknown; });
  });
}
std::optional<std::string_view> Dim::symbol_name() const {
  const Expr::Atom* atom = Expr::single_atom(*this);
  if (atom == nullptr || atom->kind != Expr::Kind::kSymbol) return std::nullopt;
  return atom->name;
}

bool operator==(const Dim& a, const Dim& b) {
  return Dim::Expr::compare(a, b) == 0;
}

Dim operator+(const Dim& a, const Dim& b) {
  Dim::Expr::Terms terms = a.expr_->terms;
  terms.insert(terms.end(), b.expr_->terms.begin(), b.expr_->terms.end());
  return Dim::Expr::make(std::move(terms));
}

Dim Dim::Expr::scale(const Dim& a, std::int64_t factor) {
  Terms terms = of(a);
  for (Term& term : terms) {
    const Number product = multiply(term.coefficient, factor);
    if (!product) return unknown();
    term.coefficient = *product;
  }
  return make(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) {
  return a + Dim::Expr::scale(b, -1);
}

Dim operator*(const Dim& a, const Dim& b) {
  Dim::Expr::Terms terms;
  for (const Dim::Expr::Term& x : a.expr_->terms) {
    for (const Dim::Expr::Term& y : b.expr_->terms) {
      const Number coefficient = multiply(x.coefficient, y.coefficient);
      if (!coefficient) return Dim::unknown();
      Dim::Expr::Term product{{}, *coefficient};
      std::ranges::merge(x.atoms, y.atoms, std::back_inserter(product.atoms),
                         [](const auto& p, const auto& q) { return Dim::Expr::compare(*p, *q) < 0; });
      terms.push_back(std::move(product));
    }
  }
  return Dim::Expr::make(std::move(terms));
}

// a / b when a is a multiple of the polynomial b.
std::optional<Dim> Dim::Expr::divide_exactly(const Dim& a, const Dim& b) {
  const Term& lead = of(b).front();
  const auto less = [](const AtomPtr& p, const AtomPtr& q) { return compare(*p, *q) < 0; };
  Dim rest = a;
  Terms quotient;
  while (!of(rest).empty()) {
    const Term& top = of(rest).front();
    const Number coefficient = divide(top.coefficient, lead.coefficient);
    if (!coefficient || multiply(coefficient, lead.coefficient) != top.coefficient || quotient.size() > kMaxTerms ||
        !std::ranges::includes(top.atoms, lead.atoms, less)) {
      return std::nullopt;
    }
    Term step{{}, *coefficient};
    std::ranges::set_difference(top.atoms, lead.atoms, std::back_inserter(step.atoms), less);
    quotient.push_back(step);
    rest = rest - make({step}) * b;
    if (rest.is_unknown() && !a.is_unknown() && !b.is_unknown()) return std::nullopt;  // it overflowed
  }
  return make(std::move(quotient));
}

// Divides both by the greatest common divisor of all coefficients, and by the atoms that all terms share.
void Dim::Expr::cancel_common_factors(Dim& a, Dim& b) {
  const auto less = [](const AtomPtr& p, const AtomPtr& q) { return compare(*p, *q) < 0; };
  std::uint64_t divisor = 0;
  std::vector<AtomPtr> shared = of(b).front().atoms;
  for (const Dim* dim : {&a, &b}) {
    for (const Term& term : of(*dim)) {
      const auto magnitude = static_cast<std::uint64_t>(term.coefficient);
      divisor = std::gcd(divisor, term.coefficient < 0 ? 0 - magnitude : magnitude);
      std::vector<AtomPtr> both;
      std::ranges::set_intersection(shared, term.atoms, std::back_inserter(both), less);
      shared = std::move(both);
    }
  }
  if (divisor > INT64_MAX) return;
  const Dim factor = make({Term{std::move(shared), static_cast<std::int64_t>(divisor)}});
  if (factor == Dim(1)) return;
  const std::optional<Dim> x = divide_exactly(a, factor);
  const std::optional<Dim> y = divide_exactly(b, factor);
  if (x && y) {
    a = *x;
    b = *y;
  }
}

// floor(Σ cᵢmᵢ / d) = Σ floor(cᵢ/d)·mᵢ + floor(Σ (cᵢ mod d)·mᵢ / d), because every monomial is an integer.
Dim Dim::Expr::divide_by_constant(const Dim& a, std::int64_t divisor) {
  Terms quotient;
  Terms remainder;
  std::int64_t remainder_constant = 0;
  std::int64_t common = divisor;
  for (const Term& term : of(a)) {
    const std::int64_t whole = *divide(term.coefficient, divisor);
    const std::int64_t rest = term.coefficient % divisor + (term.coefficient % divisor < 0 ? divisor : 0);
    if (whole != 0) quotient.push_back(Term{term.atoms, whole});
    if (rest == 0) continue;
    if (term.atoms.empty()) {
      remainder_constant = rest;
    } else {
      remainder.push_back(Term{term.atoms, rest});
      common = std::gcd(common, rest);
    }
  }
  Dim whole = make(std::move(quotient));
  if (remainder.empty()) return whole;
  // floor((g·p + c) / (g·e)) = floor((p + floor(c/g)) / e)
  for (Term& term : remainder) term.coefficient /= common;
  if (remainder_constant / common != 0) remainder.push_back(Term{{}, remainder_constant / common});
  divisor /= common;
  const Dim rest = make(std::move(remainder));
  if (divisor == 1) return whole + rest;
  const Atom* inner = single_atom(rest);
  if (inner != nullptr && inner->kind == Kind::kFloorDiv) {  // floor(floor(x/d)/e) = floor(x/(d·e))
    const Number product = multiply(inner->args[1].constant(), divisor);
    if (product && *product > 0) return whole + divide_by_constant(inner->args[0], *product);
  }
  const Range bounds = range(rest, 1);
  if (bounds.low && bounds.high && divide(bounds.low, divisor) == divide(bounds.high, divisor)) {
    return whole + Dim(*divide(bounds.low, divisor));
  }
  return whole + function(Kind::kFloorDiv, {rest, Dim(divisor)});
}

Dim Dim::floor_div(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return unknown();
  if (const auto quotient = Expr::divide_exactly(a, b)) return *quotient;
  Dim top = a;
  Dim bottom = b;
  if (bottom.expr_->terms.front().coefficient < 0) {
    top = Expr::scale(top, -1);
    bottom = Expr::scale(bottom, -1);
    if (top.is_unknown() != a.is_unknown() || bottom.is_unknown() != b.is_unknown()) return unknown();
  }
  Expr::cancel_common_factors(top, bottom);
  if (const auto divisor = bottom.constant()) return Expr::divide_by_constant(top, *divisor);
  return Expr::function(Expr::Kind::kFloorDiv, {top, bottom});
}

// Minimum and maximum take any number of arguments, sorted, none of which is always beyond another.
Dim Dim::Expr::extremum(Kind kind, const Dim& a, const Dim& b) {
  std::vector<Dim> args;
  const auto keep = [&](const Dim& arg) {
    const auto beyond = [&](const Dim& x, const Dim& y) {  // x is never needed beside y
      return kind == Kind::kMin ? always_at_least(x, y) == true : always_at_least(y, x) == true;
    };
    if (std::ranges::any_of(args, [&](const Dim& other) { return beyond(arg, other); })) return;
    std::erase_if(args, [&](const Dim& other) { return beyond(other, arg); });
    args.push_back(arg);
  };
  for (const Dim* dim : {&a, &b}) {
    const Atom* atom = single_atom(*dim);
    if (atom != nullptr && atom->kind == kind) {
      for (const Dim& arg : atom->args) keep(arg);
    } else {
      keep(*dim);
    }
  }
  if (args.size() == 1) return args[0];
  if (args.size() > kMaxArgs) return unknown();
  std::ranges::sort(args, [](const Dim& x, const Dim& y) { return compare(x, y) < 0; });
  return function(kind, std::move(args));
}

Dim Dim::min(const Dim& a, const Dim& b) {
  return Expr::extremum(Expr::Kind::kMin, a, b);
}
Dim Dim::max(const Dim& a, const Dim& b) {
  return Expr::extremum(Expr::Kind::kMax, a, b);
}

Range Dim::Expr::range(const Atom& atom, std::int64_t symbol_low) {
  if (atom.kind == Kind::kSymbol) return {symbol_low, std::nullopt};
  if (atom.kind == Kind::kUnknown) return {};
  if (atom.kind == Kind::kFloorDiv) {
    const Range top = range(atom.args[0], 1);
    const Range bottom = range(atom.args[1], 1);
    if (const Number divisor = atom.args[1].constant(); divisor && *divisor > 0) {
      return {divide(top.low, divisor), divide(top.high, divisor)};
    }
    if (top.low && *top.low >= 0 && bottom.low && *bottom.low >= 1) return {0, divide(top.high, bottom.low)};
    return {};
  }
  // A minimum is below each argument, so one upper bound is enough; its lower bound needs all of theirs.
  const bool is_min = atom.kind == Kind::kMin;
  Range out = range(atom.args[0], 1);
  for (std::size_t i = 1; i < atom.args.size(); ++i) {
    const Range other = range(atom.args[i], 1);
    Number& loose = is_min ? out.high : out.low;
    const Number other_loose = is_min ? other.high : other.low;
    if (!loose || (other_loose && (is_min ? *other_loose < *loose : *other_loose > *loose))) loose = other_loose;
    Number& strict = is_min ? out.low : out.high;
    const Number other_strict = is_min ? other.low : other.high;
    if (!other_strict || (strict && (is_min ? *other_strict < *strict : *other_strict > *strict))) {
      strict = strict ? other_strict : std::nullopt;
    }
  }
  return out;
}

Range Dim::Expr::range(const Dim& dim, std::int64_t symbol_low) {
  Range sum{0, 0};
  for (const Term& term : of(dim)) {
    Range product{1, 1};
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      const Range factor = range(*term.atoms[i], symbol_low);
      if (term.atoms.size() == 1) {
        product = factor;
      } else if (!product.low || !factor.low || *product.low < 0 || *factor.low < 0) {
        product = {};
      } else {
        product = {multiply(product.low, factor.low), multiply(product.high, factor.high)};
      }
    }
    if (term.coefficient < 0) std::swap(product.low, product.high);
    sum.low = add(sum.low, multiply(product.low, term.coefficient));
    sum.high = add(sum.high, multiply(product.high, term.coefficient));
  }
  return sum;
}

// Writes s + 1 for every symbol s outside functions: what is then a symbol is only known to be at least 0, and
// products of differences, such as (batch − 1)·seq, show their sign.
Dim Dim::Expr::shift_symbols(const Dim& dim) {
  Dim out;
  for (const Term& term : of(dim)) {
    Dim product(term.coefficient);
    for (const AtomPtr& atom : term.atoms) {
      const Dim factor = make({Term{{atom}, 1}});
      product = product * (atom->kind == Kind::kSymbol ? factor + Dim(1) : factor);
    }
    out = out + product;
  }
  return out;
}

bool Dim::Expr::never_negative(const Dim& dim, int& steps) {
  if (steps-- <= 0) return false;
  if (const Range bounds = range(dim, 1); bounds.low && *bounds.low >= 0) return true;
  if (const Range bounds = range(shift_symbols(dim), 0); bounds.low && *bounds.low >= 0) return true;
  for (const Term& term : of(dim)) {
    if (term.atoms.size() != 1) continue;
    const Atom& atom = *term.atoms[0];
    const Dim without = dim - make({term});
    if (atom.kind == Kind::kFloorDiv) {
      // x − d < d·floor(x/d) ≤ x, so d times the sum is at least what the nearer bound gives.
      const Number divisor = atom.args[1].constant();
      if (!divisor || *divisor <= 0) continue;
      const Dim bound = term.coefficient < 0 ? atom.args[0] : atom.args[0] - Dim(*divisor - 1);
      if (never_negative(scale(without, *divisor) + scale(bound, term.coefficient), steps)) return true;
      continue;
    }
    // x − min(x, y) ≥ 0 because min(x, y) ≤ x: any argument may stand for the function where that makes the sum
    // smaller.
    if (atom.kind != (term.coefficient < 0 ? Kind::kMin : Kind::kMax)) continue;
    for (const Dim& arg : atom.args) {
      if (never_negative(without + scale(arg, term.coefficient), steps)) return true;
    }
  }
  return false;
}

std::optional<bool> Dim::always_at_least(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (const auto constant = difference.constant()) return *constant >= 0;
  int steps = kMaxBoundSteps;
  if (Expr::never_negative(difference, steps)) return true;
  for (const std::int64_t sample : {1, 1 << 20}) {
    const Number value = difference.evaluate([&](std::string_view) { return sample; });
    if (value && *value < 0) return false;
  }
  return std::nullopt;
}

Number Dim::Expr::evaluate(const Atom& atom, const Bindings& bindings) {
  if (atom.kind == Kind::kSymbol) return bindings(atom.name);
  if (atom.kind == Kind::kUnknown) return std::nullopt;
  Number out = atom.args[0].evaluate(bindings);
  for (std::size_t i = 1; i < atom.args.size(); ++i) {
    const Number other = atom.args[i].evaluate(bindings);
    if (!out || !other) return std::nullopt;
    out = atom.kind == Kind::kFloorDiv ? divide(out, other)
          : atom.kind == Kind::kMin    ? std::min(*out, *other)
                                       : std::max(*out, *other);
  }
  return out;
}

std::optional<std::int64_t> Dim::evaluate(const Bindings& bindings) const {
  Number sum = 0;
  for (const Expr::Term& term : expr_->terms) {
    Number product = term.coefficient;
    for (const Expr::AtomPtr& atom : term.atoms) {
      product = multiply(product, Expr::evaluate(*atom, bindings));
    }
    sum = add(sum, product);
  }
  return sum;
}

std::string Dim::Expr::print(const Atom& atom) {
  if (atom.kind == Kind::kSymbol) return atom.name;
  if (atom.kind == Kind::kUnknown) return fmt::format("?{}", atom.id);
  if (atom.kind == Kind::kFloorDiv) {
    const auto operand = [](const Dim& dim) {
      return dim.is_constant() || single_atom(dim) != nullptr ? dim.to_string() : fmt::format("({})", dim.to_string());
    };
    return fmt::format("floor({}/{})", operand(atom.args[0]), operand(atom.args[1]));
  }
  std::string out = atom.kind == Kind::kMin ? "min(" : "max(";
  for (std::size_t i = 0; i < atom.args.size(); ++i) {
    out += (i == 0 ? "" : ", ") + atom.args[i].to_string();
  }
  return out + ")";
}

std::string Dim::to_string() const {
  if (expr_->terms.empty()) return "0";
  std::string out;
  for (const Expr::Term& term : expr_->terms) {
    std::string coefficient = fmt::format("{}", term.coefficient);
    if (!out.empty()) out += term.coefficient < 0 ? " - " : " + ";
    if (!out.empty() && term.coefficient < 0) coefficient.erase(0, 1);
    std::string product;
    if (term.atoms.empty() || (coefficient != "1" && coefficient != "-1")) {
      product = coefficient;
    } else if (coefficient == "-1") {
      out += "-";
    }
    for (const Expr::AtomPtr& atom : term.atoms) {
      if (!product.empty()) product += "*";
      product += Expr::print(*atom);
    }
    out += product;
  }
  return out;
}

std::string shape_string(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i == 0 ? "" : ", ") + shape[i].to_string();
  }
  return out + "]";
}

}  // namespace narthex
