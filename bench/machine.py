"""What was measured and on what: processor, versions, commit, the roof of the machine."""
import importlib.metadata
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FEATURES = {"avx2": "AVX2", "avx_vnni": "AVX-VNNI", "avx512f": "AVX-512", "avx512_vnni": "AVX512-VNNI",
            "avx512_bf16": "AVX512-BF16", "amx_tile": "AMX", "amx_bf16": "AMX-BF16", "amx_int8": "AMX-INT8"}
PACKAGES = ("onnxruntime", "openvino", "nncf", "tokenizers", "numpy")


class Failed(Exception):
    """One measurement that could not be made; the others go on."""


def command(line, limit_s, isa=""):
    """stdout of a command that must end well and in time; its environment may force an instruction set."""
    env = dict(os.environ, **({"NARTHEX_ISA": isa} if isa else {}))
    what = shown(" ".join(line))
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=max(1, limit_s), env=env,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failed(f"no end in {limit_s:.0f} s: {what}") from None
    if done.returncode != 0:
        raise Failed(f"{what}: exit code {done.returncode}: {shown(done.stderr.strip()[-300:])}")
    return done.stdout


def shown(text):
    """Without the folder this runs in, which is nobody's business in a report."""
    return text.replace(os.getcwd() + "/", "")


def commit():
    """The commit of the sources beside this file, with `+` when tracked files differ from it."""
    try:
        git = ["git", "-C", os.path.dirname(HERE)]
        name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
        changed = subprocess.run([*git, "status", "--porcelain", "-uno", "--", "src", "CMakeLists.txt", "cmake"],
                                 capture_output=True, text=True, check=True).stdout
        return name.strip() + ("+" if changed.strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def processor():
    fields = {}
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    flags = set(fields.get("flags", "").split())
    return {"model": fields.get("model name", "unknown"), "family": fields.get("cpu family", ""),
            "model_number": fields.get("model", ""), "cpus": len(os.sched_getaffinity(0)),
            "features": [name for flag, name in FEATURES.items() if flag in flags]}


def versions(narthex):
    found = {"narthex": f"{command([narthex, '--version'], 20).split()[-1]}, commit {commit()}"}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "missing"
    return found


def build_roof(work):
    binary = os.path.join(work, "machine_limit")
    source = os.path.join(HERE, "machine_limit.cpp")
    if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
        command(["g++", "-std=c++23", "-O3", "-o", binary, source, "-pthread"], 300)
    return binary


def roof(binary, threads, seconds, limit_s):
    """{"int8_avx512": {"tokens_per_s": …, "query_ms": …}, …}: what the linear layers alone could do, by precision and isa."""
    rows = json.loads(command([binary, "--seconds", str(seconds), "--threads", str(threads)], limit_s))["rows"]
    return {f"{row['precision']}_{row['isa']}": {"tokens_per_s": row["tokens_per_s"], "query_ms": row["query_11_ms"]}
            for row in rows}
