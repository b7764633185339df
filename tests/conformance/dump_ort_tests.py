"""Writes random single-node tests of old and new opsets, with the outputs of ONNX Runtime, for conformance_test.cc.

    python3 dump_ort_tests.py FOLDER

The backend node tests (dump_node_tests.py) hold only the newest version of each operator; this covers the versions from
opset 7 on, types that they leave out, and corners such as NaN, infinities, empty tensors and wrapping integers. The
layout is the same. Cases that ONNX Runtime has no kernel for are left out. The seed is fixed.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

FLOATS = (np.float32, np.float64, np.float16)
INTS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 1e-30], np.float64)
SHAPES = (((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((), (5,)), ((3, 0), (1, 1)), ((1,), (2, 2, 2)))


class Writer:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.index = []
        self.left_out = {}
        self.rng = np.random.default_rng(7)

    def values(self, shape, dtype, special=True):
        if dtype == np.bool_:
            return self.rng.random(shape) < 0.5
        if np.issubdtype(dtype, np.integer):
            info = np.iinfo(dtype)
            small = self.rng.integers(max(info.min, -9), 10, shape).astype(dtype)
            wide = self.rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            return np.where(self.rng.random(shape) < 0.5, small, wide).astype(dtype)
        x = self.rng.normal(0, 3, shape)
        if special:
            x = np.where(self.rng.random(shape) < 0.3, self.rng.choice(SPECIAL, shape), x)
        return np.asarray(x).astype(dtype)

    def case(self, op, opset, inputs, n_outputs=1, rtol=1e-5, atol=1e-6, **attributes):
        name = f"{op}_{opset}_{len(self.index)}"
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
        given = {n: np.asarray(x) for n, x in zip(names, inputs) if x is not None}
        outputs = [f"y{i}" for i in range(n_outputs)]
        node = helper.make_node(op, names, outputs, **attributes)
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given.items()],
            [onnx.ValueInfoProto(name=o) for o in outputs],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            results = session.run(None, given)
        except Exception as error:  # no kernel for this type, or refused
            self.left_out.setdefault(op, str(error)[-120:])
            return
        data = self.folder / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (data.parent / "model.onnx").write_bytes(model.SerializeToString())
        for kind, tensors in (("input", given.values()), ("output", results)):
            for k, tensor in enumerate(tensors):
                (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(tensor)).SerializeToString())
        if any(r.dtype == np.float16 for r in results):
            rtol, atol = 2e-3, 1e-3
        self.index.append(f"{name} {rtol:g} {atol:g}\n")


def elementwise(w: Writer):
    plain = {
        "Sqrt": 13, "Exp": 13, "Log": 13, "Erf": 13, "Sin": 7, "Cos": 7, "Tan": 7, "Asin": 7, "Acos": 7, "Atan": 7,
        "Sinh": 9, "Cosh": 9, "Asinh": 9, "Acosh": 9, "Atanh": 9, "Tanh": 13, "Floor": 13, "Ceil": 13, "Round": 11,
        "Reciprocal": 13, "Sigmoid": 13, "Softplus": 7, "Softsign": 7, "HardSwish": 14, "IsNaN": 9, "IsInf": 10,
        "Abs": 6, "Neg": 6, "Sign": 9, "Relu": 14, "Elu": 7, "Selu": 7, "LeakyRelu": 16, "HardSigmoid": 7,
        "ThresholdedRelu": 10, "Gelu": 20, "Celu": 12, "Mish": 18,
    }  # fmt: skip
    for op, opset in plain.items():
        for dtype in FLOATS + (INTS if op in ("Abs", "Neg", "Sign", "Relu") else ()):
            for version in {max(opset, 7), 23}:
                w.case(op, version, [w.values((3, 7), dtype)])
    for dtype in FLOATS + INTS:
        x, low, high = w.values((4, 5), dtype), dtype(2), dtype(5)
        for bounds in ((low, high), (low, None), (None, high), (None, None), (high, low)):
            w.case("Clip", 13, [x, *bounds])
        # ONNX Runtime computes integers in float32 here, so only small ones have one right answer.
        small = w.rng.integers(0, 9, (4, 5)).astype(dtype)
        w.case("Shrink", 9, [small if dtype in INTS else w.values((4, 5), dtype, False)], lambd=1.5, bias=0.25)
        w.case("PRelu", 16, [x, w.values((5,), dtype)])
    w.case("Clip", 7, [w.values((4, 5), np.float32)], min=-1.0, max=1.0)
    w.case("Clip", 10, [w.values((4, 5), np.float32)], max=1.0)
    w.case("Gelu", 20, [w.values((4, 5), np.float32)], approximate="tanh")
    w.case("IsInf", 10, [w.values((4, 5), np.float32)], detect_negative=0)
    w.case("IsInf", 10, [w.values((4, 5), np.float32)], detect_positive=0)


def arithmetic(w: Writer):
    for shapes in SHAPES:
        for dtype in FLOATS + INTS + (np.bool_,):
            a, b = (w.values(s, dtype) for s in shapes)
            for op in ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Sum", "Mean", "Equal", "Greater", "Less",
                       "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor"):  # fmt: skip
                divides = op in ("Div", "Mod") and np.issubdtype(dtype, np.integer)
                safe = np.where((b == 0) | (b == dtype(-1) if dtype in INTS[::2] else b == 0), dtype(3), b) if divides else b
                for opset in (7, 8, 11, 13, 18, 23):
                    floats_mod = {"fmod": 1} if op == "Mod" and dtype in FLOATS else {}
                    w.case(op, opset, [a, safe], **floats_mod)
                if op == "Mod" and divides:
                    w.case(op, 13, [a, safe], fmod=1)
            w.case("Where", 16, [w.values(shapes[0], np.bool_), a, b])
            w.case("Pow", 15, [a, w.values(shapes[1], np.float32)])
            w.case("Pow", 15, [np.clip(a, -5, 5) if dtype != np.bool_ else a, w.rng.integers(0, 5, shapes[1])])
            amount = w.rng.integers(0, 8, shapes[1]).astype(dtype)
            for direction in ("LEFT", "RIGHT"):
                w.case("BitShift", 11, [a, amount], direction=direction)
    for op in ("Min", "Max", "Sum", "Mean"):
        w.case(op, 13, [w.values((2, 3), np.float32)])
        w.case(op, 13, [w.values(s, np.float32) for s in ((2, 3), (3,), (4, 1, 1))])


def cast(w: Writer):
    types = [np.dtype(t) for t in FLOATS + INTS + (np.bool_,)]
    for source in types:
        for target in types:
            for opset in (9, 13, 19):
                # What becomes of NaN and infinities differs between kernels of ONNX Runtime.
                finite = source.kind == "f" and target.kind == "u"
                x = w.values((40,), source.type, not finite)
                w.case("Cast", opset, [x], rtol=0, atol=0, to=helper.np_dtype_to_tensor_dtype(target))
        w.case("Cast", 19, [w.values((40,), source.type)], to=T.STRING)
    w.case("Cast", 19, [np.array(["1.5", "-2", "1e3", "INF", "-inf", "NaN"], object)], to=T.FLOAT)


def reduce(w: Writer):
    names = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
             "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]  # fmt: skip
    for op in names:
        for dtype in (np.float32, np.float64, np.int32, np.int64, np.int8, np.uint8):
            if op == "ReduceLogSumExp" and np.issubdtype(dtype, np.integer):
                continue  # ONNX Runtime truncates every exponential
            high = 3 if op == "ReduceProd" else 5  # ONNX Runtime saturates a product that overflows
            x = w.rng.integers(1, high, (2, 3, 4)).astype(dtype)
            for axes in (None, [0], [1, 2], [-1], [0, 1, 2]):
                for keepdims in (0, 1):
                    for opset in (7, 11, 13, 18, 20):
                        if op == "ReduceSum" and opset >= 13 or opset >= 18:
                            w.case(op, opset, [x, None if axes is None else np.array(axes, np.int64)], keepdims=keepdims)
                        else:
                            axis = {} if axes is None else {"axes": axes}
                            w.case(op, opset, [x], keepdims=keepdims, **axis)
        w.case(op, 18, [w.values((3, 4), np.float32, False), np.array([1], np.int64)])
        if op != "ReduceMean":  # undefined
            w.case(op, 18, [np.zeros((2, 0, 3), np.float32), np.array([1], np.int64)])
    for op in ("ArgMax", "ArgMin"):
        for dtype in (np.float32, np.int32, np.int64, np.uint8):
            for axis in (0, 1, -1):
                x = w.rng.integers(0, 3, (3, 4, 5)).astype(dtype)
                for opset in (7, 11, 13):
                    w.case(op, opset, [x], axis=axis % 3 if opset < 11 else axis, keepdims=0)
                w.case(op, 13, [x], axis=axis, select_last_index=1)
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        for axis in (0, 1, -1):
            for flags in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}):
                w.case("CumSum", 14, [w.values((3, 4), dtype, False), np.array(axis, np.int64)], **flags)
        x = w.rng.permutation(60).reshape(3, 4, 5).astype(dtype)
        for axis, k in ((0, 2), (1, 4), (-1, 1), (-1, 0)):
            w.case("TopK", 11, [x, np.array([k], np.int64)], 2, axis=axis)
            w.case("TopK", 11, [x, np.array([k], np.int64)], 2, axis=axis, largest=0)
            w.case("TopK", 10, [x, np.array([k], np.int64)], 2, axis=axis)
            w.case("TopK", 7, [x], 2, axis=axis % 3, k=k)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    writer = Writer(folder)
    np.seterr(all="ignore")
    for family in (elementwise, arithmetic, cast, reduce):
        family(writer)
    (folder / "tests.txt").write_text("".join(writer.index))
    print(f"{len(writer.index)} tests; without a kernel in some type: {', '.join(sorted(writer.left_out))}")


if __name__ == "__main__":
    main()
