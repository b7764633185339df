"""Writes the ONNX backend node tests, as the `onnx` wheel collects them, into a folder for conformance_test.cc.

    python3 dump_node_tests.py FOLDER

The wheel carries no files for these tests: their models and data are made when they are collected. Per test:
FOLDER/NAME/model.onnx and FOLDER/NAME/test_data_set_0/{input,output}_K.pb, the layout of the ONNX repository. Tests
whose data is a sequence or an optional have no such tensor; they get an empty file in its place. FOLDER/tests.txt, written
last, names all tests with their tolerances: "NAME RTOL ATOL" a line.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def tensor_bytes(value) -> bytes:
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString()
    if isinstance(value, (np.ndarray, np.generic)):
        return numpy_helper.from_array(np.asarray(value)).SerializeToString()
    return b""


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    index = []
    for case in collect_testcases(None):
        data = folder / case.name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (data.parent / "model.onnx").write_bytes(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        for kind, values in (("input", inputs), ("output", outputs)):
            for k, value in enumerate(values):
                (data / f"{kind}_{k}.pb").write_bytes(tensor_bytes(value))
        index.append(f"{case.name} {case.rtol:g} {case.atol:g}\n")
    (folder / "tests.txt").write_text("".join(index))


if __name__ == "__main__":
    main()
