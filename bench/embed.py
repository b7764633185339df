#!/usr/bin/env python3
"""Narthex beside ONNX Runtime on bge-small-en-v1.5 fp32, in one run, as ratios.

    embed.py --narthex BINARY --models FOLDER [--threads 2] [--seconds 1]

Both get text and give normalised vectors, with as many threads. ONNX Runtime gets what its users do: tokens by the `tokenizers`
wheel, one padded batch a call. The machine may be shared, so the two take turns ROUNDS times and the best median of each counts.
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


def narthex(binary, texts, threads, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as out:
        out.writelines(json.dumps({"text": t}) + "\n" for t in texts)
    command = [binary, "bench", "engine", "--texts", out.name, "--batch", str(len(texts)), "--threads", str(threads),
               "--seconds", str(seconds), "--format", "json"]
    row = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    os.unlink(out.name)
    return row


def start_ms(binary):
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([binary, "embed", "hello"], capture_output=True, check=True)
        best = min(best, 1e3 * (time.perf_counter() - begin))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narthex", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1)
    a = parser.parse_args()
    peer = Ort(os.path.join(a.models, "bge-small-en-v1.5"), a.threads)
    print(f"bge-small-en-v1.5 fp32, {a.threads} threads; ONNX Runtime {ort.__version__}")
    print(f"{'workload':<22} {'tokens':>6} {'narthex ms':>11} {'ONNX Runtime ms':>16} {'ratio':>7}")
    for name, texts in WORKLOADS.items():
        rows, medians = [], []
        for _ in range(ROUNDS):
            rows.append(narthex(a.narthex, texts, a.threads, a.seconds))
            medians.append(peer.median_ms(texts, a.seconds))
        ours = min(rows, key=lambda row: row["median_ms"])
        theirs = min(medians)
        print(f"{name:<22} {ours['tokens']:>6} {ours['median_ms']:>11.2f} {theirs:>16.2f} {theirs / ours['median_ms']:>6.2f}x", flush=True)
    print(f"process start to first vector: {start_ms(a.narthex):.0f} ms; resident after the last workload: {ours['rss_mb']:.0f} MB; "
          f"binary {os.path.getsize(a.narthex) / 2**20:.1f} MB")


main()
