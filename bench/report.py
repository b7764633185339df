"""RESULTS.md from a result. Pure: the same result gives the same text. Covered by tests/bench/report_test.py."""
from figures import best, median_ms, query_share, ratio, roof_share, spread
from musts import PEERS, musts
from workloads import TITLES

METHOD = """\
Text in, normalised vectors out, same threads for all. In every round each engine and the roof take one turn, in an order that a
fixed seed shuffles; a ratio is the median of the ratios within the rounds, so that a machine that slows down slows both sides.
Peers keep their process and get texts sorted by length, padded batch by batch, in the batch size of {batches} that each was
faster with on its first pass. Narthex gets all texts of a workload in one call, in a process of its own each turn, and pads nothing.
`bench/machine_limit.cpp` is the roof: the linear layers alone, weights packed, nothing else computed."""


def table(head, rows, left=1):
    """Markdown; the first `left` columns are text, the others numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * left + "---:|" * (len(head) - left)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def number(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def names(result):
    return [name for name in result["workloads"] if result["rounds"].get(name)]


def heads(result):
    return [f"{TITLES.get(name, name)} ({result['tokens'].get(name, '?')})" for name in names(result)]


def milliseconds(result):
    rows = [[title, *(number(median_ms(result["rounds"][name], engine)) for name in names(result))]
            for engine, title in result["titles"].items()]
    return table(["ms, median; in brackets: tokens", *heads(result)], rows)


def against_best(result):
    """Every engine as a multiple of the best peer on that workload."""
    peers = {name: best(result["rounds"][name], PEERS) for name in names(result)}
    rows = [["best peer", *(result["titles"].get(peers[name], "–") for name in names(result))]]
    for engine, title in result["titles"].items():
        cells = []
        for name in names(result):
            rounds, peer = result["rounds"][name], peers[name]
            value = ratio(rounds, engine, peer) if peer else None
            low_high = spread(rounds, engine, peer) if peer else None
            own = peer == engine or value is None
            cells.append("1" if peer == engine else "–" if own else f"{value:.2f} ({low_high[0]:.2f}–{low_high[1]:.2f})")
        rows.append([title, *cells])
    return table(["times as fast (lowest–highest round)", *heads(result)], rows)


def tokens_per_s(result):
    chosen = [name for name in names(result) if name.startswith("b32_mixed") or name.startswith("b256")]
    rows = []
    for engine, title in result["titles"].items():
        times = [median_ms(result["rounds"][name], engine) for name in chosen]
        if any(times):
            rows.append([title, *("–" if ms is None else f"{1e3 * result['tokens'][name] / ms:,.0f}"
                                  for name, ms in zip(chosen, times))])
    return table(["tokens/s", *(TITLES[name] for name in chosen)], rows) if chosen else []


def roofs(result):
    measured = [row["roof"] for rows in result["rounds"].values() for row in rows if "roof" in row]
    rows = []
    for key in sorted({key for roof in measured for key in roof}):
        engine = "narthex_" + key
        best_rate = max(roof[key]["tokens_per_s"] for roof in measured if key in roof)
        best_query = min(roof[key]["query_ms"] for roof in measured if key in roof)
        rows.append([key.replace("_", ", "), f"{best_rate:,.0f}", number(roof_share(result, engine, "b256_mixed")),
                     f"{best_query:.2f}", number(query_share(result, engine))])
    return table(["arithmetic", "roof, tokens/s", "Narthex, 256 mixed texts, of it", "roof, query, ms", "Narthex, query, of it"],
                 rows) if rows else ["Not measured."]


def likeness(result):
    rows = [[result["titles"].get(engine, engine), f"{c['worst']:.6f}", f"{c['mean']:.6f}", str(c["texts"])]
            for engine, c in result["cosine"].items()]
    return table(["engine", "worst cosine to ONNX Runtime fp32", "mean", "texts"], rows)


def start_and_memory(result):
    rows = []
    for precision in dict.fromkeys([*result["cold"], *result["memory"]]):
        cold, memory = result["cold"].get(precision, {}), result["memory"].get(precision, {})
        rows.append([precision, *(number(cold.get(key)) for key in ("median_ms", "min_ms")),
                     *(number(memory.get(key)) for key in ("peak_mb", "anonymous_mb", "file_mb"))])
    lines = table(["precision", "process start to first vector, ms", "fastest", "memory at most, MB", "of it anonymous, at the end",
                   "mapped from files, at the end"], rows)
    lines += ["", "Start: `narthex bench cold`, page cache warm, compiled before, until the last byte of the vector is on stdout; "
              "`auto` is what runs when nothing is asked for. Memory: `narthex embed` of 1,000 mixed texts to a file; VmHWM, RssAnon and "
              "RssFile of `/proc/PID/status` every 20 ms. What is mapped from files (the compiled model, the program) counts in "
              "full, although processes share it and the kernel may drop it."]
    if result["peer_rss_mb"]:
        lines += ["", "Resident after the rounds, Python and libraries included: " + ", ".join(
            f"{result['titles'][peer]} {mb:.0f} MB" for peer, mb in result["peer_rss_mb"].items()) + "."]
    return lines


def threads(result):
    rows = []
    for precision, workloads in result["threads_ms"].items():
        for name, rounds in workloads.items():
            counts = sorted({count for row in rounds for count in row}, key=int)
            rows += [[f"{precision}, {TITLES[name]}", count, number(median_ms(rounds, count)),
                      number(ratio(rounds, count, counts[0]))] for count in counts]
    return table(["Narthex", "threads", "ms", "times as fast as one"], rows) if rows else ["Not measured."]


def quality(result):
    rows = [[precision, f"{q['ndcg10']:.4f}", str(q["queries"]), f"{q['documents']:,}", q["commit"]]
            for precision, q in result["quality"].items()]
    return table(["precision", "nDCG@10", "queries", "documents", "commit"], rows) if rows else [
        "Not measured here: `make bench-quality SCIFACT=FOLDER` measures it on scifact in BEIR layout."]


def report(result):
    machine = result["machine"]
    lines = ["# Narthex beside its peers", "",
             f"bge-small-en-v1.5, {result['date']}, {result['threads']} threads of {machine['cpus']} processors: {machine['model']} "
             f"(family {machine['family']}, model {machine['model_number']}; {', '.join(machine['features']) or 'no vector units'}; "
             f"{'AMX' if 'AMX' in machine['features'] else 'no AMX'}). Narthex {result['versions']['narthex']}; "
             + ", ".join(f"{name} {version}" for name, version in result["versions"].items() if name != "narthex")
             + f". Made by `make bench` in {result['seconds'] / 60:.0f} minutes"
             + ("" if result["complete"] else ", **stopped before its end: what follows is a part**") + ".",
             "", METHOD.format(batches=" or ".join(map(str, result["batches"]))), "", "![speed](results.svg)", "",
             "## What must be shown", ""]
    lines += table(["measure", "must", "aim", "here", "verdict"],
                   [[row.measure, row.must, row.aim, row.measured, f"**{row.verdict}**" if row.verdict == "missed" else row.verdict]
                    for row in musts(result)], left=5)
    for title, part in (("Against the best peer", against_best), ("Milliseconds", milliseconds), ("Tokens a second", tokens_per_s),
                        ("Share of the roof", roofs), ("Likeness", likeness), ("Start and memory", start_and_memory),
                        ("Threads", threads), ("Retrieval", quality)):
        lines += ["", f"## {title}", "", *part(result)]
    lines += ["", "Rounds: " + ", ".join(f"{TITLES[name]} {len(result['rounds'][name])}" for name in names(result)) + "."]
    lines += ["", "## Left out", ""] + ([f"- {line}" for line in result["skipped"]] or ["Nothing."])
    return "\n".join(lines) + "\n"
