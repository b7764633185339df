#!/usr/bin/env python3
"""The second half of the demo: questions against passages, timings, and what the process took of memory and of the GPU.

Standard library only. Every number printed is measured here and now; the vectors come from the narthex binary.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

NARTHEX = sys.argv[1]

PASSAGES = [
    "To reset your password, open Settings, choose Security and press 'Send reset link'; the link is valid for one hour.",
    "Invoices are issued on the first working day of the month and can be downloaded from the billing page as PDF.",
    "The API returns 429 when a key exceeds its rate limit; wait for the number of seconds in the Retry-After header.",
    "Backups run every night at 02:00 UTC and are kept for thirty days in a second region.",
    "A model that fills the whole GPU leaves no memory for embeddings: loading another framework beside it ends in "
    "CUDA out of memory.",
    "Our office is closed on public holidays; urgent incidents are handled by the on-call engineer.",
    "Webhooks are signed with HMAC-SHA256: compare the signature in constant time before you trust the body.",
    "Users can be exported as CSV by an administrator; the file holds names, roles and the date of the last login.",
]
QUESTIONS = [
    "I forgot my login, how do I get back in?",
    "why was my request throttled?",
    "my LLM crashed when I loaded a second model next to it",
]


def bold(text):
    return f"\033[1m{text}\033[0m"


def embed(model, texts, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "texts.jsonl")
        with open(path, "w") as out:
            out.writelines(json.dumps({"text": t}) + "\n" for t in texts)
        run = subprocess.run([NARTHEX, "embed", "--model", model, "--input", path, *options], capture_output=True, check=True)
    return json.loads(run.stdout)


def vectors(answer):
    return [row["embedding"] for row in answer["data"]]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def search():
    print(bold("\n2. Real questions against eight passages (cosine similarity of real vectors)"))
    documents = vectors(embed("bge-small-en-v1.5", PASSAGES))
    queries = vectors(embed("bge-small-en-v1.5", QUESTIONS, "--prompt", "query"))
    for question, query in zip(QUESTIONS, queries):
        scores = sorted(((dot(query, d), i) for i, d in enumerate(documents)), reverse=True)
        print(f"\n  {question}")
        for score, i in scores[:2]:
            print(f"    {score:.3f}  [{i + 1}] {PASSAGES[i][:96]}")


def fallback():
    print(bold("\n3. Without any model: the lexical embedder, which says that it is lexical"))
    answer = embed("hashing-ngram-256", ["no model needed"])
    print(f"  {json.dumps(answer['embedder'])}")


def seconds(command):
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        best = min(best, time.perf_counter() - start)
    return best


def watch():
    """Runs an embedding of many texts and reads /proc while it works: memory, threads, and every mapped library."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as out:
        out.writelines(p + "\n" for p in PASSAGES * 40)
    process = subprocess.Popen([NARTHEX, "embed", "--input", out.name, "--format", "jsonl"], stdout=subprocess.DEVNULL)
    peak, libraries, devices = 0, set(), set()
    while process.poll() is None:
        try:
            status = open(f"/proc/{process.pid}/status").read()
            peak = max(peak, *(int(kb) for kb in re.findall(r"VmHWM:\s+(\d+)", status)), 0)
            libraries.update(re.findall(r"\S+\.so[\.\d]*$", open(f"/proc/{process.pid}/maps").read(), re.M))
            devices.update(os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd"))
        except (FileNotFoundError, ProcessLookupError, ValueError):
            pass
        time.sleep(0.005)
    os.unlink(out.name)
    gpu = [x for x in sorted(libraries | devices) if re.search(r"cuda|cublas|nvidia|libcu|rocm|hip", x, re.I)]
    return peak * 1024, libraries, gpu


def cost():
    print(bold("\n4. What it costs, measured on this machine now"))
    one = seconds([NARTHEX, "embed", "how do I reset my password on the portal"])
    none = seconds([NARTHEX, "embed", "--model", "hashing-ngram-256", "x"])
    peak, libraries, gpu = watch()
    scale = 1200 * 2**20
    rows = [
        ("resident memory, narthex", peak, f"{peak / 2**20:6.0f} MB"),
        ("binary", os.path.getsize(NARTHEX), f"{os.path.getsize(NARTHEX) / 2**20:6.1f} MB"),
        ("VRAM", 0, f"{0:6d} MB"),
    ]
    for label, value, text in rows:
        print(f"  {label:<26} {text}  {'█' * max(0, round(40 * value / scale))}{'▏' if value else ''}")
    print(f"  start → first vector        {one * 1e3:6.0f} ms  (the compiled model mapped and run; best of 5)")
    print(f"  start → lexical vector      {none * 1e3:6.1f} ms")
    print(f"  libraries mapped            {len(libraries):6d}     of CUDA, ROCm or NVIDIA: {', '.join(gpu) if gpu else 'none'}")
    if gpu:
        sys.exit("a GPU library was mapped: this must never happen")


def main():
    search()
    fallback()
    cost()
    print(bold("\nNext: ") + f"{NARTHEX} embed \"your text\"   ·   {NARTHEX} --help")


main()
