"""The engines side by side: peers, each in a process of its own that stays, and Narthex, started anew for every turn.

A turn gives milliseconds for all texts of a workload, text in, normalised vectors out. Every wait is bounded; an engine that fails
raises Failed and costs only itself.
"""
import json
import os
import select
import subprocess
import sys
import time

import numpy as np

from machine import Failed, HERE, command

PEERS = {"ort_fp32": "ONNX Runtime fp32", "ort_int8": "ONNX Runtime int8, dynamic", "ov_fp32": "OpenVINO fp32",
         "ov_bf16": "OpenVINO bf16", "ov_int8": "OpenVINO int8, static"}
PRECISIONS = ("fp32", "bf16", "int8")
ISAS = {"scalar": "scalar", "avx2": "AVX2", "avx512": "AVX-512", "amx": "AMX", "neon": "NEON"}
START_S = 120    # a peer loads a model; Narthex would compile one
QUANTISE_S = 400  # OpenVINO's static int8 model is made once
TURN_S = 240     # the largest workload on the slowest engine of a busy machine
BATCHES = (8, 32)


class Peer:
    """Speaks JSON lines with bench/peer.py."""

    def __init__(self, kind, a):
        self.id, self.title, self.batch, self.rss_mb = kind, PEERS[kind], {}, None
        folder = os.path.join(a.models, "bge-small-en-v1.5-q" if kind == "ort_int8" else "bge-small-en-v1.5")
        self.log = open(os.path.join(a.work, kind + ".log"), "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "peer.py"), kind, os.path.join(folder, "model.onnx"),
             os.path.join(folder, "tokenizer.json"), str(a.threads), a.work],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        try:
            self.answer(QUANTISE_S if kind == "ov_int8" else START_S)
        except Failed:
            self.close()
            raise

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()

    def answer(self, limit_s):
        end, line = time.monotonic() + limit_s, b""
        pipe = self.process.stdout.fileno()
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.process.kill()
                raise Failed(f"{self.title} gave no answer in {limit_s:.0f} s")
            part = os.read(pipe, 1 << 20)
            if not part:
                raise Failed(f"{self.title} ended without an answer; see {self.id}.log in the work folder")
            line += part
        return json.loads(line)

    def ask(self, request, limit_s):
        if self.process.poll() is not None:
            raise Failed(f"{self.title} has ended")
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Failed(f"{self.title} takes no more work: {error}") from None
        return self.answer(limit_s)

    def warm(self, name, texts, limit_s):
        """The first pass over a workload, which settles its batch size; gives the vectors."""
        sample = texts[::4] if len(texts) > 64 else texts
        times = {}
        for batch in BATCHES if len(texts) > min(BATCHES) else (len(texts),):
            times[batch] = self.ask({"texts": sample, "batch": batch, "seconds": 0.2, "warm_up": 1}, limit_s)["median_ms"]
        self.batch[name] = min(times, key=times.get)
        return np.array(self.ask({"texts": texts, "batch": self.batch[name], "vectors": True}, limit_s)["vectors"])

    def turn(self, workload, seconds, limit_s):
        row = self.ask({"texts": workload.texts, "batch": self.batch.get(workload.name, max(BATCHES)), "seconds": seconds},
                       limit_s)
        self.rss_mb = row["rss_mb"]
        return row["median_ms"]


class Narthex:
    def __init__(self, a, precision, isa, automatic, threads=None):
        self.id, self.automatic = f"narthex_{precision}_{isa}", automatic
        self.title = f"Narthex {precision}, {ISAS.get(isa, isa)}"
        self.binary, self.precision, self.isa = a.narthex, precision, isa
        self.threads = threads or a.threads
        self.tokens = {}

    def turn(self, workload, seconds, limit_s):
        large = len(workload.texts) > 64  # a pass of seconds needs no warm-up and no second one
        line = [self.binary, "bench", "engine", "--texts", workload.path, "--batch", "256", "--precision", self.precision,
                "--threads", str(self.threads), "--seconds", str(max(seconds, 0.01)), "--format", "json"]
        row = json.loads(command(line + (["--warm-up", "0", "--rounds", "1"] if large else []), limit_s, self.isa))
        self.tokens[workload.name] = row["tokens"]
        return row["median_ms"]

    def vectors(self, path, out, limit_s):
        if os.path.exists(out):
            os.unlink(out)
        command(self.embed_line(path, out), limit_s, self.isa)
        return np.load(out)

    def embed_line(self, path, out):
        return [self.binary, "embed", "--input", path, "--precision", self.precision, "--threads", str(self.threads),
                "--format", "npy", "--output", out]


def narthex_engines(a, work):
    """What Narthex can be forced to here: every precision on every instruction set, the fastest first. The best is what it takes
    unforced. Scalar code is measured on the query only. Compiles each model first, so that no turn does."""
    found, best = [], None
    for isa in ("amx", "avx512", "avx2", "scalar"):
        probe = [a.narthex, "embed", "--model", "hashing-ngram-256", "--format", "json", "x"]
        try:
            command(probe, START_S, isa)
        except Failed:
            continue
        best = best or isa
        found += [Narthex(a, precision, isa, isa == best) for precision in PRECISIONS]
    for engine in found:
        command(engine.embed_line(work["q12"].path, os.path.join(a.work, "probe.npy")), START_S, engine.isa)
        os.unlink(os.path.join(a.work, "probe.npy"))
    return found, best
