// The steps of a packed plan, all but attention: row counts and pointers in, one kernel call a part.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "plan/packed_run.h"

namespace narthex {
namespace {

// Rows of a part of row-wise work: fewer are not worth waking another core for (1 us against about 0.1 us a row).
constexpr std::size_t kRowGrain = 64;
// Columns of a part of a product: four panels, the widest tile of any instruction set.
constexpr std::size_t kColumnGrain = 64;

float from_bf16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

std::size_t table_row(const packed::Table& table, const GroupRun& run, std::size_t token) {
  switch (table.index) {
    case step::Index::kTokenIds:
      return static_cast<std::size_t>(run.batch.ids[token]);
    case step::Index::kTokenTypes:
      return run.batch.types.empty() ? 0 : static_cast<std::size_t>(run.batch.types[token]);
    case step::Index::kPosition:
      return run.positions[token];
  }
  return 0;
}

// y = row, or y += row.
void add_table_row(const packed::Table& table, std::size_t row, std::size_t width, bool first, float* y) {
  if (table.bf16) {
    const std::uint16_t* x = table.rows.as<std::uint16_t>() + row * width;
    for (std::size_t i = 0; i < width; ++i) y[i] = first ? from_bf16(x[i]) : y[i] + from_bf16(x[i]);
  } else {
    const float* x = table.rows.as<float>() + row * width;
    for (std::size_t i = 0; i < width; ++i) y[i] = first ? x[i] : y[i] + x[i];
  }
}

}  // namespace

void GroupRun::run(const packed::Gather& s) {
  float* out = floats(s.out);
  const std::size_t ld = stride(s.out.slot);
  split(n_tokens(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      for (const packed::Table& table : s.tables)
        add_table_row(table, table_row(table, *this, t), s.out.width, &table == s.tables.data(), out + t * ld);
    }
  });
}

void GroupRun::run(const packed::Norm& s) {
  const auto at = [&](const View& view, std::size_t row) {
    return view.slot == kNoSlot ? nullptr : floats(view) + row * stride(view.slot);
  };
  const auto ld = [&](const View& view) { return view.slot == kNoSlot ? 0 : stride(view.slot); };
  split(rows_of(s.x.slot), kRowGrain, [&](std::size_t begin, std::size_t end) {
    NormRows norm{};
    norm.rows = end - begin;
    norm.cols = s.x.width;
    norm.x = at(s.x, begin);
    norm.ldx = ld(s.x);
    norm.residual = at(s.residual, begin);
    norm.ld_residual = ld(s.residual);
    norm.sum = at(s.sum, begin);
    norm.ld_sum = ld(s.sum);
    norm.kind = s.kind;
    norm.gamma = s.gamma.as<float>();
    norm.beta = s.beta.as<float>();
    norm.epsilon = s.epsilon;
    norm.y = at(s.y, begin);
    norm.ldy = ld(s.y);
    if (s.encoded != kNoSlot) norm.out = encoded(s.encoded, s.factor, begin);
    kernels.norm_rows(norm);
  });
}

void GroupRun::run(const packed::Linear& s) {
  const std::size_t rows = rows_of(s.in.slot), lda = stride(s.in.slot), ldc = stride(s.out.slot);
  if (observer != nullptr && s.precision == Precision::kFp32) {
    const auto index = static_cast<std::size_t>(std::ranges::count_if(plan.steps, [&](const packed::Step& step) {
      const auto* linear = std::get_if<packed::Linear>(&step);
      return linear != nullptr && linear < &s;
    }));
    observer->linear_input(index, rows, s.k, floats(s.in), lda);
  }
  const std::size_t depth = padded_depth(format_of(s.precision), s.k);
  const bool c_bf16 = is_bf16(s.out.slot);
  const std::size_t columns = (s.n + kColumnGrain - 1) / kColumnGrain;
  // Two parts a core when the product is long, so that a core that was disturbed can be helped; else one.
  const std::size_t members = team == nullptr ? 1 : static_cast<std::size_t>(team->size()) * (rows >= 64 ? 2 : 1);
  const std::size_t grain = (columns + members - 1) / members;
  split(columns, grain, [&](std::size_t begin, std::size_t end) {
    const std::size_t n0 = begin * kColumnGrain, n1 = std::min<std::size_t>(end * kColumnGrain, s.n);
    void* c = static_cast<std::byte*>(elements(s.out)) + n0 * (c_bf16 ? 2 : 4);
    const float* bias = s.bias ? s.bias.as<float>() + n0 : nullptr;
    if (team != nullptr) kernels.begin_products();
    switch (s.precision) {
      case Precision::kFp32:
        kernels.gemm_f32({rows, n1 - n0, s.k, floats(s.in), lda, s.weights.as<float>() + n0 * depth, bias,
                          static_cast<float*>(c), ldc, s.activation});
        break;
      case Precision::kBf16:
        kernels.linear_bf16({rows, n1 - n0, depth, static_cast<const std::uint16_t*>(elements(s.in)), lda,
                             s.weights.as<std::uint16_t>() + n0 * depth, bias, c, ldc, c_bf16, s.activation});
        break;
      case Precision::kInt8:
        kernels.linear_int8({rows, n1 - n0, depth, static_cast<const std::uint8_t*>(elements(s.in)), lda,
                             scales(s.in.slot), zeros(s.in.slot), s.weights.as<std::int8_t>() + n0 * depth,
                             s.scale.as<float>() + n0, s.colsum.as<std::int32_t>() + n0, bias, c, ldc, c_bf16,
                             s.activation});
        break;
    }
    if (team != nullptr) kernels.end_products();
  });
}

