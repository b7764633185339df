#!/usr/bin/env python3
"""Narthex beside its peers and the roof of the machine, on bge-small-en-v1.5, in one run whose turns alternate.

    engine.py --narthex BINARY --models FOLDER [--threads N] [--quick] [--out FOLDER] [--work FOLDER] [--limit SECONDS]

Writes RESULTS.md, results.json and results.svg, also when it is stopped or a part fails: what is missing is named in RESULTS.md.
The way: workloads → engines → measure (rounds) and extras → result, a plain dict → figures, musts → report, picture.
"""
import argparse
import datetime
import json
import os
import signal
import sys

import extras
import machine
from engines import BATCHES, PEERS, Peer, narthex_engines
from measure import Clock, Rounds, skip
from picture import picture
from report import report
from workloads import Workload, standard

QUICK = ("q12", "b1_128", "b32_short", "b32_mixed")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narthex", required=True)
    parser.add_argument("--models", required=True, help="folder with bge-small-en-v1.5 and bge-small-en-v1.5-q")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="one round of the smaller workloads")
    parser.add_argument("--workloads", help="names, with commas between; default: all")
    parser.add_argument("--out", default=machine.HERE)
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--limit", type=float, help="seconds, without what is made once; default 840, quick 150")
    a = parser.parse_args()
    a.limit = a.limit or (150 if a.quick else 840)
    return a


def workloads(a):
    chosen = a.workloads.split(",") if a.workloads else QUICK if a.quick else None
    made = {name: Workload(name, texts, os.path.join(a.work, name + ".txt")) for name, texts in standard().items()
            if chosen is None or name in chosen or name == "q12"}
    for workload in made.values():
        with open(workload.path, "w", encoding="utf-8") as out:
            out.write("\n".join(workload.texts) + "\n")
    return made


def empty_result(a, work):
    result = {"date": str(datetime.date.today()), "machine": machine.processor(), "versions": machine.versions(a.narthex),
              "threads": a.threads, "batches": list(BATCHES), "workloads": list(work), "titles": {}, "auto_isa": "",
              "tokens": {}, "rounds": {}, "cosine": {}, "batch": {}, "cold": {}, "memory": {}, "peer_rss_mb": {},
              "threads_ms": {}, "quality": {}, "skipped": [], "seconds": 0, "complete": False}
    quality = os.path.join(a.work, "quality.json")
    if os.path.exists(quality):
        with open(quality, encoding="utf-8") as file:
            result["quality"] = json.load(file)
    return result


def start_peers(a, result):
    peers = []
    for kind in PEERS:
        try:
            peers.append(Peer(kind, a))
        except (machine.Failed, OSError, ValueError) as error:
            skip(result, PEERS[kind], error)
    return peers


def measure(a, result, work, peers):
    roof = None
    try:
        roof = machine.build_roof(a.work)
    except machine.Failed as error:
        skip(result, "the roof", error)
    print("preparing: models compiled, peers loaded; not in the time below", flush=True)
    ours, result["auto_isa"] = narthex_engines(a, work)
    peers += start_peers(a, result)
    result["titles"] = {engine.id: engine.title for engine in [*peers, *ours]}
    clock = Clock(a.limit)
    try:
        reference = extras.warm_peers(clock, result, peers, work)
        extras.cold_start(a, clock, result)
        if not a.quick:
            extras.memory(a, clock, result, ours, reference)
            extras.threads(a, clock, result, ours, work)
        extras.likeness(a, clock, result, ours, work, reference)
        Rounds(a, clock, result, [*peers, *ours], work, roof).all()
        result["complete"] = True
    finally:
        result["peer_rss_mb"] = {peer.id: peer.rss_mb for peer in peers if peer.rss_mb}
        result["seconds"] = round(clock.elapsed())


def write(a, result):
    for name, content in (("results.json", json.dumps(result, indent=1) + "\n"), ("RESULTS.md", report(result)),
                          ("results.svg", picture(result))):
        with open(os.path.join(a.out, name), "w", encoding="utf-8") as out:
            out.write(content)
    print(f"written: {machine.shown(os.path.join(a.out, 'RESULTS.md'))}, results.json, results.svg", flush=True)


def main():
    a = arguments()
    os.makedirs(a.work, exist_ok=True)
    os.makedirs(a.out, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = workloads(a)
    result, peers = empty_result(a, work), []
    try:
        measure(a, result, work, peers)
    finally:
        for peer in peers:
            peer.close()
        write(a, result)
    return 0 if result["complete"] and not result["skipped"] else 3


if __name__ == "__main__":
    sys.exit(main())
