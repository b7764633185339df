#include "plan/precision.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/team.h"
#include "kernels/kernels.h"

namespace narthex {
namespace {

// Sequences end to end, with the memory that a TokenBatch points into.
struct Sequences {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> starts = {0};
  TokenBatch batch() const { return {ids, {}, starts}; }
};

Sequences join(const PackedPlan& plan, const std::vector<std::vector<std::int32_t>>& texts) {
  Sequences joined;
  for (const auto& text : texts) {
    if (text.empty() || !plan.covers(text)) continue;
    joined.ids.insert(joined.ids.end(), text.begin(), text.end());
    joined.starts.push_back(joined.ids.size());
  }
  return joined;
}

// One vector per sequence.
std::vector<std::vector<float>> vectors(const PackedPlan& plan, const Sequences& sequences, Team& team) {
  const TokenBatch batch = sequences.batch();
  const std::size_t width = plan.width();
  std::vector<float> rows((plan.output_per_sequence() ? batch.n_sequences() : batch.ids.size()) * width);
  plan.run(team, batch, rows.data());
  std::vector<std::vector<float>> result(batch.n_sequences(), std::vector<float>(width, 0.0F));
  for (std::size_t s = 0; s < batch.n_sequences(); ++s) {
    const std::size_t first = plan.output_per_sequence() ? s : batch.starts[s];
    const std::size_t last = plan.output_per_sequence() ? s + 1 : batch.starts[s + 1];
    for (std::size_t row = first; row < last; ++row)
      for (std::size_t j = 0; j < width; ++j) result[s][j] += rows[row * width + j];
  }
  return result;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return aa > 0 && bb > 0 ? dot / std::sqrt(aa * bb) : (aa == bb ? 1.0 : 0.0);
}

PrecisionLoss loss(const std::vector<std::vector<float>>& exact, const std::vector<std::vector<float>>& rounded) {
  PrecisionLoss loss{exact.size(), 0, 1};
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double c = cosine(exact[i], rounded[i]);
    loss.mean_cosine += c / static_cast<double>(exact.size());
    loss.worst_cosine = std::min(loss.worst_cosine, c);
  }
  return loss;
}

// Largest |input| per column and product, and some rows to measure a product's own error on.
class InputStatistics final : public LinearObserver {
 public:
  static constexpr std::size_t kSampleRows = 64;

  void linear_input(std::size_t step, std::size_t n_rows, std::size_t width, const float* rows,
                    std::size_t stride) override {
    if (maxima.size() <= step) {
      maxima.resize(step + 1);
      samples.resize(step + 1);
      sample_seen.resize(step + 1, 0);
    }
    maxima[step].resize(width, 0.0F);
    for (std::size_t row = 0; row < n_rows; ++row) {
      const float* x = rows + row * stride;
      for (std::size_t j = 0; j < width; ++j) maxima[step][j] = std::max(maxima[step][j], std::abs(x[j]));
      // Every 29th row: all texts have a part in it.
      if (sample_seen[step]++ % 29 == 0 && samples[step].size() < kSampleRows * width)
        samples[step].insert(samples[step].end(), x, x + width);
    }
  }

  std::vector<std::vector<float>> maxima;
  std::vector<std::vector<float>> samples;
  std::vector<std::size_t> sample_seen;
};

std::vector<const packed::Linear*> linears_of(const PackedPlan& plan) {
  std::vector<const packed::Linear*> linears;
  for (const packed::Step& step : plan.steps)
    if (const auto* linear = std::get_if<packed::Linear>(&step)) linears.push_back(linear);
  return linears;
}
std::size_t n_attentions(const PackedPlan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(
      plan.steps, [](const packed::Step& step) { return std::holds_alternative<packed::Attention>(step); }));
}

// ‖int8 − fp32‖ / ‖fp32‖ of a product's results on sampled rows, both without smoothing: it is the order that counts.
double product_error(const packed::Linear& exact, const packed::Linear& rounded, const std::vector<float>& sample) {
  const std::size_t k = exact.k, n = exact.n, rows = sample.size() / k;
  if (rows == 0 || rounded.precision != Precision::kInt8) return 0;
  const std::size_t depth = padded_depth(RowFormat::kU8, k), padded_rows = (rows + 15) / 16 * 16;
  std::vector<float> want(rows * n), got(rows * n), scale(rows);
  std::vector<std::int32_t> zero(rows);
  std::vector<std::uint8_t> encoded(padded_rows * depth);
  const KernelTable& kernel = kernels();
  kernel.gemm_f32(
      {rows, n, k, sample.data(), k, exact.weights.as<float>(), nullptr, want.data(), n, Activation::kNone});
  kernel.encode_rows(
      {rows, k, sample.data(), k, false, {RowFormat::kU8, encoded.data(), depth, scale.data(), zero.data()}});
  kernel.begin_products();
  kernel.linear_int8({rows, n, depth, encoded.data(), depth, scale.data(), zero.data(),
                      rounded.weights.as<std::int8_t>(), rounded.scale.as<float>(), rounded.colsum.as<std::int32_t>(),
                      nullptr, got.data(), n, false, Activation::kNone});
  kernel.end_products();
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - static_cast<double>(want[i]);
    error += difference * difference;
    size += static_cast<double>(want[i]) * static_cast<double>(want[i]);
  }
  return size > 0 ? std::sqrt(error / size) : 0;
}

