#!/usr/bin/env python3
"""Narthex beside its peers and the roof of the machine, on bge-small-en-v1.5, in one run whose turns alternate.

    engine.py --narthex BINARY --models FOLDER [--threads N] [--quick] [--out FOLDER] [--work FOLDER]

Writes RESULTS.md and results.json: medians over turns, then ratios, since the machine may be shared. A peer that is missing,
fails or does not answer in time is left out, loudly, and named in RESULTS.md.
"""
import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import select
import statistics
import subprocess
import sys

import numpy as np

from workloads import standard

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = ["ort", "ort_int8", "ov_f32", "ov_bf16", "ov_int8"]
OURS = [("fp32", ""), ("bf16", ""), ("int8", ""), ("fp32", "avx2"), ("int8", "avx2"), ("int8", "avx512")]
START_S, TURN_S = 300, 60  # a start may quantise a model


class Failed(Exception):
    pass


class Peer:
    def __init__(self, kind, a):
        folder = os.path.join(a.models, "bge-small-en-v1.5-q" if kind == "ort_int8" else "bge-small-en-v1.5")
        self.kind = kind
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "peer.py"), kind, os.path.join(folder, "model.onnx"),
             os.path.join(folder, "tokenizer.json"), str(a.threads), a.work],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(os.path.join(a.work, kind + ".log"), "w"))
        self.answer(START_S)

    def answer(self, limit_s):
        line = b""
        if select.select([self.process.stdout], [], [], limit_s)[0]:
            line = self.process.stdout.readline()
        if not line:
            self.process.kill()
            raise Failed(f"{self.kind} ended or gave no answer in {limit_s} s; see {self.kind}.log in the work folder")
        return json.loads(line)

    def turn(self, texts, seconds):
        self.process.stdin.write(json.dumps({"texts": texts, "seconds": seconds}).encode() + b"\n")
        self.process.stdin.flush()
        return self.answer(TURN_S)


