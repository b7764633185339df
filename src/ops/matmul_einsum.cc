// Einsum-12 by its definition: one loop over all labels of the output, one over all that are summed.
//
//   eval_einsum, infer_einsum   the functions of the row in matmul.cc
//
// Labels are letters; "..." stands for up to eight more dimensions, right-aligned and broadcast. A label may repeat
// within a term (a diagonal) and a dimension of 1 broadcasts, as in numpy. Covered by tests/ops/matmul_test.cc.
#include "ops/matmul_einsum.h"

#include <algorithm>
#include <map>

#include "ops/util.h"

namespace narthex {
namespace {

// The evaluator would run for hours beyond this; models with such products want MatMul.
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 38;

// A letter is itself; dimension i of the ellipsis, counted from its right end, is kEllipsis + i.
using Label = int;
constexpr Label kEllipsis = 256;

struct Term {
  std::vector<Label> before;
  std::vector<Label> after;
  bool has_ellipsis = false;
};

struct Equation {
  std::vector<Term> inputs;
  Term output;
  bool has_output = false;
};

Result<Term> parse_term(std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      (term.has_ellipsis ? term.after : term.before).push_back(c);
    } else if (text.substr(i, 3) == "..." && !term.has_ellipsis) {
      term.has_ellipsis = true;
      i += 2;
    } else {
      return fail(ErrorCode::kBadModel, "the equation's term '{}' is not made of letters and one '...'", text);
    }
  }
  return term;
}

Result<Equation> parse_equation(std::string_view text) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  if (arrow != std::string_view::npos) {
    equation.has_output = true;
    NX_TRY(equation.output, parse_term(text.substr(arrow + 2)));
    text = text.substr(0, arrow);
  }
  while (true) {
    const std::size_t comma = text.find(',');
    NX_TRY(Term term, parse_term(text.substr(0, comma)));
    equation.inputs.push_back(std::move(term));
    if (comma == std::string_view::npos) return equation;
    text.remove_prefix(comma + 1);
  }
}

std::vector<Label> expanded(const Term& term, std::size_t n_ellipsis) {
  std::vector<Label> labels = term.before;
  if (term.has_ellipsis) {
    for (std::size_t i = n_ellipsis; i-- > 0;) labels.push_back(kEllipsis + static_cast<Label>(i));
  }
  labels.insert(labels.end(), term.after.begin(), term.after.end());
  return labels;
}

// Without "->": the ellipsis, then the letters that occur exactly once, in alphabetical order.
void add_implicit_output(Equation& equation, const std::vector<std::vector<Label>>& inputs) {
  std::map<Label, int> uses;
  for (const std::vector<Label>& labels : inputs) {
    for (const Label label : labels) ++uses[label];
  }
  equation.output.has_ellipsis = true;
  for (const auto& [label, count] : uses) {
    if (label < kEllipsis && count == 1) equation.output.after.push_back(label);
  }
}

struct Labels {
  std::vector<std::vector<Label>> inputs;  // one label for each dimension
  std::vector<Label> output;
};

Result<Labels> label_dimensions(std::string_view text, const std::vector<std::size_t>& ranks) {
  NX_TRY(Equation equation, parse_equation(text));
  if (equation.inputs.size() != ranks.size()) {
    return fail(ErrorCode::kBadModel, "the equation '{}' has {} terms for {} inputs", text, equation.inputs.size(),
                ranks.size());
  }
  Labels labels;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Term& term = equation.inputs[i];
    const std::size_t named = term.before.size() + term.after.size();
    if (ranks[i] < named || (!term.has_ellipsis && ranks[i] != named)) {
      return fail(ErrorCode::kBadModel, "term {} of the equation '{}' does not fit an input of rank {}", i, text,
                  ranks[i]);
    }
    widest = std::max(widest, ranks[i] - named);
    labels.inputs.push_back(expanded(term, ranks[i] - named));
  }
  if (!equation.has_output) add_implicit_output(equation, labels.inputs);
  labels.output = expanded(equation.output, widest);
  for (std::size_t i = 0; i < labels.output.size(); ++i) {
    const Label label = labels.output[i];
    if (std::ranges::count(labels.output, label) > 1) {
      return fail(ErrorCode::kBadModel, "the equation '{}' repeats a label in its output", text);
    }
    if (label < kEllipsis &&
        std::ranges::none_of(labels.inputs, [&](const auto& input) { return std::ranges::count(input, label) > 0; })) {
      return fail(ErrorCode::kBadModel, "the equation '{}' has an output label that no input has", text);
    }
  }
  return labels;
}

struct Loop {
  std::vector<std::int64_t> sizes;                 // output labels, then summed ones
  std::vector<std::vector<std::int64_t>> strides;  // one list for each input
  std::size_t n_output = 0;
};

