#!/usr/bin/env python3
"""Narthex in each precision beside ONNX Runtime on bge-small-en-v1.5, fp32 and its dynamic int8 file, in one run, as ratios.

    embed.py --narthex BINARY --models FOLDER [--threads 2] [--seconds 1]

All get text and give normalised vectors, with as many threads. ONNX Runtime gets what its users do: tokens by the `tokenizers`
wheel, one padded batch a call. The machine may be shared, so they take turns ROUNDS times and the best median of each counts.
"""
import argparse
import json
import os
import random
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

WORDS = "the user asked system model memory index page answer question guard prompt attack before five from with was is and a".split()


def text(n_words, seed):
    r = random.Random(seed)
    return " ".join(r.choice(WORDS) for _ in range(n_words))


ROUNDS = 5
PRECISIONS = ("fp32", "bf16", "int8")
WORKLOADS = {
    "query, 11 tokens": ["how do I reset my password on the portal"],
    "one text, 128 tokens": [text(126, 1)],
    "one text, 512 tokens": [text(510, 2)],
    "32 short texts": [text(8 + i % 8, i) for i in range(32)],
    "32 mixed texts": [text(10 + i * 53 % 170, i) for i in range(32)],
}


class Ort:
    def __init__(self, folder, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = ort.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(512)

    def embed(self, texts):
        encodings = self.tokenizer.encode_batch(texts)
        width = max(len(e.ids) for e in encodings)
        ids = np.zeros((len(texts), width), np.int64)
        mask = np.zeros_like(ids)
        for i, e in enumerate(encodings):
            ids[i, :len(e.ids)] = e.ids
            mask[i, :len(e.ids)] = 1
        hidden = self.session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
        return hidden[:, 0] / np.linalg.norm(hidden[:, 0], axis=1, keepdims=True)

    def median_ms(self, texts, seconds):
        self.embed(texts)
        times, end = [], time.time() + seconds
        while time.time() < end or not times:
            start = time.perf_counter()
            self.embed(texts)
            times.append(1e3 * (time.perf_counter() - start))
        return float(np.median(times))


def narthex(binary, texts, threads, seconds, precision):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as out:
        out.writelines(json.dumps({"text": t}) + "\n" for t in texts)
    command = [binary, "bench", "engine", "--texts", out.name, "--batch", str(len(texts)), "--threads", str(threads),
               "--seconds", str(seconds), "--precision", precision, "--format", "json"]
    row = json.loads(subprocess.run(command, capture_output=True, check=True, text=True, timeout=300).stdout)
    os.unlink(out.name)
    return row


def start_ms(binary, precision):
    best = float("inf")
    for _ in range(10):
        begin = time.perf_counter()
        subprocess.run([binary, "embed", "hello", "--precision", precision], capture_output=True, check=True, timeout=60)
        best = min(best, 1e3 * (time.perf_counter() - begin))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narthex", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1)
    a = parser.parse_args()
    peers = {"ORT fp32": Ort(os.path.join(a.models, "bge-small-en-v1.5"), a.threads),
             "ORT int8": Ort(os.path.join(a.models, "bge-small-en-v1.5-q"), a.threads)}
    for precision in PRECISIONS:  # so that no measured process compiles
        subprocess.run([a.narthex, "compile", "bge-small-en-v1.5", "--precision", precision], capture_output=True, check=True, timeout=300)
    print(f"bge-small-en-v1.5, ms, {a.threads} threads; ONNX Runtime {ort.__version__}; ratios to its fp32 and to its int8")
    print(f"{'workload':<22} {'tokens':>6}" + "".join(f" {name:>9}" for name in peers) + "".join(f" {p:>9} {'':>13}" for p in PRECISIONS))
    resident = {}
    for name, texts in WORKLOADS.items():
        rows, medians = {p: [] for p in PRECISIONS}, {p: [] for p in peers}
        for _ in range(ROUNDS):
            for precision in PRECISIONS:
                rows[precision].append(narthex(a.narthex, texts, a.threads, a.seconds, precision))
            for peer, engine in peers.items():
                medians[peer].append(engine.median_ms(texts, a.seconds))
        theirs = {peer: min(values) for peer, values in medians.items()}
        line = f"{name:<22} {rows['fp32'][0]['tokens']:>6}" + "".join(f" {ms:>9.2f}" for ms in theirs.values())
        for precision in PRECISIONS:
            ours = min(rows[precision], key=lambda row: row["median_ms"])
            resident[precision] = ours["rss_mb"]
            ratios = "/".join(f"{ms / ours['median_ms']:.2f}x" for ms in theirs.values())
            line += f" {ours['median_ms']:>9.2f} {ratios:>13}"
        print(line, flush=True)
    for precision in PRECISIONS:
        print(f"{precision}: process start to first vector {start_ms(a.narthex, precision):.0f} ms; resident after the last workload "
              f"{resident[precision]:.0f} MB")
    print(f"binary {os.path.getsize(a.narthex) / 2**20:.1f} MB")


main()
