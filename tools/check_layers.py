#!/usr/bin/env python3
"""Checks the dependency rule: a file may include only its own layer and the layers below it.

The layers and what stands below each are read from the nx_layer() lines of CMakeLists.txt, so that the rule is written once.
Also checks the house rules that a machine can: file length, a header comment, no left-over markers. Exit code 1 with one line
a finding.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 800
GENERATED = {"src/text/unicode_tables.cc"}


def read_layers():
    layers = {}
    for match in re.finditer(r"^nx_layer\((\w+)(.*)\)", (ROOT / "CMakeLists.txt").read_text(), re.M):
        words = match.group(2).split()
        deps, taking = [], False
        for word in words:
            if word in ("DEPS", "LIBS"):
                taking = word == "DEPS"
            elif taking:
                deps.append(word)
        layers[match.group(1)] = {match.group(1)}.union(*(layers[d] for d in deps))
    return layers


def check_includes(path, layer, layers, findings):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#include "(\w+)/', line)
        if match and match.group(1) in layers and match.group(1) not in layers[layer]:
            findings.append(f"{path.relative_to(ROOT)}:{number}: layer '{layer}' may not include '{match.group(1)}'")


def check_house_rules(path, findings):
    name = str(path.relative_to(ROOT))
    text = path.read_text()
    lines = text.count("\n")
    if lines > MAX_LINES and name not in GENERATED:
        findings.append(f"{name}: {lines} lines, at most {MAX_LINES}; split it by meaning")
    if path.suffix == ".h" and path.is_relative_to(ROOT / "src") and not text.startswith("//"):
        findings.append(f"{name}:1: a header opens with what it is for")
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            findings.append(f"{name}:{number}: left-over marker")


def main():
    layers = read_layers()
    findings = []
    for path in sorted(p for folder in ("src", "tests", "fuzz", "bench") for p in (ROOT / folder).rglob("*")
                       if p.suffix in (".cc", ".h")):
        layer = path.relative_to(ROOT / "src").parts[0] if path.is_relative_to(ROOT / "src") else None
        if layer in layers:
            check_includes(path, layer, layers, findings)
        check_house_rules(path, findings)
    for folder in sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir()):
        if folder not in layers:
            findings.append(f"src/{folder}: is no layer of CMakeLists.txt")
    print("\n".join(findings) if findings else f"layers: {len(layers)} checked, every include points downward")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