def command(line, limit_s, isa=""):
    env = dict(os.environ, **({"NARTHEX_ISA": isa} if isa else {}))
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=limit_s, env=env)
    except subprocess.TimeoutExpired:
        raise Failed(f"no end in {limit_s} s: {' '.join(line)}") from None
    if done.returncode != 0:
        raise Failed(f"{' '.join(line)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def ours(a, precision, isa, texts, seconds):
    line = [a.narthex, "bench", "engine", "--texts", texts, "--batch", "256", "--precision", precision, "--threads",
            str(a.threads), "--seconds", str(seconds), "--format", "json"]
    return json.loads(command(line, TURN_S, isa))


def cosine(a, precision, isa, texts, reference):
    out = os.path.join(a.work, "vectors.npy")
    if os.path.exists(out):
        os.unlink(out)
    command([a.narthex, "embed", "--input", texts, "--precision", precision, "--format", "npy", "--output", out], TURN_S, isa)
    return np.sum(np.load(out) * reference, axis=1)


def measure(a, result, peers, files, texts):
    cells, vectors, failed = result["ms"], {}, set()

    def attempt(name, workload, turn):
        if (name, workload) in failed:
            return
        try:
            row = turn()
            cells.setdefault(name, {}).setdefault(workload, []).append(row["median_ms"])
            if "vectors" in row:
                vectors.setdefault((name, workload), np.array(row["vectors"]))
            elif name == "fp32":
                result["tokens"][workload] = row["tokens"]
        except (Failed, OSError, ValueError) as error:
            failed.add((name, workload))
            result["skipped"].append(f"{name} on {workload}: {error}")
            print("SKIPPED", result["skipped"][-1], file=sys.stderr, flush=True)

    for turn in range(1 if a.quick else 3):
        for workload in texts:
            print(f"turn {turn + 1}: {workload}", flush=True)
            for precision, isa in OURS:
                attempt(" ".join([precision, isa]).strip(), workload,
                        lambda p=precision, i=isa, w=workload: ours(a, p, i, files[w], a.seconds))
            for peer in peers:
                attempt(peer.kind, workload, lambda p=peer, w=workload: p.turn(texts[w], a.seconds))
    return vectors


def extras(a, result, vectors, files):
    def attempt(what, go):
        try:
            return go()
        except (Failed, OSError, ValueError) as error:
            result["skipped"].append(f"{what}: {error}")
            print("SKIPPED", result["skipped"][-1], file=sys.stderr, flush=True)
            return None

    reference = vectors.get(("ort", "b32_mixed"))
    for (name, workload), rows in vectors.items():
        if workload == "b32_mixed" and reference is not None:
            both = np.sum(rows * reference, axis=1)
            result["cosine"][name] = [float(both.min()), float(both.mean())]
    for precision in ("fp32", "bf16", "int8"):
        if reference is not None:
            both = attempt(f"cosine {precision}", lambda p=precision: cosine(a, p, "", files["b32_mixed"], reference))
            if both is not None:
                result["cosine"][precision] = [float(both.min()), float(both.mean())]
        cold = attempt(f"cold start {precision}", lambda p=precision: json.loads(command(
            [a.narthex, "bench", "cold", "--runs", "5", "--precision", p, "--format", "json"], TURN_S)))
        result["cold_ms"][precision] = cold and cold["median_ms"]
    roof = os.path.join(a.work, "machine_limit")
    attempt("roof", lambda: command(["g++", "-std=c++23", "-O3", "-o", roof, os.path.join(HERE, "machine_limit.cpp"),
                                     "-pthread"], 120))
    rows = attempt("roof", lambda: json.loads(command([roof, "--seconds", "0.2", "--threads", str(a.threads)], 120)))
    result["roof"] = rows and rows["rows"]


def table(result):
    cells = {name: {w: statistics.median(t) for w, t in row.items()} for name, row in result["ms"].items()}
    base = cells.get("ort", {})
    lines = ["| engine | " + " | ".join(result["workloads"]) + " |", "|---|" + "---|" * len(result["workloads"])]
    for name, row in cells.items():
        ratios = [f"{base[w] / row[w]:.2f}" if w in row and w in base else "–" for w in result["workloads"]]
        lines.append(f"| {name if name in PEERS else 'narthex ' + name} | " + " | ".join(ratios) + " |")
    return lines


def report(result):
    lines = ["# Narthex beside its peers", "", f"{result['date']}, {result['machine']}, {result['threads']} threads; "
             + ", ".join(result["versions"]) + ".", "", "Speed as a multiple of ONNX Runtime fp32 in the same run; above 1 is faster.",
             "", *table(result), "", "| engine | worst cosine to ONNX Runtime fp32 | mean |", "|---|---|---|"]
    lines += [f"| {name} | {worst:.6f} | {mean:.6f} |" for name, (worst, mean) in result["cosine"].items()]
    lines += ["", "Process start to first vector, warm page cache: " + ", ".join(
        f"{p} {ms:.0f} ms" for p, ms in result["cold_ms"].items() if ms) + "."]
    lines += ["", "## Left out", ""] + ([f"- {s}" for s in result["skipped"]] or ["Nothing."])
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narthex", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workloads", help="names, with commas between; default: all")
    parser.add_argument("--out", default=HERE)
    parser.add_argument("--work", default="build/bench")
    a = parser.parse_args()
    a.seconds = 0.3 if a.quick else 1.0
    os.makedirs(a.work, exist_ok=True)
    texts = {n: t for n, t in standard().items() if not a.workloads or n in a.workloads.split(",")}
    files = {name: os.path.join(a.work, name + ".txt") for name in texts}
    for name, path in files.items():
        with open(path, "w") as out:
            out.write("\n".join(texts[name]) + "\n")
    result = {"date": str(datetime.date.today()), "machine": platform.machine(), "threads": a.threads,
              "versions": [f"{p} {importlib.metadata.version(p)}" for p in ("onnxruntime", "openvino", "nncf", "numpy")],
              "workloads": list(texts), "tokens": {}, "ms": {}, "cosine": {}, "cold_ms": {}, "skipped": []}
    peers = []
    try:
        for kind in PEERS:
            try:
                peers.append(Peer(kind, a))
            except (Failed, OSError, ValueError) as error:
                result["skipped"].append(str(error))
                print("SKIPPED", error, file=sys.stderr, flush=True)
        vectors = measure(a, result, peers, files, texts)
    finally:
        for peer in peers:
            peer.process.kill()
    extras(a, result, vectors, files)
    with open(os.path.join(a.out, "results.json"), "w") as out:
        json.dump(result, out, indent=1)
    with open(os.path.join(a.out, "RESULTS.md"), "w") as out:
        out.write(report(result))
    if not result["ms"]:
        raise SystemExit("nothing was measured; see above")


main()
