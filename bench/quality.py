#!/usr/bin/env python3
"""What a precision costs in retrieval: nDCG@10 of bge-small-en-v1.5 on a set in BEIR layout (scifact), per precision.

    quality.py --narthex BINARY --data FOLDER [--precisions fp32,bf16,int8] [--work build/bench]

Embeds 1.7 million tokens a precision, which takes minutes, so it is a run of its own and goes on where it was stopped.
Writes WORK/quality.json, which bench/engine.py quotes together with the commit that was measured.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys

import numpy as np

from figures import ndcg
from machine import commit

QUERY = "Represent this sentence for searching relevant passages: "
LIMIT_S = 7200  # one precision on one core of a machine that others use too
TOP = 10


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read_set(folder):
    """Documents and the queries of the test split, each as (id, text), and {query: {document: grade}}."""
    grades = {}
    with open(os.path.join(folder, "qrels.tsv"), encoding="utf-8") as lines:
        for line in lines.read().splitlines()[1:]:
            query, document, grade = line.split("\t")
            grades.setdefault(query, {})[document] = int(grade)
    documents = [(row["_id"], (row.get("title", "") + " " + row["text"]).strip())
                 for row in rows(os.path.join(folder, "corpus.jsonl"))]
    queries = [(row["_id"], QUERY + row["text"]) for row in rows(os.path.join(folder, "queries.jsonl"))
               if row["_id"] in grades]
    return documents, queries, grades


def write_texts(path, texts):
    content = "".join(json.dumps({"text": text}) + "\n" for _, text in texts)
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != content:
        with open(path, "w", encoding="utf-8") as out:
            out.write(content)


def vectors(a, name, precision, stamp):
    """From the file of an earlier run by the same binary, or made now."""
    out, made_by = (os.path.join(a.work, f"scifact_{name}_{precision}{end}") for end in (".npy", ".binary"))
    if not (os.path.exists(out) and os.path.exists(made_by) and open(made_by).read() == stamp):
        line = [a.narthex, "embed", "--input", os.path.join(a.work, f"scifact_{name}.jsonl"), "--precision", precision,
                "--format", "npy", "--output", out]
        if os.path.exists(out):
            os.unlink(out)
        subprocess.run(line + (["--threads", str(a.threads)] if a.threads else []), check=True, timeout=LIMIT_S)
        with open(made_by, "w") as file:
            file.write(stamp)
    return np.load(out)


def score(a, precision, documents, queries, grades, stamp):
    found = vectors(a, "queries", precision, stamp) @ vectors(a, "corpus", precision, stamp).T
    best = np.argsort(-found, axis=1, kind="stable")[:, :TOP]
    return float(np.mean([ndcg([documents[i][0] for i in row], grades[query], TOP)
                          for row, (query, _) in zip(best, queries)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narthex", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--precisions", default="fp32,bf16,int8")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--work", default="build/bench")
    a = parser.parse_args()
    if not os.path.exists(os.path.join(a.data, "corpus.jsonl")):
        sys.exit(f"quality.py: {a.data} has no corpus.jsonl: give --data (make: SCIFACT=) the folder of scifact in BEIR "
                 "layout, with corpus.jsonl, queries.jsonl and qrels.tsv of the test split; nothing was measured")
    os.makedirs(a.work, exist_ok=True)
    documents, queries, grades = read_set(a.data)
    write_texts(os.path.join(a.work, "scifact_corpus.jsonl"), documents)
    write_texts(os.path.join(a.work, "scifact_queries.jsonl"), queries)
    with open(a.narthex, "rb") as binary:
        stamp = hashlib.sha256(binary.read()).hexdigest()
    path = os.path.join(a.work, "quality.json")
    for precision in a.precisions.split(","):
        value = score(a, precision, documents, queries, grades, stamp)
        known = json.load(open(path)) if os.path.exists(path) else {}
        known[precision] = {"ndcg10": round(value, 4), "documents": len(documents), "queries": len(queries),
                            "commit": commit()}
        with open(path, "w") as out:
            json.dump(known, out, indent=1)
        print(f"{precision}: nDCG@{TOP} {value:.4f} on {len(queries)} queries, {len(documents)} documents", flush=True)


if __name__ == "__main__":
    main()