Result<Loop> make_loop(const Labels& labels, const EvalContext& c) {
  std::map<Label, std::int64_t> sizes;
  for (std::size_t i = 0; i < labels.inputs.size(); ++i) {
    const Dims& dims = c.input(i).dims();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      auto [size, is_new] = sizes.try_emplace(labels.inputs[i][d], dims[d]);
      if (is_new || size->second == dims[d] || dims[d] == 1) continue;
      if (size->second != 1) {
        return fail(ErrorCode::kBadModel, "one label of the equation stands for sizes {} and {}", size->second,
                    dims[d]);
      }
      size->second = dims[d];
    }
  }
  std::vector<Label> order = labels.output;
  for (const auto& [label, size] : sizes) {
    if (std::ranges::count(labels.output, label) == 0) order.push_back(label);
  }
  Loop loop;
  loop.n_output = labels.output.size();
  for (const Label label : order) loop.sizes.push_back(sizes[label]);
  for (std::size_t i = 0; i < labels.inputs.size(); ++i) {
    const Dims& dims = c.input(i).dims();
    std::vector<std::int64_t> strides(order.size(), 0);
    if (c.input(i).count() > 0) {
      const std::vector<std::int64_t> own = contiguous_strides(dims);
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const auto at = std::ranges::find(order, labels.inputs[i][d]) - order.begin();
        if (dims[d] != 1) strides[static_cast<std::size_t>(at)] += own[d];
      }
    }
    loop.strides.push_back(std::move(strides));
  }
  return loop;
}

// Steps through a range of the loop's labels; false after the last position.
bool advance(const Loop& loop, std::size_t first, std::size_t last, Dims& position, std::vector<std::int64_t>& at) {
  for (std::size_t d = last; d-- > first;) {
    const bool carry = ++position[d] == loop.sizes[d];
    for (std::size_t i = 0; i < at.size(); ++i) {
      at[i] += carry ? loop.strides[i][d] * (1 - loop.sizes[d]) : loop.strides[i][d];
    }
    if (!carry) return true;
    position[d] = 0;
  }
  return false;
}

template <class T>
void run_loop(const Loop& loop, const EvalContext& c, std::span<T> out, bool sums_nothing) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  std::vector<const T*> data;
  for (std::size_t i = 0; i < loop.strides.size(); ++i) data.push_back(c.input(i).as<T>().data());
  Dims position(loop.sizes.size(), 0);
  std::vector<std::int64_t> at(data.size(), 0);
  for (T& y : out) {
    Sum sum{0};
    while (!sums_nothing) {
      Sum product{1};
      for (std::size_t i = 0; i < data.size(); ++i)
        product *= static_cast<Sum>(static_cast<Compute<T>>(data[i][at[i]]));
      sum += product;
      if (!advance(loop, loop.n_output, loop.sizes.size(), position, at)) break;
    }
    y = static_cast<T>(static_cast<Compute<T>>(sum));
    advance(loop, 0, loop.n_output, position, at);
  }
}

}  // namespace

Result<void> eval_einsum(const Node& node, EvalContext& c) {
  NX_TRY(const std::string text, node.string_attr("equation", ""));
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < c.n_inputs(); ++i) {
    if (!c.has(i)) return fail(ErrorCode::kBadModel, "input {} is missing", i);
    if (c.input(i).dtype() != c.input(0).dtype()) return fail(ErrorCode::kBadModel, "its inputs have different types");
    ranks.push_back(c.input(i).dims().size());
  }
  NX_TRY(const Labels labels, label_dimensions(text, ranks));
  NX_TRY(const Loop loop, make_loop(labels, c));
  NX_TRY(Tensor * y,
         c.allocate(0, c.input(0).dtype(),
                    Dims(loop.sizes.begin(), loop.sizes.begin() + static_cast<std::ptrdiff_t>(loop.n_output))));
  if (y->count() == 0) return {};
  const auto steps = checked_count(loop.sizes);
  if (!steps || *steps > kMaxSteps) {
    return fail(ErrorCode::kLimit, "the equation '{}' needs more than {} steps", text, kMaxSteps);
  }
  return dispatch_numeric(y->dtype(), [&]<class T>() -> Result<void> {
    run_loop<T>(loop, c, y->as_mutable<T>(), *steps == 0);
    return {};
  });
}

Result<void> infer_einsum(InferContext& context) {
  NX_TRY(const std::string text, context.node().string_attr("equation", ""));
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < context.n_inputs(); ++i) {
    if (context.shape(i) == nullptr) {
      context.set(0, context.dtype(0), std::nullopt);
      return {};
    }
    ranks.push_back(context.shape(i)->size());
  }
  NX_TRY(const Labels labels, label_dimensions(text, ranks));
  Shape out;
  for (const Label label : labels.output) {
    Shape size{Dim(1)};
    for (std::size_t i = 0; i < labels.inputs.size(); ++i) {
      for (std::size_t d = 0; d < ranks[i]; ++d) {
        if (labels.inputs[i][d] == label) size = broadcast_shapes(size, {(*context.shape(i))[d]});
      }
    }
    out.push_back(size.front());
  }
  context.set(0, context.dtype(0), std::move(out));
  return {};
}

}  // namespace narthex
