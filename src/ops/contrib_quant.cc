// Quantised products and tables of com.microsoft.
//
//   expand_*               functions of the rows in contrib.cc
//   emit_integer_product   what DynamicQuantizeMatMul, MatMulIntegerToFloat and QAttention share
//
// Block-quantised weights stay quantised: they become unpacked 8-bit constants behind DequantizeLinear with a
// block_size, so that later passes see what they are. Covered by tests/ops/contrib_test.cc.
#include "ops/contrib.h"

namespace narthex {

ValueId emit_integer_product(Expansion& e, const IntegerProduct& p, ValueId output) {
  const ValueId sums = e.op("MatMulInteger", {p.a, p.b, p.a_zero, p.b_zero});
  const DType known = e.dtype(p.b_scale);
  const ValueId real = e.cast(sums, known == DType::kUndefined ? DType::kFloat32 : known);
  const ValueId scale = e.op("Mul", {p.a_scale, p.b_scale});
  const ValueId product = e.op("Mul", {real, scale}, {}, p.bias == kNoValue ? output : kNoValue);
  return p.bias == kNoValue ? product : e.op("Add", {product, p.bias}, {}, output);
}

Result<void> expand_dynamic_quantize_matmul(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  if (!e.has(2)) return fail(ErrorCode::kBadModel, "input 2 (b_scale) is missing");
  const auto a = e.ops("DynamicQuantizeLinear", {e.in(0)}, {}, {e.fresh(), e.fresh(), e.fresh()});
  emit_integer_product(e, {a[0], e.in(1), a[1], e.in(2), a[2], e.in(3), e.in(4)}, e.out(0));
  return {};
}

Result<void> expand_matmul_integer_to_float(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  emit_integer_product(e, {e.in(0), e.in(1), e.in(2), e.in(3), e.in(4), e.in(5), e.in(6)}, e.out(0));
  return {};
}

namespace {

// Numbers of `bits` bits, lowest first, each row of bytes padded to whole bytes: [.., row_bytes] to [.., n].
Result<Tensor> unpacked(const Tensor& packed, std::int64_t bits, std::int64_t n_rows, std::int64_t n, Dims dims) {
  const std::int64_t per_byte = 8 / bits;
  const std::int64_t row_bytes = (n + per_byte - 1) / per_byte;
  const bool fits =
      n_rows == 0 ? packed.count() == 0 : packed.count() % n_rows == 0 && packed.count() / n_rows == row_bytes;
  if (packed.dtype() != DType::kUint8 || !fits) {
    return fail(ErrorCode::kBadModel, "packed {}-bit numbers of type {} and shape {} do not hold {} rows of {}", bits,
                dtype_name(packed.dtype()), dims_string(packed.dims()), n_rows, n);
  }
  NX_TRY(Tensor out, Tensor::allocate(DType::kUint8, std::move(dims)));
  const std::span<const std::uint8_t> in = packed.as<std::uint8_t>();
  const std::span<std::uint8_t> to = out.as_mutable<std::uint8_t>();
  const unsigned mask = (1u << bits) - 1;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    for (std::int64_t i = 0; i < n; ++i) {
      const unsigned byte = in[static_cast<std::size_t>(row * row_bytes + i / per_byte)];
      to[static_cast<std::size_t>(row * n + i)] = static_cast<std::uint8_t>((byte >> (bits * (i % per_byte))) & mask);
    }
  }
  return out;
}

Tensor filled(const Dims& dims, std::uint8_t value) {
  Tensor out = *Tensor::allocate(DType::kUint8, dims);
  std::ranges::fill(out.as_mutable<std::uint8_t>(), value);
  return out;
}

Result<std::int64_t> read_bits(const Node& node) {
  NX_TRY(const std::int64_t bits, node.int_attr("bits", 4));
  if (bits != 2 && bits != 4 && bits != 8) return fail(ErrorCode::kBadModel, "bits must be 2, 4 or 8, but is {}", bits);
  return bits;
}

struct NBits {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t bits = 4;
  std::int64_t block = 0;
  std::int64_t n_blocks = 0;
  const Tensor* weights = nullptr;
};

Result<NBits> read_nbits(Expansion& e) {
  NBits b;
  NX_TRY(b.n, e.node().int_attr("N", 0));
  NX_TRY(b.k, e.node().int_attr("K", 0));
  NX_TRY(b.bits, read_bits(e.node()));
  NX_TRY(b.block, e.node().int_attr("block_size", 0));
  NX_TRY_VOID(refuse_attribute(e.node(), "weight_prepacked", 0));
  NX_TRY_VOID(refuse_input(e.node(), 4, "g_idx"));
  b.weights = e.constant(e.in(1));
  if (b.weights == nullptr) return fail(ErrorCode::kUnsupported, "the weights must be constant");
  if (b.block < 16 || b.block > 65536 || (b.block & (b.block - 1)) != 0) {
    return fail(ErrorCode::kBadModel, "block_size must be a power of two from 16, but is {}", b.block);
  }
  if (b.n < 1 || b.k < 1 || b.k > b.weights->count() * 8 || b.n > b.weights->count()) {
    return fail(ErrorCode::kBadModel, "N = {} and K = {} do not fit weights of shape {}", b.n, b.k,
                dims_string(b.weights->dims()));
  }
  b.n_blocks = (b.k + b.block - 1) / b.block;
  return b;
}

// A float zero point is one that DequantizeLinear does not know: (q − z)·s = q·s − z·s, over whole blocks.
Result<ValueId> zero_point(Expansion& e, const NBits& b) {
  const Dims dims = {b.n, b.n_blocks};
  if (!e.has(3)) return e.rewriter().constant(filled(dims, static_cast<std::uint8_t>(1u << (b.bits - 1))));
  const Tensor* zero = e.constant(e.in(3));
  if (zero == nullptr) return fail(ErrorCode::kUnsupported, "the zero points must be constant");
  NX_TRY(Tensor numbers, unpacked(*zero, b.bits, b.n, b.n_blocks, dims));
  return e.rewriter().constant(std::move(numbers));
}

// float(q − z)·s with float zero points, block by block: [N, blocks, block] − [N, blocks, 1].
Result<ValueId> float_zero_weights(Expansion& e, const NBits& b, ValueId quantised, ValueId scales) {
  if (b.k != b.n_blocks * b.block) {
    return fail(ErrorCode::kUnsupported, "float zero points need K = {} to be a multiple of block_size", b.k);
  }
  const ValueId column = e.ints({b.n, b.n_blocks, 1});
  const ValueId real = e.op("CastLike", {quantised, scales});
  const ValueId blocks = e.op("Reshape", {real, e.ints({b.n, b.n_blocks, b.block})});
  const ValueId centered = e.op("Sub", {blocks, e.op("Reshape", {e.in(3), column})});
  const ValueId product = e.op("Mul", {centered, e.op("Reshape", {scales, column})});
  return e.op("Reshape", {product, e.ints({b.n, b.k})});
}

}  // namespace

