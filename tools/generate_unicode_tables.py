#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cc from the tables measured on the reference tokenizer (profile hf-0.23).

    python3 tools/generate_unicode_tables.py DATA_DIR [OUTPUT]

DATA_DIR holds hf_tokenizers_0.23.3_tables.json and cpython_3.11_lower_split.json. The canonical combining classes are not
in them: they are probed from the `tokenizers` wheel 0.23.3 by normalising pairs of marks, so the running Python needs that
wheel. Only their order matters, so they are stored as ranks (0 = starter).

A table has two stages: kXStage1[c >> 7] picks a block of 128 entries in kXStage2. Mappings (lower, NFD) store in stage 2 an
index into kXPool, where the length stands before the code points of the result; index 0 means "unchanged". Hangul is left
out of NFD, since it is decomposed by arithmetic. Adding NFC, NFKC or NFKD means one more `mapping` call below.
"""
import json
import pathlib
import sys

BLOCK = 128
LIMIT = 0x110000
HANGUL = range(0xAC00, 0xAC00 + 11172)

# name of the bit -> range list of the JSON files; the order is the bit order of `enum CharClass` in src/text/unicode.h
HF_BITS = ["clean_removed", "clean_space", "cjk", "bert_mn_removed", "stripaccents_removed", "punct", "is_whitespace",
           "digits", "regex_w", "regex_s"]
PYTHON_BITS = ["split_ws", "cased_not_ignorable", "case_ignorable"]


def expand(ranges):
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


def probe_combining_ranks():
    """Rank of the canonical combining class of every mark, from how NFD of the wheel orders pairs."""
    from tokenizers import normalizers
    import tokenizers
    if tokenizers.__version__ != "0.23.3":
        sys.exit(f"the reference is tokenizers 0.23.3, this Python has {tokenizers.__version__}")
    nfd = normalizers.NFD().normalize_str

    def before(x, y):  # class(x) < class(y): the pair y x is put in order
        return nfd("a" + y + x) == "a" + x + y

    marks = []
    for c in range(LIMIT):
        if 0xD800 <= c <= 0xDFFF or nfd(chr(c)) != chr(c):
            continue
        # U+0334 has the lowest class that is not 0, U+0345 the highest: one of the two moves unless c is a starter
        if before("\u0334", chr(c)) or before(chr(c), "\u0345"):
            marks.append(chr(c))
    classes = []  # lists of marks, in order
    for mark in marks:
        low, high = 0, len(classes)
        while low < high:
            middle = (low + high) // 2
            if before(classes[middle][0], mark):
                low = middle + 1
            else:
                high = middle
        if low < len(classes) and not before(mark, classes[low][0]):
            classes[low].append(mark)
        else:
            classes.insert(low, [mark])
    return {ord(mark): rank for rank, members in enumerate(classes, 1) for mark in members}


def check_hangul(nfd):
    for c in HANGUL:
        index = c - 0xAC00
        parts = [0x1100 + index // 588, 0x1161 + index % 588 // 28] + ([0x11A7 + index % 28] if index % 28 else [])
        assert [int(x, 16) for x in nfd["%04X" % c].split()] == parts, hex(c)


class Writer:
    def __init__(self):
        self.lines = []

    def array(self, ctype, name, values):
        self.lines.append(f"const {ctype} {name}[{len(values)}] = {{")
        line = ""
        for value in values:
            text = f"{value},"
            if len(line) + len(text) > 118:
                self.lines.append(line)
                line = ""
            line += text
        self.lines += [line, "};"]

    def two_stage(self, ctype, name, values):
        blocks, stage1, stage2 = {}, [], []
        for start in range(0, LIMIT, BLOCK):
            block = tuple(values[start:start + BLOCK])
            if block not in blocks:
                blocks[block] = len(blocks)
                stage2 += block
            stage1.append(blocks[block])
        assert len(blocks) <= 0xFFFF
        self.array("std::uint8_t" if len(blocks) <= 256 else "std::uint16_t", f"k{name}Stage1", stage1)
        self.array(ctype, f"k{name}Stage2", stage2)

    def mapping(self, name, entries):
        """entries: {code point: [code points]}"""
        pool, seen, values = [0], {}, [0] * LIMIT
        for c in sorted(entries):
            result = tuple(entries[c])
            if result not in seen:
                seen[result] = len(pool)
                pool += [len(result), *result]
            values[c] = seen[result]
        assert len(pool) <= 0xFFFF
        self.two_stage("std::uint16_t", name, values)
        self.array("char32_t", f"k{name}Pool", pool)


def main():
    data = pathlib.Path(sys.argv[1])
    root = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "src/text/unicode_tables.cc"
    hf = json.loads((data / "hf_tokenizers_0.23.3_tables.json").read_text())
    python = json.loads((data / "cpython_3.11_lower_split.json").read_text())
    check_hangul(hf["NFD"])

    classes = [0] * LIMIT
    for bit, name in enumerate(HF_BITS + PYTHON_BITS):
        for c in expand((hf if name in hf else python)[name]):
            classes[c] |= 1 << bit
    ranks = probe_combining_ranks()

    def parse(table, skip=()):
        return {int(c, 16): [int(x, 16) for x in result.split()]
                for c, result in table.items() if int(c, 16) not in skip}

    writer = Writer()
    writer.two_stage("std::uint16_t", "Class", classes)
    writer.two_stage("std::uint8_t", "Combining", [ranks.get(c, 0) for c in range(LIMIT)])
    writer.mapping("Lower", parse(hf["lower"]))
    writer.mapping("PythonLower", parse(python["lower"]))
    writer.mapping("Nfd", parse(hf["NFD"], HANGUL))

    header = """// Generated by tools/generate_unicode_tables.py; do not edit. Profile hf-0.23: what `tokenizers` 0.23.3 does with each
// code point, plus CPython 3.11's lower and split. Read through unicode.h; tests/text/unicode_test.cc spot-checks, and
// tests/text/oracle_test.cc compares every code point with the wheel.
// clang-format off
#include "text/unicode.h"

namespace narthex::tables {
"""
    output.write_text(header + "\n".join(writer.lines) + "\n}  // namespace narthex::tables\n")


main()
