"""Writes tests/plan/data/goldens/*.json: what ONNX Runtime computes for the small graphs of tests/data/graphs.

    python3 tests/plan/make_goldens.py                  (needs the wheels onnxruntime and numpy)
    python3 tests/plan/make_goldens.py MODELS TARGET    the same for every .onnx file of another folder

Each case holds whole inputs (several shapes; full, ragged and single-token masks) and every 13th element of each output.
A case that ONNX Runtime itself refuses is left out.
"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = 13
DTYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
# batch, tokens, real tokens of each text
CASES = [(1, 1, [1]), (1, 7, [7]), (2, 9, [9, 4]), (3, 16, [1, 16, 10])]


def make_input(name, dtype, batch, length, real, rng):
    if "mask" in name:
        return np.array([[int(j < real[i]) for j in range(length)] for i in range(batch)]).astype(dtype)
    if "type" in name:
        return np.array([[int(j > length // 2) for j in range(length)] for _ in range(batch)]).astype(dtype)
    return rng.integers(3, 90, (batch, length)).astype(dtype)


def run_case(session, case, rng):
    batch, length, real = case
    feeds = {}
    for spec in session.get_inputs():
        feeds[spec.name] = make_input(spec.name, DTYPES[spec.type], batch, length, real, rng)
    names = [spec.name for spec in session.get_outputs()]
    outputs = session.run(names, feeds)
    return {
        "inputs": [{"name": n, "dims": list(a.shape), "data": a.ravel().astype(int).tolist()} for n, a in feeds.items()],
        "outputs": [
            {"name": n, "dims": list(a.shape), "data": [float(f"{v:.8g}") for v in a.ravel()[::STEP]]}
            for n, a in zip(names, outputs)
        ],
    }


def main():
    onnxruntime.set_default_logger_severity(4)
    folder, target = ROOT / "data" / "graphs", ROOT / "plan" / "data" / "goldens"
    if len(sys.argv) == 3:
        folder, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.onnx")):
        rng = np.random.default_rng(7)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        cases = []
        for case in CASES:
            try:
                cases.append(run_case(session, case, rng))
            except Exception as error:  # the runtime's own limits, such as one batch size for rotary caches
                print(f"{path.name}: case {case} left out: {str(error)[:120]}")
        text = json.dumps({"step": STEP, "cases": cases}, separators=(",", ":"))
        (target / (path.stem + ".json")).write_text(text + "\n")
        print(path.name, len(cases), "cases,", len(text), "bytes")


if __name__ == "__main__":
    main()