class Chooser {
 public:
  Chooser(const Encoder& encoder, const PrecisionOptions& options, Team& team)
      : encoder_(encoder), options_(options), team_(team) {
    lowering_.output = options.output;
    lowering_.pool = options.pool;
    exact_ = lower(encoder, lowering_);
    sequences_ = join(exact_, options.calibration);
    if (options.precision != Precision::kFp32 && sequences_.starts.size() > 1)
      want_ = vectors(exact_, sequences_, team);
  }

  PrecisePlan choose() {
    PrecisionReport report;
    report.precision = report.attention = options_.precision;
    report.fallback = options_.fallback;
    report.n_products = linears_of(exact_).size();
    if (options_.precision == Precision::kFp32) return {std::move(exact_), report};
    lowering_.precision = options_.precision;
    PackedPlan plan;
    if (options_.precision == Precision::kInt8) {
      plan = int8(report);
    } else {
      plan = lower(encoder_, lowering_);
      report.loss = measure(plan);
    }
    return {std::move(plan), std::move(report)};
  }

 private:
  PrecisionLoss measure(const PackedPlan& plan) const {
    return want_.empty() ? PrecisionLoss{} : loss(want_, vectors(plan, sequences_, team_));
  }

  PackedPlan int8(PrecisionReport& report) {
    InputStatistics statistics;
    if (!want_.empty()) {
      std::vector<float> unused((exact_.output_per_sequence() ? sequences_.starts.size() : sequences_.ids.size()) *
                                exact_.width());
      exact_.run(team_, sequences_.batch(), unused.data(), &statistics);
      lowering_.column_maxima = statistics.maxima;
    }
    PackedPlan plan = lower(encoder_, lowering_);
    report.loss = measure(plan);
    lowering_.attention_precision.assign(n_attentions(plan), options_.fallback);
    PackedPlan careful = lower(encoder_, lowering_);
    const PrecisionLoss careful_loss = measure(careful);
    if (report.loss.worst_cosine < kInt8WorstCosine ||
        report.loss.worst_cosine < careful_loss.worst_cosine - kInt8AttentionCost) {
      plan = std::move(careful);
      report.loss = careful_loss;
      report.attention = options_.fallback;
    } else {
      lowering_.attention_precision.clear();
    }
    for (std::size_t n = 1; report.loss.worst_cosine < kInt8WorstCosine && n < 2 * report.n_products; n *= 2)
      plan = with_fallbacks(worst_products(statistics, std::min(n, report.n_products)), report);
    return plan;
  }

  PackedPlan with_fallbacks(std::vector<std::size_t> products, PrecisionReport& report) {
    lowering_.linear_precision.assign(report.n_products, std::nullopt);
    for (const std::size_t product : products) lowering_.linear_precision[product] = options_.fallback;
    PackedPlan plan = lower(encoder_, lowering_);
    report.loss = measure(plan);
    std::ranges::sort(products);
    report.fallback_products = std::move(products);
    return plan;
  }

  std::vector<std::size_t> worst_products(const InputStatistics& statistics, std::size_t n) {
    if (errors_.empty()) {
      // Smoothed weights belong to inputs that were divided; the sampled ones were not.
      LowerOptions plain = lowering_;
      plain.column_maxima.clear();
      const PackedPlan plan = lower(encoder_, plain);
      const auto exact = linears_of(exact_), rounded = linears_of(plan);
      for (std::size_t i = 0; i < exact.size(); ++i)
        errors_.push_back(i < statistics.samples.size() ? product_error(*exact[i], *rounded[i], statistics.samples[i])
                                                        : 0);
    }
    std::vector<std::size_t> order(errors_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-errors_[i], i); });
    order.resize(std::min(n, order.size()));
    return order;
  }

  const Encoder& encoder_;
  const PrecisionOptions& options_;
  Team& team_;
  LowerOptions lowering_;
  PackedPlan exact_;
  Sequences sequences_;
  std::vector<std::vector<float>> want_;
  std::vector<double> errors_;
};

}  // namespace

PrecisePlan choose_precision(const Encoder& encoder, const PrecisionOptions& options, Team& team) {
  return Chooser(encoder, options, team).choose();
}

}  // namespace narthex
