"""The `tokenizers` wheel on one thread, beside bench/tokenizer_bench: tokenizer_peer.py tokenizer.json text.txt..."""

import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import Tokenizer  # noqa: E402  (reads the environment when imported)


def best_seconds(work):
    best, begin = 1e9, time.perf_counter()
    turns = 0
    while turns < 3 or time.perf_counter() - begin < 2:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        turns += 1
    return best


def main():
    tokenizer = Tokenizer.from_file(sys.argv[1])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    print(f"load tokenizer.json {best_seconds(lambda: Tokenizer.from_file(sys.argv[1])) * 1e3:.3f} ms")
    for file in sys.argv[2:]:
        with open(file, encoding="utf-8", newline="\n") as text:
            lines = [line.rstrip("\n") for line in text if line != "\n"]
        n_bytes = sum(len(line.encode()) for line in lines)
        print(f"{file}: {len(lines)} texts")
        for name, encode in (
            ("encode_batch", tokenizer.encode_batch),
            ("encode_batch_fast", tokenizer.encode_batch_fast),  # without offsets
        ):
            print(f"  {name:<24} {n_bytes * 1e-6 / best_seconds(lambda: encode(lines)):8.1f} MB/s")


if __name__ == "__main__":
    main()
