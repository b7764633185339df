"""Rounds in which every engine and the roof take turns in an order that a seed shuffles, until they are done or time is up.

    Clock      what is left of the time limit, and progress lines
    rounds()   fills result["rounds"]: {workload: [{engine: ms, "roof": {...}}, ...]}
"""
import random
import sys
import time

import machine
from engines import TURN_S
from machine import Failed

# Rounds and seconds of a turn. A turn is at least one pass over the workload; the largest takes seconds anyway.
PLAN = {"q12": (7, 0.5), "b1_32": (5, 0.5), "b1_128": (5, 0.5), "b1_512": (5, 0.5), "b32_short": (5, 0.5),
        "b32_mixed": (4, 0.8), "b256_mixed": (3, 0)}
WITH_ROOF = ("q12", "b256_mixed")
ROOF_ROUNDS, ROOF_S = 3, 0.2
SCALAR_ON = ("q12",)
SPIN_S = 0.05  # a peer's threads go on spinning after its answer: not on the next one's time


class Clock:
    def __init__(self, limit_s):
        self.start, self.limit_s = time.monotonic(), limit_s

    def elapsed(self):
        return time.monotonic() - self.start

    def left(self):
        return self.limit_s - self.elapsed()

    def say(self, text):
        print(f"[{self.elapsed():4.0f} s] {text}", flush=True)

    def bound(self, limit_s):
        """A wait of at most limit_s that does not go far beyond the whole limit."""
        return max(5, min(limit_s, self.left() + 30))


def skip(result, what, error):
    line = f"{what}: {error}"
    if line not in result["skipped"]:
        result["skipped"].append(line)
        print("SKIPPED", line, file=sys.stderr, flush=True)


def takes_part(engine, name):
    return getattr(engine, "isa", "") != "scalar" or name in SCALAR_ON


class Rounds:
    def __init__(self, a, clock, result, engines, work, roof):
        self.a, self.clock, self.result, self.engines, self.work, self.roof = a, clock, result, engines, work, roof
        self.failed, self.took = set(), {}

    def turn(self, engine, name, row, number):
        if engine == "roof":
            row["roof"] = machine.roof(self.roof, self.a.threads, ROOF_S, self.clock.bound(TURN_S))
            return
        seconds = min(PLAN[name][1], 0.2) if self.a.quick else PLAN[name][1]
        row[engine.id] = engine.turn(self.work[name], seconds, self.clock.bound(TURN_S))
        if name in getattr(engine, "tokens", {}):
            self.result["tokens"][name] = engine.tokens[name]
        time.sleep(SPIN_S)

    def one(self, name, number):
        """Every engine once on one workload."""
        order = [engine for engine in self.engines if takes_part(engine, name)]
        if self.roof and name in WITH_ROOF and number < ROOF_ROUNDS:
            order.append("roof")
        random.Random(f"{name} {number}").shuffle(order)
        begin, row = self.clock.elapsed(), {}
        for engine in order:
            title = "the roof" if engine == "roof" else engine.title
            if (title, name) in self.failed:
                continue
            try:
                self.turn(engine, name, row, number)
            except (Failed, OSError, ValueError, KeyError) as error:
                self.failed.add((title, name))
                skip(self.result, f"{title} on {name}", error)
        if row:
            self.result["rounds"].setdefault(name, []).append(row)
        self.took[name] = self.clock.elapsed() - begin
        self.clock.say(f"round {number + 1}: {name}, {len(row)} engines in {self.took[name]:.0f} s")

    def all(self):
        n_rounds = {name: 1 if self.a.quick else PLAN[name][0] for name in self.work}
        for number in range(max(n_rounds.values())):
            for name in self.work:
                if number >= n_rounds[name]:
                    continue
                if self.took.get(name, 0) > self.clock.left():
                    skip(self.result, f"round {number + 1} of {name}", "no time was left for it")
                    continue
                self.one(name, number)
