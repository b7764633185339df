"""One peer in a process of its own, spoken to in JSON lines: {"texts": [...], "batch": N, "seconds": S} gives {"median_ms": …,
"rss_mb": …}, and with "vectors": true {"vectors": [[…]]}. bench/engines.py starts it and ends it when it does not answer.

Peers get what a careful user gives them: texts sorted by length, `batch` at a time, each batch padded to its longest.
"""
import json
import os
import sys
import time

import numpy as np
from tokenizers import Tokenizer

from workloads import made_text


def feed(tokenizer, texts):
    encodings = tokenizer.encode_batch(texts)
    ids = np.zeros((len(texts), max(len(e.ids) for e in encodings)), np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, :len(encoding.ids)] = encoding.ids
        mask[row, :len(encoding.ids)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def onnx_runtime(model, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)[0]


def quantised(core, tokenizer, model, cache):
    """The static int8 model of OpenVINO's own quantiser, made once: it takes a minute."""
    import nncf
    import openvino
    path = os.path.join(cache, "openvino_int8.xml")
    if not os.path.exists(path):
        samples = [feed(tokenizer, [made_text(n, n)]) for n in range(10, 210)]
        made = nncf.quantize(core.read_model(model), nncf.Dataset(samples), subset_size=len(samples),
                             model_type=nncf.ModelType.TRANSFORMER, preset=nncf.QuantizationPreset.MIXED)
        part = os.path.join(cache, "openvino_int8_part.xml")  # an interrupted run leaves no half a model behind
        openvino.save_model(made, part, compress_to_fp16=False)
        for end in (".bin", ".xml"):
            os.replace(part.replace(".xml", end), path.replace(".xml", end))
    return core.read_model(path)


def open_vino(kind, tokenizer, model, threads, cache):
    import openvino
    core = openvino.Core()
    graph = quantised(core, tokenizer, model, cache) if kind == "ov_int8" else core.read_model(model)
    hint = "f32" if kind == "ov_fp32" else "bf16"
    request = core.compile_model(graph, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                                "INFERENCE_PRECISION_HINT": hint}).create_infer_request()

    def run(inputs):
        request.infer(inputs)
        return np.array(request.get_output_tensor(0).data)
    return run


def embedder(tokenizer, run):
    def embed(texts, batch):
        vectors = np.zeros((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for first in range(0, len(order), batch):
            part = order[first:first + batch]
            rows = run(feed(tokenizer, [texts[i] for i in part]))[:, 0]
            vectors[part] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return vectors
    return embed


def resident_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def answer(embed, asked):
    texts, batch = asked["texts"], asked["batch"]
    if asked.get("vectors"):
        return {"vectors": embed(texts, batch).tolist()}
    for _ in range(asked.get("warm_up", 0)):
        embed(texts, batch)
    times, end = [], time.monotonic() + asked["seconds"]
    while not times or time.monotonic() < end:
        start = time.perf_counter()
        embed(texts, batch)
        times.append(1e3 * (time.perf_counter() - start))
    return {"median_ms": float(np.median(times)), "rss_mb": resident_mb()}


def main():
    kind, model, tokenizer_file, threads, cache = sys.argv[1:6]
    tokenizer = Tokenizer.from_file(tokenizer_file)
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not come between the answers
    run = (onnx_runtime(model, int(threads)) if kind.startswith("ort")
           else open_vino(kind, tokenizer, model, int(threads), cache))
    embed = embedder(tokenizer, run)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(embed, json.loads(line))), file=answers, flush=True)


main()
