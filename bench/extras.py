"""What is measured once and not in turns: likeness to ONNX Runtime, cold start, memory, numbers of threads.

Each function fills its part of the result and leaves out, by name, what could not be measured.
"""
import json
import os
import subprocess
import time

import numpy as np

from engines import PRECISIONS, TURN_S, Narthex
from machine import Failed, command, shown
from measure import skip
from workloads import thousand

SCALAR_TEXTS = "b32_short"
THREAD_WORKLOADS = ("q12", "b32_mixed")
ERRORS = (Failed, OSError, ValueError, KeyError)


def cosines(rows, reference):
    both = np.sum(rows[:len(reference)] * reference, axis=1) / np.linalg.norm(reference, axis=1)
    return {"worst": float(both.min()), "mean": float(both.mean()), "texts": len(reference)}


def warm_peers(clock, result, peers, work):
    """The first pass of every peer over every workload; gives ONNX Runtime's fp32 vectors, the reference of all cosines."""
    reference, largest = {}, list(work)[-1]
    for peer in peers:  # ort_fp32 is the first
        for name, workload in work.items():
            try:
                vectors = peer.warm(name, workload.texts, clock.bound(TURN_S))
                if peer.id == "ort_fp32":
                    reference[name] = vectors
                if name == largest and name in reference:
                    result["cosine"][peer.id] = cosines(vectors, reference[name])
            except ERRORS as error:
                skip(result, f"{peer.title} on {name}", error)
        result["batch"][peer.id] = peer.batch
        clock.say(f"{peer.title}: ready, texts a batch {peer.batch}")
    return reference


def likeness(a, clock, result, engines, work, reference):
    largest = list(work)[-1]
    for engine in engines:
        name = SCALAR_TEXTS if engine.isa == "scalar" and SCALAR_TEXTS in work else largest
        if engine.id in result["cosine"] or name not in reference:
            continue
        try:
            rows = engine.vectors(work[name].path, os.path.join(a.work, "vectors.npy"), clock.bound(TURN_S))
            result["cosine"][engine.id] = cosines(rows, reference[name])
            clock.say(f"{engine.title}: worst cosine {result['cosine'][engine.id]['worst']:.6f}")
        except ERRORS as error:
            skip(result, f"cosine of {engine.title}", error)


def status_mb(process):
    """The memory of a running process from /proc: wait4 would count that of the parent which forked it."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return {to: int(fields[name].split()[0]) / 1024
            for name, to in (("VmHWM", "peak_mb"), ("RssAnon", "anonymous_mb"), ("RssFile", "file_mb")) if name in fields}


def watched(line, limit_s):
    """Runs a command and gives what its memory was when last seen, at most 20 ms before its end."""
    last, end = {}, time.monotonic() + limit_s
    process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while process.poll() is None:
            if time.monotonic() > end:
                raise Failed(f"no end in {limit_s:.0f} s: {shown(' '.join(line))}")
            try:
                last = status_mb(process) or last  # an ended process has no Vm lines any more
            except OSError:
                pass
            time.sleep(0.02)
        if process.returncode != 0:
            raise Failed(f"{shown(' '.join(line))}: {shown(process.stderr.read().decode(errors='replace').strip()[-300:])}")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    return last


def memory(a, clock, result, engines, reference):
    """Embeds 1,000 texts in each precision; the first 256 are the largest workload, so cosines come from the same run."""
    path = os.path.join(a.work, "thousand.txt")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(thousand()) + "\n")
    for engine in (engine for engine in engines if engine.automatic):
        try:
            vectors = os.path.join(a.work, "thousand.npy")
            if os.path.exists(vectors):
                os.unlink(vectors)
            result["memory"][engine.precision] = watched(engine.embed_line(path, vectors), clock.bound(TURN_S))
            if "b256_mixed" in reference:
                result["cosine"][engine.id] = cosines(np.load(vectors), reference["b256_mixed"])
            clock.say(f"{engine.title}: 1,000 texts, at most {result['memory'][engine.precision]['peak_mb']:.0f} MB")
        except ERRORS as error:
            skip(result, f"memory of {engine.title}", error)


def cold_start(a, clock, result):
    for precision in (*PRECISIONS, "auto"):
        try:
            row = json.loads(command([a.narthex, "bench", "cold", "--runs", "5" if a.quick else "20", "--precision", precision,
                                      "--threads", str(a.threads), "--format", "json"], clock.bound(60)))
            result["cold"][precision] = {key: row[key] for key in ("median_ms", "min_ms", "p99_ms", "precision")}
        except ERRORS as error:
            skip(result, f"cold start in {precision}", error)
    clock.say("cold start")


def thread_counts(most):
    counts = []
    while (len(counts) == 0 or counts[-1] * 2 < most):
        counts.append(counts[-1] * 2 if counts else 1)
    return counts + ([most] if most > 1 else [])


def threads(a, clock, result, engines, work):
    """Rounds over the numbers of threads, as {precision: {workload: [{threads: ms}, …]}}."""
    for engine in (engine for engine in engines if engine.automatic):
        table = result["threads_ms"].setdefault(engine.precision, {})
        for name in (name for name in THREAD_WORKLOADS if name in work):
            for _ in range(1 if a.quick else 3):
                row = {}
                for count in thread_counts(a.threads):
                    try:
                        one = Narthex(a, engine.precision, engine.isa, True, count)
                        row[str(count)] = one.turn(work[name], 0.3, clock.bound(60))
                    except ERRORS as error:
                        skip(result, f"{engine.title} on {count} threads", error)
                table.setdefault(name, []).append(row)
        clock.say(f"{engine.title}: threads 1 to {a.threads}")