Result<void> expand_matmul_nbits(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  NX_TRY(const NBits b, read_nbits(e));
  // Blocks are padded to whole ones in the file: unpack those, then cut to K.
  NX_TRY(Tensor padded, unpacked(*b.weights, b.bits, b.n, b.n_blocks * b.block, {b.n, b.n_blocks * b.block}));
  ValueId quantised = rewriter.constant(std::move(padded));
  if (b.k != b.n_blocks * b.block) quantised = e.slice(quantised, e.ints({0}), e.ints({b.k}), 1);
  const ValueId scales = e.op("Reshape", {e.in(2), e.ints({b.n, b.n_blocks})});
  const Tensor* zero = e.has(3) ? e.constant(e.in(3)) : nullptr;
  ValueId weights = kNoValue;
  if (zero != nullptr && zero->dtype() != DType::kUint8) {
    NX_TRY(weights, float_zero_weights(e, b, quantised, scales));
  } else {
    NX_TRY(const ValueId zeros, zero_point(e, b));
    weights =
        e.op("DequantizeLinear", {quantised, scales, zeros}, {{"axis", std::int64_t{1}}, {"block_size", b.block}});
  }
  const ValueId columns = e.op("Transpose", {weights}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  const ValueId product = e.op("MatMul", {e.in(0), columns}, {}, e.has(5) ? kNoValue : e.out(0));
  if (e.has(5)) e.op("Add", {product, e.in(5)}, {}, e.out(0));
  return {};
}

namespace {

// int4 and uint4 as the 8-bit type that holds them already: one number a byte.
Tensor widened(const Tensor& tensor) {
  const DType dtype = tensor.dtype() == DType::kInt4 ? DType::kInt8 : DType::kUint8;
  auto keep = std::make_shared<Tensor>(tensor);
  return Tensor::view(dtype, tensor.dims(), {tensor.data(), tensor.bytes()}, std::move(keep));
}

// A constant table or its zero points, one number a byte; `n` is the length of the last dimension after unpacking.
Result<Tensor> unpacked_table(const Tensor& table, std::int64_t bits, std::int64_t n) {
  if (table.dtype() == DType::kInt4 || table.dtype() == DType::kUint4) return widened(table);
  if (table.dtype() != DType::kUint8) {
    return fail(ErrorCode::kUnsupported, "a table of type {} is not supported", dtype_name(table.dtype()));
  }
  if (bits == 8) return table;
  Dims dims = table.dims();
  const std::int64_t n_rows = table.count() / dims.back();
  dims.back() = n;
  return unpacked(table, bits, n_rows, n, dims);
}

}  // namespace

Result<void> expand_gather_block_quantized(const Node& node, Rewriter& rewriter) {
  Expansion e(node, rewriter);
  NX_TRY(std::int64_t gather_axis, node.int_attr("gather_axis", 0));
  NX_TRY(std::int64_t axis, node.int_attr("quantize_axis", 1));
  NX_TRY(const std::int64_t block, node.int_attr("block_size", 128));
  NX_TRY(const std::int64_t bits, read_bits(node));
  const Tensor* data = e.constant(e.in(0));
  const Tensor* zeros = e.constant(e.in(3));
  const Shape* scales = e.shape(e.in(2));
  if (data == nullptr || (e.has(3) && zeros == nullptr) || scales == nullptr || scales->size() != data->dims().size()) {
    return fail(ErrorCode::kUnsupported, "the table, its scales and zero points must be constant and of one rank");
  }
  if (data->count() == 0 || (zeros != nullptr && zeros->count() == 0)) {
    return fail(ErrorCode::kBadModel, "the table or its zero points are empty");
  }
  const std::int64_t rank = data->rank();
  NX_TRY(gather_axis, normalize_axis(gather_axis, rank));
  NX_TRY(axis, normalize_axis(axis, rank));
  const std::optional<std::int64_t> n_blocks = scales->back().constant();
  if (gather_axis == axis || !n_blocks || block < 1) {
    return fail(ErrorCode::kBadModel, "cannot gather along axis {} with blocks of {} along axis {}", gather_axis, block,
                axis);
  }
  const bool is_uint8 = data->dtype() == DType::kUint8;
  NX_TRY(Tensor table, unpacked_table(*data, bits, is_uint8 ? data->dims().back() * (8 / bits) : data->dims().back()));
  const DType dtype = table.dtype();
  const auto gathered = [&](ValueId x) { return e.op("Gather", {x, e.in(1)}, {{"axis", gather_axis}}); };
  std::vector<ValueId> inputs = {gathered(rewriter.constant(std::move(table))), gathered(e.in(2))};
  if (e.has(3)) {
    NX_TRY(Tensor numbers, unpacked_table(*zeros, bits, *n_blocks));
    if (numbers.dtype() != dtype) return fail(ErrorCode::kBadModel, "the zero points must have the type of the table");
    inputs.push_back(gathered(rewriter.constant(std::move(numbers))));
  } else if (is_uint8) {
    // Unsigned bytes without zero points are centred, unlike the 4-bit types.
    inputs.push_back(rewriter.constant(Tensor::scalar(static_cast<std::uint8_t>(1u << (bits - 1)))));
  }
  // Gathering replaces one dimension by those of the indices: count from the end it leaves alone.
  const std::int64_t new_axis = axis > gather_axis ? axis - rank : axis;
  e.op("DequantizeLinear", inputs, {{"axis", new_axis}, {"block_size", block}}, e.out(0));
  return {};
}

}  // namespace narthex
