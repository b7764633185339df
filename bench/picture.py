"""results.svg from a result: for each workload, how many times as fast as the best peer every engine is. Pure, plain SVG."""
from figures import best, ratio
from musts import PEERS
from workloads import TITLES

WIDTH, LEFT, BAR, GAP = 980, 230, 13, 34
COLOURS = {"fp32": "#9ecae1", "bf16": "#4292c6", "int8": "#08519c", "peer": "#bdbdbd", "best": "#636363"}
INK, GRID = "#222", "#ddd"


def bars(result, name, peer):
    """[(title, ratio, colour)], peers first, then Narthex as it runs unforced, then forced vector units."""
    rounds, isa, rows = result["rounds"][name], result["auto_isa"], []
    for engine, title in result["titles"].items():
        value = 1.0 if engine == peer else ratio(rounds, engine, peer)
        if value is None or engine.endswith("_scalar"):
            continue
        if engine in PEERS:
            rows.append((0, title, value, COLOURS["best" if engine == peer else "peer"]))
        else:
            rows.append((1 if engine.endswith(isa) else 2, title, value, COLOURS[engine.split("_")[1]]))
    return [row[1:] for row in sorted(rows, key=lambda row: row[0])]


def text(x, y, content, anchor="start", size=12, weight="normal"):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}">{content}</text>'


def panel(title, rows, top, unit, most):
    """One workload: bars from the same zero, a line at 1, the number at each bar's end."""
    parts = [text(8, top, title, size=14, weight="bold")]
    bottom = top + 8 + len(rows) * (BAR + 3)
    tick = 1
    while tick <= most:
        x = LEFT + tick * unit
        parts.append(f'<line x1="{x:.1f}" y1="{top + 6}" x2="{x:.1f}" y2="{bottom}" stroke="{INK if tick == 1 else GRID}"/>')
        tick += 1 if most <= 12 else 5
    for place, (name, value, colour) in enumerate(rows):
        y = top + 8 + place * (BAR + 3)
        parts.append(text(LEFT - 6, y + BAR - 2.5, name, "end"))
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{max(value * unit, 1):.1f}" height="{BAR}" fill="{colour}"/>')
        parts.append(text(LEFT + value * unit + 4, y + BAR - 2.5, f"{value:.2f}"))
    return parts, bottom


def picture(result):
    names = [name for name in result["workloads"] if result["rounds"].get(name) and best(result["rounds"][name], PEERS)]
    panels = {name: bars(result, name, best(result["rounds"][name], PEERS)) for name in names}
    most = max((row[1] for rows in panels.values() for row in rows), default=1)
    unit, top, parts = (WIDTH - LEFT - 60) / max(most, 1), 62, []
    for name, rows in panels.items():
        tokens = result["tokens"].get(name, "?")
        drawn, bottom = panel(f"{TITLES.get(name, name)}, {tokens} tokens", rows, top, unit, most)
        parts += drawn
        top = bottom + GAP
    head = [text(8, 22, "Speed against the best peer (dark grey, 1.00); longer is faster", size=16, weight="bold"),
            text(8, 40, f"bge-small-en-v1.5, {result['threads']} threads, {', '.join(result['machine']['features'])}, "
                 f"{result['date']}; median of the ratios in each round", size=12)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}" '
            f'font-family="Helvetica, Arial, sans-serif" fill="{INK}">\n<rect width="{WIDTH}" height="{top}" fill="#fff"/>\n'
            + "\n".join(head + parts) + "\n</svg>\n")
