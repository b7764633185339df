#include "cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/progress.h"

namespace narthex::cli {
namespace {

std::string precision_line(const PrecisionReport& report) {
  std::string line(precision_name(report.precision));
  if (report.precision == Precision::kFp32) return line;
  if (report.attention != report.precision) line += fmt::format(", attention {}", precision_name(report.attention));
  if (!report.fallback_products.empty()) {
    line += fmt::format(", {} of {} products {}", report.fallback_products.size(), report.n_products,
                        precision_name(report.fallback));
  }
  if (report.loss.texts == 0) return line;
  return line + fmt::format("; cosine to fp32 on {} texts: worst {:.6f}, mean {:.6f}", report.loss.texts,
                            report.loss.worst_cosine, report.loss.mean_cosine);
}

}  // namespace

std::string ops_line(const std::map<std::string, std::size_t>& ops) {
  std::vector<std::pair<std::string, std::size_t>> sorted(ops.begin(), ops.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string line;
  for (const auto& [op, count] : sorted) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, op);
  return line;
}

void append_counts(std::string& out, const std::map<std::string, std::size_t>& ops) {
  out += '{';
  for (bool first = true; const auto& [op, count] : ops) {
    if (!first) out += ',';
    first = false;
    append_json_string(out, op);
    out += fmt::format(":{}", count);
  }
  out += '}';
}

void print_plan(const CompiledEncoder& compiled) {
  fmt::print("plan\n");
  if (!compiled.recognised.empty()) fmt::print("  recognised   {}\n", ops_line(compiled.recognised));
  if (!compiled.plan) {
    fmt::print("  none         {}; the interpreter runs the graph, in fp32\n", compiled.refusal);
    return;
  }
  const PrecisionReport& precision = compiled.precision;
  fmt::print("  runs as      {} steps over packed tokens: {}\n", compiled.plan->steps.size(),
             ops_line(compiled.plan->step_counts()));
  fmt::print("  precision    {}\n", precision_line(precision));
  fmt::print("  check        differs from the interpreter by {:.1e} of the largest element, in fp32\n",
             compiled.check_difference);
  fmt::print("  weights      {}, up to {} tokens\n", bytes_string(compiled.plan->constant_bytes()),
             compiled.plan->max_positions);
}

void append_plan(std::string& out, const CompiledEncoder& compiled) {
  out += ",\"recognised\":";
  append_counts(out, compiled.recognised);
  if (!compiled.plan) {
    out += ",\"plan\":null,\"refusal\":";
    append_json_string(out, compiled.refusal);
    return;
  }
  out += ",\"plan\":{\"steps\":";
  append_counts(out, compiled.plan->step_counts());
  const PrecisionReport& precision = compiled.precision;
  out += fmt::format(
      ",\"precision\":\"{}\",\"attention\":\"{}\",\"fallback_products\":{},\"texts\":{},\"mean_cosine\":{:.8f},"
      "\"worst_cosine\":{:.8f},\"check_difference\":{:.3e},\"weight_bytes\":{}}}",
      precision_name(precision.precision), precision_name(precision.attention), precision.fallback_products.size(),
      precision.loss.texts, precision.loss.mean_cosine, precision.loss.worst_cosine, compiled.check_difference,
      compiled.plan->constant_bytes());
}

}  // namespace narthex::cli