void GroupRun::run(const packed::Encode& s) {
  const std::size_t ld = stride(s.in.slot), bytes = element_bytes(plan.slots[s.in.slot].format);
  split(rows_of(s.in.slot), kRowGrain, [&](std::size_t begin, std::size_t end) {
    const void* x = static_cast<const std::byte*>(elements(s.in)) + begin * ld * bytes;
    kernels.encode_rows({end - begin, s.in.width, x, ld, is_bf16(s.in.slot), encoded(s.out, s.factor, begin)});
  });
}

void GroupRun::run(const packed::Gated& s) {
  const std::size_t lda = stride(s.a.slot), ldb = stride(s.b.slot);
  split(rows_of(s.a.slot), kRowGrain / 2, [&](std::size_t begin, std::size_t end) {
    kernels.gated_rows({end - begin, s.a.width, floats(s.a) + begin * lda, lda, floats(s.b) + begin * ldb, ldb,
                        s.activation, encoded(s.out, s.factor, begin)});
  });
}

void GroupRun::run(const packed::Rotate& s) {
  const std::size_t ld = stride(s.x.slot);
  for (std::size_t i = 0; i < batch.n_sequences(); ++i) {
    const std::size_t first = batch.starts[i];
    split(batch.starts[i + 1] - first, kRowGrain, [&](std::size_t begin, std::size_t end) {
      kernels.rotate_rows({end - begin, s.heads, s.d, s.rotary, floats(s.x) + (first + begin) * ld, ld,
                           s.cos.as<float>(), s.sin.as<float>(), begin});
    });
  }
}

void GroupRun::run(const packed::Binary& s) {
  const narthex::Binary args{rows_of(s.a.slot), s.a.width,        floats(s.a), stride(s.a.slot), 1,
                             floats(s.b),       stride(s.b.slot), 1,           floats(s.out),    stride(s.out.slot)};
  s.kind == step::BinaryKind::kAdd ? kernels.add(args) : kernels.mul(args);
}

void GroupRun::run(const packed::Affine& s) {
  const std::size_t rows = rows_of(s.in.slot), ld = stride(s.in.slot), ldy = stride(s.out.slot);
  float* y = floats(s.out);
  narthex::Binary args{rows, s.in.width, floats(s.in), ld, 1, nullptr, 0, 1, y, ldy};
  if (s.factor) {
    args.b = s.factor.as<float>();
    kernels.mul(args);
    args.a = y;
    args.a_row = ldy;
  }
  if (s.shift) {
    args.b = s.shift.as<float>();
    kernels.add(args);
  } else if (!s.factor) {
    for (std::size_t row = 0; row < rows; ++row) std::copy_n(args.a + row * ld, s.in.width, y + row * ldy);
  }
}

namespace {

UnaryFn* unary_of(const KernelTable& kernels, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return nullptr;
    case Activation::kRelu:
      return kernels.relu;
    case Activation::kGeluErf:
      return kernels.gelu_erf;
    case Activation::kGeluTanh:
      return kernels.gelu_tanh;
    case Activation::kTanh:
      return kernels.tanh;
    case Activation::kSigmoid:
      return kernels.sigmoid;
    case Activation::kSilu:
      return kernels.silu;
  }
  return nullptr;
}

}  // namespace

void GroupRun::run(const packed::Activate& s) {
  UnaryFn* f = unary_of(kernels, s.activation);
  const std::size_t ldx = stride(s.in.slot), ldy = stride(s.out.slot);
  split(rows_of(s.in.slot), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const float* x = floats(s.in) + row * ldx;
      float* y = floats(s.out) + row * ldy;
      f == nullptr ? static_cast<void>(std::copy_n(x, s.in.width, y)) : f(s.in.width, x, y);
    }
  });
}

// Sums run over the tokens in order, in float64: pooling is not worth saving on.
void GroupRun::run(const packed::Pool& s) {
  const std::size_t ldx = stride(s.in.slot), ldy = stride(s.out.slot), width = s.in.width;
  std::vector<double> sum(width);
  for (std::size_t i = 0; i < batch.n_sequences(); ++i) {
    const std::size_t first = batch.starts[i], n = batch.starts[i + 1] - first;
    const float* x = floats(s.in) + first * ldx;
    float* y = floats(s.out) + i * ldy;
    switch (s.kind) {
      case step::PoolKind::kFirst:
        std::copy_n(x, width, y);
        break;
      case step::PoolKind::kLast:
        std::copy_n(x + (n - 1) * ldx, width, y);
        break;
      case step::PoolKind::kMax:
        std::copy_n(x, width, y);
        for (std::size_t t = 1; t < n; ++t)
          for (std::size_t j = 0; j < width; ++j) y[j] = std::max(y[j], x[t * ldx + j]);
        break;
      case step::PoolKind::kMean:
      case step::PoolKind::kSum: {
        std::ranges::fill(sum, 0.0);
        for (std::size_t t = 0; t < n; ++t)
          for (std::size_t j = 0; j < width; ++j) sum[j] += static_cast<double>(x[t * ldx + j]);
        const double divisor = s.kind == step::PoolKind::kMean ? static_cast<double>(n) : 1.0;
        for (std::size_t j = 0; j < width; ++j) y[j] = static_cast<float>(sum[j] / divisor);
        break;
      }
    }
  }
}

void GroupRun::run(const packed::L2Normalize& s) {
  kernels.l2_normalize({rows_of(s.in.slot), s.in.width, floats(s.in), stride(s.in.slot), nullptr, nullptr, s.epsilon,
                        floats(s.out), stride(s.out.slot)});
}

void GroupRun::run(const packed::RowSoftmax& s) {
  kernels.softmax({rows_of(s.in.slot), s.in.width, floats(s.in), stride(s.in.slot), 1.0F, nullptr, 0, floats(s.out),
                   stride(s.out.slot)});
}

}  // namespace narthex
