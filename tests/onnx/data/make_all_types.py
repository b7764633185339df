"""Writes all_types.onnx: every element type once as typed fields and once as raw_data, made by the onnx package.

    python3 tests/onnx/data/make_all_types.py          (in an environment with the onnx package)

The initializers `typed_T` and `raw_T` hold the same values; tests/onnx/tensor_test.cc compares their bytes.
"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).resolve().parent
VALUES = {
    "FLOAT": [0.0, -1.5, 3.25e38, 1e-40, float("inf")],
    "DOUBLE": [0.0, -1.5, 1e300, 5e-324, float("-inf")],
    "FLOAT16": [0.0, -1.5, 65504.0, 6e-8, float("inf")],
    "BFLOAT16": [0.0, -1.5, 3e38, 1e-38, float("-inf")],
    "FLOAT8E4M3FN": [0.0, -1.5, 448.0, 0.015625, 2.0],
    "FLOAT8E4M3FNUZ": [0.0, -1.5, 240.0, 0.0078125, 2.0],
    "FLOAT8E5M2": [0.0, -1.5, 57344.0, 0.00006103515625, 2.0],
    "FLOAT8E5M2FNUZ": [0.0, -1.5, 57344.0, 0.000030517578125, 2.0],
    "FLOAT8E8M0": [1.0, 2.0, 0.5, 1024.0, 0.125],
    "FLOAT4E2M1": [0.0, -1.5, 6.0, 0.5, -2.0],
    "INT8": [0, -128, 127, -1, 5],
    "UINT8": [0, 255, 128, 1, 5],
    "INT16": [0, -32768, 32767, -1, 5],
    "UINT16": [0, 65535, 32768, 1, 5],
    "INT32": [0, -(2**31), 2**31 - 1, -1, 5],
    "UINT32": [0, 2**32 - 1, 2**31, 1, 5],
    "INT64": [0, -(2**63), 2**63 - 1, -1, 5],
    "UINT64": [0, 2**64 - 1, 2**63, 1, 5],
    "BOOL": [False, True, True, False, True],
    "INT4": [0, -8, 7, -1, 5],
    "UINT4": [0, 15, 8, 1, 5],
    "INT2": [0, -2, 1, -1, 1],
    "UINT2": [0, 3, 2, 1, 1],
    "COMPLEX64": [0, 1 + 2j, -1.5j, 3, 1e30 - 1j],
    "COMPLEX128": [0, 1 + 2j, -1.5j, 3, 1e300 - 1j],
}


def main():
    tensors = []
    for name, values in VALUES.items():
        kind = getattr(TensorProto, name)
        wide = np.uint64 if name == "UINT64" else None  # NumPy would go through float64
        array = np.array(values, dtype=wide).astype(helper.tensor_dtype_to_np_dtype(kind))
        typed = helper.make_tensor(f"typed_{name}", kind, [5], array)
        if typed.HasField("raw_data"):
            raise SystemExit(f"{name}: the onnx package chose raw_data for typed values")
        raw = onnx.numpy_helper.from_array(array, f"raw_{name}")
        if not raw.HasField("raw_data") or raw.data_type != kind:
            raise SystemExit(f"{name}: the onnx package made no raw tensor")
        tensors += [typed, raw]
    tensors.append(helper.make_tensor("strings", TensorProto.STRING, [3], [b"plain", "ünïcode".encode(), b"\xff\x00\xfe"]))
    graph = helper.make_graph([], "all_types", [], [], tensors)
    model = helper.make_model(graph, producer_name="make_all_types", opset_imports=[helper.make_opsetid("", 23)])
    (HERE / "all_types.onnx").write_bytes(model.SerializeToString())
    print(f"{len(tensors)} tensors written")


if __name__ == "__main__":
    main()
