"""The table of what must be shown, computed from a result: musts(result) gives rows of (measure, must, aim, measured, verdict).

The requirement is written for two threads on a processor with AMX. A row that needs AMX has its figure here all the same, but no
verdict: "not measurable here: no AMX". Covered by tests/bench/report_test.py.
"""
import dataclasses

from figures import best, median_ms, query_share, ratio, roof_share

PEERS = ("ort_fp32", "ort_int8", "ov_fp32", "ov_bf16", "ov_int8")
NO_AMX = "not measurable here: no AMX"
NOT_MEASURED = "not measured"
LEAST_TEXTS = 256  # a worst cosine of fewer texts proves nothing
NDCG, NDCG_BAND = 0.7128, {"fp32": 0.0005, "bf16": 0.001, "int8": 0.004}


@dataclasses.dataclass
class Row:
    measure: str
    must: str
    aim: str
    measured: str = "–"
    verdict: str = NOT_MEASURED


def judge(row, measured, met, measurable=True):
    """`met` is None when a figure is missing."""
    row.measured = measured
    row.verdict = NOT_MEASURED if met is None else NO_AMX if not measurable else "met" if met else "missed"
    return row


def worst_cosine(result, engine):
    likeness = result["cosine"].get(engine, {})
    return likeness["worst"] if likeness.get("texts", 0) >= LEAST_TEXTS else None


def times(value):
    return "–" if value is None else f"{value:.2f}×"


def at_least(result, row, workload, engine, peer, least, also=None, note="", measurable=True):
    """Speed against a peer, or the best one; `also` is a further condition, None when unknown, and `note` its figure."""
    rounds = result["rounds"].get(workload, [])
    to = best(rounds, PEERS) if peer == "best" else peer
    value = ratio(rounds, engine, to) if to else None
    beside = f" ({result['titles'].get(to, to)})" if peer == "best" and to else ""
    known = value is not None and also is not None
    return judge(row, times(value) + beside + note, (value >= least and also) if known else None, measurable)


def on_tiles(result):
    """The rows that are about AMX, with what Narthex takes unforced in its place where there is none."""
    isa, amx = result["auto_isa"], result["auto_isa"] == "amx"
    fp = {p: f"narthex_{p}_{isa}" for p in ("fp32", "bf16", "int8")}
    worst = worst_cosine(result, fp["int8"])
    query = median_ms(result["rounds"].get("q12", []), fp["int8"])
    share = roof_share(result, fp["bf16"], "b256_mixed")
    fast = query_share(result, fp["int8"])
    rows = [
        at_least(result, Row("256 mixed texts (47k tokens), bf16, against the best peer of any precision", "≥ 2.5×", "3.5×"),
                 "b256_mixed", fp["bf16"], "best", 2.5, True, measurable=amx),
        at_least(result, Row("same, int8, worst cosine ≥ 0.998 to fp32", "≥ 3.5×", "5×"), "b256_mixed", fp["int8"], "best", 3.5,
                 None if worst is None else worst >= 0.998, "" if worst is None else f", cosine {worst:.4f}", amx),
        judge(Row("share of the roof, 256 mixed texts, bf16", "≥ 0.6", "0.75"), "–" if share is None else f"{share:.2f}",
              None if share is None else share >= 0.6, amx),
        at_least(result, Row("11-token query, int8, against ONNX Runtime int8", "≥ 2.2× and < 1 ms", "3×"), "q12", fp["int8"],
                 "ort_int8", 2.2, None if query is None else query < 1, "" if query is None else f", {query:.2f} ms"
                 + (f", {fast:.2f} of the roof" if fast else ""), amx),
        at_least(result, Row("11-token query, bf16, against OpenVINO bf16", "≥ 1.9×", "2.3×"), "q12", fp["bf16"], "ov_bf16", 1.9,
                 True, measurable=amx),
        at_least(result, Row("512-token text, bf16, against OpenVINO bf16", "≥ 2.5×", "3.5×"), "b1_512", fp["bf16"], "ov_bf16",
                 2.5, True, measurable=amx),
        at_least(result, Row("32 short queries in one batch, bf16, against the best peer", "≥ 2.5×", "3.5×"), "b32_short",
                 fp["bf16"], "best", 2.5, True, measurable=amx),
    ]
    return rows


def on_vectors(result):
    return [
        at_least(result, Row("AVX-512 without AMX, int8, 256 mixed texts, against ONNX Runtime int8", "≥ 3×", "4.5×"), "b256_mixed",
                 "narthex_int8_avx512", "ort_int8", 3, True),
        at_least(result, Row("AVX2, fp32, 256 mixed texts, against ONNX Runtime fp32 with all of AVX-512", "≥ 0.9×", "1.2×"),
                 "b256_mixed", "narthex_fp32_avx2", "ort_fp32", 0.9, True),
    ]


def other(result):
    isa = result["auto_isa"]
    worst = worst_cosine(result, f"narthex_bf16_{isa}")
    start = result["cold"].get("auto", {})
    ms = start.get("median_ms")
    rows = [
        judge(Row("bf16, worst cosine to ONNX Runtime fp32", "≥ 0.9999", ""), "–" if worst is None else f"{worst:.5f}",
              None if worst is None else worst >= 0.9999),
        judge(Row("process start to first vector on stdout, default precision", "≤ 20 ms", "10 ms"),
              "–" if ms is None else f"{ms:.1f} ms ({start['precision']})", None if ms is None else ms <= 20),
    ]
    for precision, most, aim in (("bf16", 150, 110), ("int8", 110, 70)):
        peak = result["memory"].get(precision, {}).get("peak_mb")
        rows.append(judge(Row(f"resident memory after 1,000 mixed texts, {precision}", f"≤ {most} MB", f"{aim} MB"),
                          "–" if peak is None else f"{peak:.0f} MB", None if peak is None else peak <= most))
    for precision, band in NDCG_BAND.items():
        value = result["quality"].get(precision, {}).get("ndcg10")
        rows.append(judge(Row(f"nDCG@10 on scifact, {precision}", f"{NDCG} ± {band}", ""), "–" if value is None else f"{value:.4f}",
                          None if value is None else abs(value - NDCG) <= band + 1e-9))
    return rows


def musts(result):
    return on_tiles(result) + on_vectors(result) + other(result)
