"""The texts that every engine is measured on, from fixed seeds; `narthex bench engine` makes the same ones.

    standard()   name -> texts
    thousand()   1,000 mixed texts, the 256 of b256_mixed first

tests/cli/bench_test.cc holds the digests of both.
"""
import dataclasses

import numpy as np

WORDS = ("The API layer fired its security guardrails because it needed to verify whether the incoming prompt was an "
         "adversarial injection attack, next the retrieval pipeline woke up intending to fetch five relevant context "
         "chunks from the documentation index.").split()
TITLES = {"q12": "a query", "b1_32": "a sentence", "b1_128": "a paragraph", "b1_512": "a page", "b32_short": "32 queries",
          "b32_mixed": "32 mixed texts", "b256_mixed": "256 mixed texts"}


@dataclasses.dataclass
class Workload:
    name: str
    texts: list
    path: str


def made_text(n_words, seed=0):
    return " ".join(np.random.RandomState(seed + n_words).choice(WORDS, n_words))


def standard():
    lengths = np.random.RandomState(7)

    def mixed(n_texts, least, end, base=0):
        return [made_text(base + int(n), i) for i, n in enumerate(lengths.randint(least, end, n_texts))]

    texts = {"q12": ["how do I reset my password on the portal"], "b1_32": [made_text(25, 1)],
             "b1_128": [made_text(98, 1)], "b1_512": [made_text(600, 2)]}
    texts["b32_short"] = mixed(32, 0, 8, base=8)
    texts["b32_mixed"] = mixed(32, 10, 180)
    texts["b256_mixed"] = mixed(256, 10, 300)
    return texts


def thousand():
    lengths = np.random.RandomState(8)
    return standard()["b256_mixed"] + [made_text(int(n), i) for i, n in enumerate(lengths.randint(10, 180, 744))]
