"""From rounds of measurements to figures: medians, ratios within a round, retrieval scores. Pure: no clock, no process.

`rounds` is result["rounds"][workload], one {engine: ms} a round. Everything else is computed from what was measured in the same
round, since a machine that others use too may be twice as slow a minute later.
"""
import math
import statistics


def median_ms(rounds, engine):
    times = [row[engine] for row in rounds if engine in row]
    return statistics.median(times) if times else None


def ratio(rounds, engine, to):
    """How many times as fast as `to`: the median over the rounds that have both."""
    both = [row[to] / row[engine] for row in rounds if engine in row and to in row]
    return statistics.median(both) if both else None


def best(rounds, engines):
    """The engine with the lowest median, or None."""
    known = {engine: median_ms(rounds, engine) for engine in engines}
    known = {engine: ms for engine, ms in known.items() if ms is not None}
    return min(known, key=known.get) if known else None


def spread(rounds, engine, to):
    """Lowest and highest ratio of any round: what the median hides."""
    both = [row[to] / row[engine] for row in rounds if engine in row and to in row]
    return (min(both), max(both)) if both else None


def roof_share(result, engine, workload):
    """Tokens a second as a share of what the linear layers alone reach with the same arithmetic in the same round."""
    key = engine.removeprefix("narthex_")
    shares = []
    for row in result["rounds"].get(workload, []):
        roof = row.get("roof", {}).get(key)
        if roof and engine in row:
            shares.append(1e3 * result["tokens"][workload] / row[engine] / roof["tokens_per_s"])
    return statistics.median(shares) if shares else None


def query_share(result, engine, workload="q12"):
    """The same for the latency of a query: the roof's milliseconds over the engine's."""
    key = engine.removeprefix("narthex_")
    shares = [row["roof"][key]["query_ms"] / row[engine] for row in result["rounds"].get(workload, [])
              if engine in row and key in row.get("roof", {})]
    return statistics.median(shares) if shares else None


def ndcg(ranking, grades, top):
    """nDCG@top of one query with the gain 2^grade − 1, as trec_eval and BEIR reckon it for grades 0 and 1."""
    def gain(values):
        return sum((2 ** grade - 1) / math.log2(place + 2) for place, grade in enumerate(values))

    ideal = gain(sorted(grades.values(), reverse=True)[:top])
    return gain([grades.get(document, 0) for document in ranking[:top]]) / ideal if ideal else 0.0
