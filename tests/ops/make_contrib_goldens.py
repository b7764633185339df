"""Writes the golden models of tests/ops/contrib_test.cc and families_test.cc: small graphs with random weights, their
inputs and what ONNX Runtime computes from them, in one .onnx file each (see tests/ops/golden.h). The folder contrib
has com.microsoft operators; families has what the ONNX node tests leave out of matrix products, norms and quantisation.

    python3 tests/ops/make_contrib_goldens.py tests/ops/data

Needs onnx, onnxruntime and numpy. The numbers depend on the version of numpy only through its random generator.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"
F32, I32, I64, U8 = np.float32, np.int32, np.int64, np.uint8
OUT = pathlib.Path(sys.argv[1])
folder = "contrib"
rng = np.random.default_rng(7)
written = 0


def floats(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(F32)


def case(name, op, inputs, outputs=("y",), constants=(), domain=MS, opset=17, rtol=1e-5, atol=2e-6, extra=(), **attributes):
    """One node. `inputs` maps names to arrays (None: absent) in order; those in `constants` become initializers."""
    node = helper.make_node(op, [k if v is not None else "" for k, v in inputs.items()], list(outputs), domain=domain, **attributes)
    return graph_case(name, [node, *extra], inputs, outputs, constants, opset, rtol, atol)


def graph_case(name, nodes, inputs, outputs, constants=(), opset=17, rtol=1e-5, atol=2e-6):
    given = {k: v for k, v in inputs.items() if v is not None}
    feeds = {k: v for k, v in given.items() if k not in constants}
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), [f"{k}{i}" for i in range(v.ndim)]) for k, v in feeds.items()]
    names = [o for o in outputs if o]
    graph = helper.make_graph(nodes, name, infos, [onnx.ValueInfoProto(name=o) for o in names], [numpy_helper.from_array(v, k) if isinstance(v, np.ndarray) else v for k, v in given.items() if k in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)], ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(names, feeds)
    write(name, model, feeds, results, rtol, atol)
    return results


def write(name, model, feeds, results, rtol=1e-5, atol=2e-6):
    global written
    names = [o.name for o in model.graph.output]
    for prefix, values in (("golden.in:", feeds.items()), ("golden.out:", zip(names, results))):
        model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), prefix + k) for k, v in values)
    for info, result in zip(model.graph.output, results):
        info.CopyFrom(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(result.dtype), [None] * result.ndim))
    helper.set_model_props(model, {"rtol": repr(rtol), "atol": repr(atol)})
    (OUT / folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    written += 1


def activations():
    x, b = floats(2, 3, 8, scale=2), floats(8)
    case("gelu", "Gelu", {"x": x})
    case("bias_gelu", "BiasGelu", {"x": x, "b": b}, constants=("b",))
    case("fast_gelu", "FastGelu", {"x": x}, rtol=1e-4)
    case("fast_gelu_bias", "FastGelu", {"x": x, "b": b}, constants=("b",), rtol=1e-4)
    case("quick_gelu", "QuickGelu", {"x": x})
    case("quick_gelu_alpha", "QuickGelu", {"x": x}, alpha=1.0)


def products():
    a, b = floats(2, 3, 4, 5), floats(2, 3, 5, 6)
    case("fused_matmul", "FusedMatMul", {"a": a, "b": b}, alpha=0.125)
    case("fused_matmul_tb", "FusedMatMul", {"a": a, "b": floats(2, 3, 6, 5)}, alpha=0.5, transB=1)
    case("fused_matmul_ta", "FusedMatMul", {"a": floats(2, 3, 5, 4), "b": b}, transA=1)
    case("fused_matmul_2d", "FusedMatMul", {"a": floats(5, 4), "b": floats(6, 5)}, transA=1, transB=1)
    case("fused_matmul_ba", "FusedMatMul", {"a": floats(4, 2, 3, 5), "b": b}, transBatchA=1)
    case("fused_matmul_bb", "FusedMatMul", {"a": a, "b": floats(5, 2, 3, 6)}, transBatchB=1)
    case("fused_matmul_ba_ta", "FusedMatMul", {"a": floats(5, 2, 3, 4), "b": b}, transA=1, transBatchA=1)
    case("fused_matmul_bb_tb", "FusedMatMul", {"a": a, "b": floats(6, 2, 3, 5)}, transB=1, transBatchB=1)
    # The operand is an intermediate value, whose rank nothing declares.
    graph_case("fused_matmul_inner", [helper.make_node("Neg", ["a"], ["n"]), helper.make_node("FusedMatMul", ["n", "b"], ["y"], domain=MS, transA=1)], {"a": floats(2, 5, 4), "b": floats(2, 5, 6)}, ("y",))
    g = {"a": floats(3, 4), "b": floats(5, 4), "c": floats(5)}
    case("fused_gemm_relu", "FusedGemm", g, constants=("b", "c"), transB=1, activation="Relu")
    case("fused_gemm_leaky", "FusedGemm", g, constants=("b", "c"), transB=1, activation="LeakyRelu", activation_alpha=0.3, alpha=0.5, beta=2.0)
    case("fused_gemm_tanh", "FusedGemm", {"a": g["a"], "b": g["b"]}, transB=1, activation="Tanh")


def norms():
    hidden, ids = 8, rng.integers(0, 11, (2, 5)).astype(I32)
    segments = rng.integers(0, 2, (2, 5)).astype(I32)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], I32)
    tables = {"words": floats(11, hidden), "positions": floats(7, hidden), "segment_table": floats(2, hidden), "gamma": floats(hidden), "beta": floats(hidden)}
    constants = tuple(tables)
    embed = lambda seg, **more: {"ids": ids, "segments": segments if seg else None, **{k: (v if seg or k != "segment_table" else None) for k, v in tables.items()}, **more}
    case("embed_layer_norm", "EmbedLayerNormalization", embed(True, mask=mask), ("y", "mask_index", "sum"), constants)
    case("embed_layer_norm_bare", "EmbedLayerNormalization", embed(False), ("y", "mask_index"), constants)
    case("embed_layer_norm_position_ids", "EmbedLayerNormalization", embed(True, mask=None, position_ids=np.array([[3, 1, 4, 1, 6]], I32)), ("y", "mask_index"), constants, epsilon=1e-5)
    q = lambda *s: rng.integers(0, 256, s).astype(U8)
    s = lambda v: np.array(v, F32)
    z = lambda v: np.array(v, U8)
    case("q_embed_layer_norm", "QEmbedLayerNormalization",
         {"ids": ids, "segments": segments, "words": q(11, hidden), "positions": q(7, hidden), "segment_table": q(2, hidden), "gamma": q(hidden), "beta": q(hidden), "mask": mask,
          "ws": s(0.02), "ps": s(0.03), "ss": s(0.01), "gs": s(0.015), "bs": s(0.025), "wz": z(120), "pz": z(130), "sz": z(7), "gz": z(100), "bz": z(128)},
         ("y", "mask_index"), ("words", "positions", "segment_table", "gamma", "beta"), epsilon=1e-12)
    x, skip, gamma, beta, bias = floats(2, 5, hidden), floats(2, 5, hidden), floats(hidden), floats(hidden), floats(hidden)
    case("skip_layer_norm", "SkipLayerNormalization", {"x": x, "skip": skip, "gamma": gamma, "beta": beta, "bias": bias}, ("y", "", "", "sum"), ("gamma", "beta", "bias"), epsilon=1e-5)
    case("skip_layer_norm_no_bias", "SkipLayerNormalization", {"x": x, "skip": skip, "gamma": gamma, "beta": beta}, ("y", "", "", "sum"), ("gamma", "beta"))
    case("skip_layer_norm_broadcast", "SkipLayerNormalization", {"x": x, "skip": floats(5, hidden), "gamma": gamma}, ("y",), ("gamma",))
    case("skip_simplified", "SkipSimplifiedLayerNormalization", {"x": x, "skip": skip, "gamma": gamma, "bias": bias}, ("y", "", "", "sum"), ("gamma", "bias"), epsilon=1e-6)
    case("simplified", "SimplifiedLayerNormalization", {"x": x, "gamma": gamma}, ("y",), ("gamma",), domain="", epsilon=1e-6)
    case("layer_norm_opset_11", "LayerNormalization", {"x": x, "gamma": gamma, "beta": beta}, ("y",), ("gamma", "beta"), domain="", opset=11, epsilon=1e-6, axis=-1)


def attention_inputs(batch=2, length=5, hidden=8, width=24):
    return {"x": floats(batch, length, hidden), "w": floats(hidden, width, scale=0.5), "b": floats(width)}


def attentions():
    c = ("w", "b")
    masks = {
        "none": None,
        "ends": np.array([5, 3], I32),
        "range": np.array([5, 4, 0, 2], I32),
        "raw": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], I32),
        "raw_left": np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], I32),
        "cube": rng.integers(0, 2, (2, 5, 5)).astype(I32) | np.eye(5, dtype=I32),
    }
    for name, mask in masks.items():
        case(f"attention_{name}", "Attention", {**attention_inputs(), "mask": mask}, constants=c, num_heads=2)
        case(f"attention_{name}_causal", "Attention", {**attention_inputs(), "mask": mask}, constants=c, num_heads=2, unidirectional=1)
    case("attention_filter", "Attention", {**attention_inputs(), "mask": masks["raw"]}, constants=c, num_heads=4, mask_filter_value=-3.4028234663852886e38)
    case("attention_scale", "Attention", {**attention_inputs(), "mask": masks["raw"]}, constants=c, num_heads=2, scale=0.3)
    case("attention_sizes", "Attention", {**attention_inputs(width=28), "mask": masks["ends"]}, constants=c, num_heads=2, qkv_hidden_sizes=[8, 8, 12])
    case("attention_no_bias", "Attention", {**attention_inputs(), "b": None}, constants=("w",), num_heads=2)
    case("attention_bias", "Attention", {**attention_inputs(), "mask": masks["raw"], "past": None, "bias": floats(1, 2, 5, 5)}, constants=c, num_heads=2)
    past = floats(2, 2, 2, 3, 4)
    case("attention_past", "Attention", {**attention_inputs(), "mask": None, "past": past}, ("y", "present"), c, num_heads=2, unidirectional=1)
    case("attention_past_raw", "Attention", {**attention_inputs(), "mask": rng.integers(0, 2, (2, 8)).astype(I32) | (np.arange(8) > 3), "past": past}, ("y", "present"), c, num_heads=2)
    case("attention_past_ends", "Attention", {**attention_inputs(), "mask": np.array([8, 5], I32), "past": past}, ("y", "present"), c, num_heads=2)
    # As optimised exports have it: int64 attention_mask, cast where the operator wants int32.
    embed = [helper.make_node("Cast", ["m"], ["mask"], to=TensorProto.INT32), helper.make_node("Attention", ["x", "w", "b", "mask"], ["y"], domain=MS, num_heads=2)]
    graph_case("attention_cast_mask", embed, {**attention_inputs(), "m": masks["raw"].astype(I64)}, ("y",), c)


def packed_case(name, feeds, y):
    """Replaces a case that ONNX Runtime could run by its packed form."""
    global written
    written -= 1
    infos = [helper.make_tensor_value_info(k, TensorProto.FLOAT, [f"{k}{i}" for i in range(v.ndim)]) for k, v in feeds.items()]
    graph = helper.make_graph([helper.make_node("MultiHeadAttention", list(feeds), ["y"], domain=MS, num_heads=2)], name, infos, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)], ir_version=10)
    write(name, model, feeds, [y])


def multi_head():
    q, k, v, b = floats(2, 5, 8), floats(2, 6, 8), floats(2, 6, 12), floats(28)
    mask = np.array([[1] * 6, [1, 1, 1, 0, 0, 0]], I32)
    case("mha", "MultiHeadAttention", {"q": q, "k": k, "v": v}, num_heads=2)
    case("mha_bias", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": b, "mask": mask}, constants=("b",), num_heads=2)
    case("mha_ends", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": None, "mask": np.array([6, 2], I32)}, num_heads=2)
    case("mha_attention_bias", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": b, "mask": mask, "bias": floats(2, 2, 5, 6)}, constants=("b",), num_heads=2, scale=0.4)
    case("mha_bias_alone", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": None, "mask": None, "bias": floats(1, 2, 5, 6)}, num_heads=2)
    case("mha_causal", "MultiHeadAttention", {"q": q, "k": floats(2, 5, 8), "v": floats(2, 5, 8)}, num_heads=2, unidirectional=1)
    # ONNX Runtime has the packed forms on GPUs only: the expected output is that of the same parts unpacked.
    parts = [floats(2, 5, 2, 4) for _ in range(3)]
    (y,) = case("mha_packed_qkv", "MultiHeadAttention", {n: p.reshape(2, 5, 8) for n, p in zip("qkv", parts)}, num_heads=2)
    packed_case("mha_packed_qkv", {"q": np.stack(parts, axis=3)}, y)
    (y,) = case("mha_packed_kv", "MultiHeadAttention", {n: p.reshape(2, 5, 8) for n, p in zip("qkv", parts)}, num_heads=2)
    packed_case("mha_packed_kv", {"q": parts[0].reshape(2, 5, 8), "k": np.stack(parts[1:], axis=3)}, y)
    case("mha_kv_heads_first", "MultiHeadAttention", {"q": q, "k": floats(2, 2, 6, 4), "v": floats(2, 2, 6, 4)}, num_heads=2)
    case("mha_past", "MultiHeadAttention", {"q": q, "k": floats(2, 5, 8), "v": floats(2, 5, 8), "b": floats(24), "mask": None, "bias": None, "past_key": floats(2, 2, 3, 4), "past_value": floats(2, 2, 3, 4)}, ("y", "present_key", "present_value"), ("b",), num_heads=2)


def rotary():
    angles = np.outer(np.arange(10), 10000.0 ** (-np.arange(2) / 2))
    caches = {"cos": np.cos(angles).astype(F32), "sin": np.sin(angles).astype(F32)}
    ids = np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 9]], I64)
    c = ("cos", "sin")
    x3, x4 = floats(2, 5, 8), floats(2, 2, 5, 4)
    case("rotary_3d", "RotaryEmbedding", {"x": x3, "ids": ids, **caches}, constants=c)
    case("rotary_4d", "RotaryEmbedding", {"x": x4, "ids": ids, **caches}, constants=c)
    case("rotary_interleaved", "RotaryEmbedding", {"x": x3, "ids": ids, **caches}, constants=c, interleaved=1)
    case("rotary_offset", "RotaryEmbedding", {"x": x3, "ids": np.array([2], I64), **caches}, constants=c)
    case("rotary_partial", "RotaryEmbedding", {"x": floats(2, 5, 16), "ids": ids, **caches}, constants=c, num_heads=2, rotary_embedding_dim=4)


def quantised():
    a = floats(2, 4, 16, scale=3)
    for kind, low, high in (("u8", 0, 256), ("s8", -128, 128)):
        dtype = np.uint8 if kind == "u8" else np.int8
        w = rng.integers(low, high, (16, 6)).astype(dtype)
        zero = np.array(int(w.mean()), dtype)
        per_column = rng.integers(max(low, -10), 20, 6).astype(dtype)
        scale, scales, bias = np.array(0.02, F32), (rng.random(6) * 0.05 + 0.01).astype(F32), floats(6)
        c = ("w", "s", "z", "b")
        case(f"dynamic_quantize_matmul_{kind}", "DynamicQuantizeMatMul", {"a": a, "w": w, "s": scale, "z": zero, "b": bias}, constants=c)
        case(f"dynamic_quantize_matmul_{kind}_columns", "DynamicQuantizeMatMul", {"a": a, "w": w, "s": scales, "z": per_column, "b": None}, constants=c)
        case(f"dynamic_quantize_matmul_{kind}_symmetric", "DynamicQuantizeMatMul", {"a": a, "w": w, "s": scales}, constants=c)
        qa = rng.integers(0, 256, (2, 4, 16)).astype(U8)
        c = ("w", "ws", "wz", "b")
        case(f"matmul_integer_to_float_{kind}", "MatMulIntegerToFloat", {"a": qa, "w": w, "as": np.array(0.01, F32), "ws": scales, "az": np.array(113, U8), "wz": per_column, "b": bias}, constants=c)
        case(f"matmul_integer_to_float_{kind}_bare", "MatMulIntegerToFloat", {"a": qa, "w": w, "as": np.array(0.01, F32), "ws": scale}, constants=c)
        w = rng.integers(low, high, (16, 24)).astype(dtype)
        x = rng.integers(0, 256, (2, 5, 16)).astype(U8)
        q = {"x": x, "w": w, "b": floats(24), "xs": np.array(0.01, F32), "ws": np.array(0.02, F32), "mask": np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], I32), "xz": np.array(128, U8), "wz": np.array(3, dtype)}
        case(f"q_attention_{kind}", "QAttention", q, constants=("w", "b"), num_heads=2)
        case(f"q_attention_{kind}_columns", "QAttention", {**q, "ws": (rng.random(24) * 0.02 + 0.01).astype(F32), "wz": np.zeros(24, dtype)}, constants=("w", "b", "ws", "wz"), num_heads=2, unidirectional=1)
    x = floats(3, 8, scale=2)
    case("ms_quantize_u16", "QuantizeLinear", {"x": x, "s": np.array(0.001, F32), "z": np.array(30000, np.uint16)})
    case("ms_dequantize_u16", "DequantizeLinear", {"x": rng.integers(0, 65536, (3, 8)).astype(np.uint16), "s": np.array(0.001, F32), "z": np.array(30000, np.uint16)})
    # The chain of dynamically quantised exports, exact: integers must be equal, floats to the last bit.
    b = rng.integers(-128, 128, (16, 6)).astype(np.int8)
    chain = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("MatMulInteger", ["q", "b", "z", "bz"], ["sums"]),
             helper.make_node("Cast", ["sums"], ["real"], to=TensorProto.FLOAT), helper.make_node("Mul", ["s", "bs"], ["scale"]), helper.make_node("Mul", ["real", "scale"], ["y"])]
    for i, x in enumerate([floats(7, 16, scale=5), np.abs(floats(7, 16)), -np.abs(floats(7, 16)), np.zeros((7, 16), F32), floats(7, 16, scale=1e-30), np.round(floats(7, 16, scale=4) * 2) / 2]):
        graph_case(f"dynamic_chain_{i}", chain, {"x": x, "b": b, "bz": np.zeros(6, np.int8), "bs": (rng.random(6) * 0.05).astype(F32)}, ("q", "s", "z", "sums", "y"), ("b", "bz", "bs"), rtol=0.0, atol=0.0)


def pack(values, bits):
    """Numbers of the last axis into bytes, lowest first."""
    per = 8 // bits
    pad = -values.shape[-1] % per
    v = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, pad)]).astype(U8).reshape(*values.shape[:-1], -1, per)
    return np.bitwise_or.reduce(v << (np.arange(per, dtype=U8) * bits), axis=-1).astype(U8)


def n_bits():
    for bits in (4, 8):
        for k, block in ((64, 32), (48, 32), (64, 16)):
            n, blocks = 6, -(-k // block)
            w = rng.integers(0, 2**bits, (n, blocks * block)).astype(U8)
            packed = pack(w.reshape(n, blocks, block), bits)
            scales, zeros = (rng.random((n, blocks)) * 0.1 + 0.01).astype(F32), rng.integers(0, 2**bits, (n, blocks)).astype(U8)
            x = {"a": floats(2, 3, k), "w": packed, "s": scales}
            common = dict(constants=("w", "s", "z", "b"), K=k, N=n, bits=bits, block_size=block, rtol=1e-4, atol=1e-4)
            case(f"matmul_{bits}bits_{k}_{block}", "MatMulNBits", x, **common)
            case(f"matmul_{bits}bits_{k}_{block}_zeros", "MatMulNBits", {**x, "z": pack(zeros, bits)}, **common)
    case("matmul_4bits_bias", "MatMulNBits", {"a": floats(2, 64), "w": rng.integers(0, 256, (6, 2, 16)).astype(U8), "s": floats(6, 2, scale=0.1), "z": None, "g": None, "b": floats(6)}, constants=("w", "s", "b"), K=64, N=6, bits=4, block_size=32, rtol=1e-4, atol=1e-4)
    case("matmul_4bits_float_zeros", "MatMulNBits", {"a": floats(2, 64), "w": rng.integers(0, 256, (6, 2, 16)).astype(U8), "s": floats(6, 2, scale=0.1), "z": (floats(6, 2) + 8).astype(F32)}, constants=("w", "s", "z"), K=64, N=6, bits=4, block_size=32, rtol=1e-4, atol=1e-4)


def gather_blocks():
    ids = np.array([[0, 3, 2], [4, 4, 1]], I64)
    scales = (rng.random((5, 2)) * 0.1 + 0.01).astype(F32)
    c = ("t", "s", "z")
    four = lambda a, kind: onnx.helper.make_tensor("", kind, a.shape, a.flatten().tolist())
    for bits in (4, 8):
        table, zeros = rng.integers(0, 2**bits, (5, 32)).astype(U8), rng.integers(0, 2**bits, (5, 2)).astype(U8)
        case(f"gather_{bits}bits", "GatherBlockQuantized", {"t": pack(table, bits), "ids": ids, "s": scales}, constants=c, opset=21, block_size=16, bits=bits)
        case(f"gather_{bits}bits_zeros", "GatherBlockQuantized", {"t": pack(table, bits), "ids": ids, "s": scales, "z": pack(zeros, bits)}, constants=c, opset=21, block_size=16, bits=bits)
    for name, kind, low in (("int4", TensorProto.INT4, -8), ("uint4", TensorProto.UINT4, 0)):
        def tensor(label, a):
            t = four(a, kind)
            t.name = label
            return t
        table, zeros = rng.integers(low, low + 16, (5, 32)), rng.integers(low, low + 16, (5, 2))
        case(f"gather_{name}", "GatherBlockQuantized", {"t": tensor("t", table), "ids": ids, "s": scales}, constants=c, opset=21, block_size=16)
        case(f"gather_{name}_zeros", "GatherBlockQuantized", {"t": tensor("t", table), "ids": ids, "s": scales, "z": tensor("z", zeros)}, constants=c, opset=21, block_size=16)
        table = rng.integers(low, low + 16, (32, 5))
        case(f"gather_{name}_axis", "GatherBlockQuantized", {"t": tensor("t", table), "ids": ids, "s": scales.T.copy()}, constants=c, opset=21, block_size=16, gather_axis=1, quantize_axis=0)


def onnx_case(name, op, inputs, outputs=("y",), **more):
    return case(name, op, inputs, outputs, domain="", **more)


def inner_case(name, op, inputs, opset, **attributes):
    """Behind another node, so that no rank is declared where the operator is normalised."""
    first, *rest = inputs
    nodes = [helper.make_node("Neg", [first], ["inner"]), helper.make_node(op, ["inner", *rest], ["y"], **attributes)]
    graph_case(name, nodes, inputs, ("y",), opset=opset)


def plain_products():
    for name, a, b in (("row_matrix", (4,), (4, 3)), ("matrix_column", (3, 4), (4,)), ("dot", (4,), (4,)), ("row_batch", (4,), (2, 4, 3)), ("broadcast", (2, 1, 3, 4), (5, 4, 2)), ("empty_k", (2, 0), (0, 3))):
        onnx_case(f"matmul_{name}", "MatMul", {"a": floats(*a), "b": floats(*b)})
    for dtype in (np.int32, np.int64, np.uint32, np.uint64, np.float64):
        a, b = rng.integers(0, 2**31 - 1, (3, 4)).astype(dtype), rng.integers(0, 2**31 - 1, (4, 2)).astype(dtype)
        onnx_case(f"matmul_{np.dtype(dtype).name}", "MatMul", {"a": a, "b": b})
    onnx_case("matmul_float16", "MatMul", {"a": floats(3, 8).astype(np.float16), "b": floats(8, 5).astype(np.float16)}, rtol=2e-3, atol=1e-3)
    onnx_case("gemm_scalar_c", "Gemm", {"a": floats(4, 3), "b": floats(4, 5), "c": floats(1)}, transA=1, alpha=0.5, beta=2.0, opset=9)
    onnx_case("gemm_column_c", "Gemm", {"a": floats(3, 4), "b": floats(4, 5), "c": floats(3, 1)}, opset=11)
    equations = {
        "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)), "...ij,...jk->...ik": ((2, 3, 4), (2, 4, 5)), "bsd,dhk->bshk": ((2, 3, 4), (4, 2, 5)),
        "bqhd,bkhd->bhqk": ((2, 3, 2, 4), (2, 5, 2, 4)), "bhqk,bkhd->bqhd": ((2, 2, 3, 5), (2, 5, 2, 4)), "ii->i": ((4, 4),), "...ii->...": ((2, 3, 3),), "ij->": ((3, 4),),
        "i,j": ((3,), (4,)), "ba": ((3, 4),), "ij, jk, kl -> il": ((2, 3), (3, 4), (4, 2)), "a...,...b->ab...": ((2, 3), (3, 4)), "Ab,bC->AC": ((2, 3), (3, 2)),
    }
    for i, (equation, shapes) in enumerate(equations.items()):
        onnx_case(f"einsum_{i}", "Einsum", {f"x{j}": floats(*s) for j, s in enumerate(shapes)}, equation=equation)


def plain_norms():
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis in (0, 1, 2, -2):
            if axis >= 0:
                inner_case(f"{op.lower()}_11_{axis}", op, {"x": floats(2, 3, 4)}, 11, axis=axis)
            onnx_case(f"{op.lower()}_13_{axis}", op, {"x": floats(2, 3, 4)}, axis=axis)
        inner_case(f"{op.lower()}_11_default", op, {"x": floats(2, 3, 4)}, 11)
    inf = np.array([[-np.inf, -np.inf], [0, -np.inf], [3e38, -3e38]], F32)
    onnx_case("softmax_infinite", "Softmax", {"x": inf})
    x = floats(2, 3, 4, 5)
    for axis in (0, 1, 2, 3, -2):
        onnx_case(f"layer_norm_{axis}", "LayerNormalization", {"x": x, "g": floats(*x.shape[axis:]), "b": floats(*x.shape[axis:])}, ("y", "mean", "inverse"), axis=axis, epsilon=1e-3)
    onnx_case("layer_norm_float64", "LayerNormalization", {"x": x.astype(np.float64), "g": floats(5).astype(np.float64)})
    onnx_case("layer_norm_float16", "LayerNormalization", {"x": x.astype(np.float16), "g": floats(5).astype(np.float16), "b": floats(5).astype(np.float16)}, rtol=2e-3, atol=1e-3)
    onnx_case("rms_norm", "RMSNormalization", {"x": x, "g": floats(4, 5)}, axis=-2, opset=23)
    onnx_case("lp_norm_1", "LpNormalization", {"x": x}, axis=2, p=1)
    for opset, n in ((18, 2), (21, 6)):
        onnx_case(f"group_norm_{opset}", "GroupNormalization", {"x": floats(2, 6, 4, 3), "g": floats(n), "b": floats(n)}, num_groups=2, opset=opset)
    onnx_case("instance_norm", "InstanceNormalization", {"x": x, "g": floats(3), "b": floats(3)}, epsilon=1e-2)
    onnx_case("batch_norm", "BatchNormalization", {"x": x, "g": floats(3), "b": floats(3), "m": floats(3), "v": rng.random(3).astype(F32)}, epsilon=1e-2)
    onnx_case("mean_variance_norm", "MeanVarianceNormalization", {"x": x}, axes=[1, 3], rtol=1e-4, atol=1e-5)


def plain_quantised():
    x, scales = floats(3, 4, 5, scale=4), (rng.random(4) * 0.1 + 0.01).astype(F32)
    for dtype, zeros in ((np.uint8, [0, 128, 255, 3]), (np.int8, [0, -128, 127, 3])):
        name, z = np.dtype(dtype).name, np.array(zeros, dtype)
        onnx_case(f"quantize_{name}", "QuantizeLinear", {"x": x, "s": scales, "z": z}, axis=1, rtol=0.0, atol=0.0)
        onnx_case(f"quantize_{name}_negative_axis", "QuantizeLinear", {"x": x, "s": scales, "z": z}, axis=-2, rtol=0.0, atol=0.0)
        onnx_case(f"dequantize_{name}", "DequantizeLinear", {"x": rng.integers(-128, 128, (3, 4, 5)).astype(dtype), "s": scales, "z": z}, axis=1, rtol=0.0, atol=0.0)
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 254.5, 255.5, 1e30, -1e30, np.inf, -np.inf], F32)
    onnx_case("quantize_halves", "QuantizeLinear", {"x": halves, "s": np.array(1, F32)}, rtol=0.0, atol=0.0, opset=10)
    onnx_case("quantize_int16_blocks", "QuantizeLinear", {"x": x, "s": (rng.random((3, 2, 5)) + 0.01).astype(F32), "z": rng.integers(-9, 9, (3, 2, 5)).astype(np.int16)}, axis=1, block_size=3, opset=21, rtol=0.0, atol=0.0)
    onnx_case("dequantize_int32", "DequantizeLinear", {"x": rng.integers(-(2**31), 2**31, (3, 4)).astype(I32), "s": scales}, axis=1, rtol=0.0, atol=0.0)
    onnx_case("dequantize_float16", "DequantizeLinear", {"x": rng.integers(0, 255, (3, 4)).astype(U8), "s": scales.astype(np.float16)}, axis=1, opset=21, rtol=0.0, atol=0.0)
    b, bz = rng.integers(-128, 128, (2, 6, 3)).astype(np.int8), np.array(-7, np.int8)
    a = rng.integers(0, 256, (2, 4, 6)).astype(U8)
    onnx_case("matmul_integer", "MatMulInteger", {"a": a, "b": b, "az": np.array(200, U8), "bz": bz})
    onnx_case("matmul_integer_s8", "MatMulInteger", {"a": rng.integers(-128, 128, (4, 6)).astype(np.int8), "b": b, "az": np.array(-3, np.int8), "bz": np.array([[[1, -2, 3]], [[7, 0, -1]]], np.int8)})
    onnx_case("matmul_integer_bare", "MatMulInteger", {"a": a, "b": b})
    for name, dtype in (("u8", U8), ("s8", np.int8)):
        onnx_case(f"qlinear_matmul_{name}", "QLinearMatMul", {"a": rng.integers(0, 127, (4, 6)).astype(dtype), "as": np.array(0.02, F32), "az": np.array(13, dtype), "b": b[0], "bs": (rng.random(3) * 0.1 + 0.01).astype(F32), "bz": np.array([1, -2, 3], np.int8), "ys": np.array(0.3, F32), "yz": np.array(77, dtype)}, rtol=0.0, atol=0.0)


def main():
    global folder, written
    groups = {
        "contrib": (activations, products, norms, attentions, multi_head, rotary, quantised, n_bits, gather_blocks),
        "families": (plain_products, plain_norms, plain_quantised),
    }
    for folder, makers in groups.items():
        (OUT / folder).mkdir(parents=True, exist_ok=True)
        for old in (OUT / folder).glob("*.onnx"):
            old.unlink()
        written = 0
        for make in makers:
            make()
        print(f"{written} golden models in {OUT / folder}")


main()
