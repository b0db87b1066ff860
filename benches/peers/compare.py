#!/usr/bin/env python3
"""Compares this crate with its peers on cases.json, in one table.

    python3 benches/peers/compare.py --python .venv/bin/python       # see peers.py for the venv
    python3 benches/peers/compare.py --ops materialize --scales big --threads 1
    python3 benches/peers/compare.py --random 50 --seed 1 --peers ours,numpy,torch

Each peer is a process. It prepares a case once: its arrays and calls stay until all rounds are
done. In each round each process in turn is continued, calls for about 10 ms, answers the mean time
of a call, and is stopped, so that none of its threads spins while another one is measured. The
first call of a burst is not counted: its data has left the cache. A fresh result is freed within
the call. A peer that is not available is left out, and named below the table.

A virtual machine may move within seconds between cores that share a cache and a link to memory, and
cores that have one each. So only times of the same round are compared. The table shows the median
over rounds of each program's time. 'ours/limit' and 'fastest peer/ours' are medians over rounds of
the ratio within a round. 'ours/limit' is 1 at the speed of the memory, 'fastest peer/ours' is the
speedup of this crate over the peer with the lowest median time. Where a program has several ways of
doing a call, its fastest one is shown. Below the table stand the geometric mean of the speedups of
each operation, and the calls in which this crate is behind.

All programs hold the arrays of a case at the same time: those of the scale 'big' need about 10 GB.
The places of the arrays in memory, which affect some calls, are drawn once for each run.

With --random, cases are drawn instead: sums, maxima and additions of arrays whose axes have any
order in memory. Nobody can have tuned for them.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import random
import signal
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = ["numpy", "torch", "jax", "openvino", "onnxruntime"]
# The order of the columns, and of the programs within a round.
PEERS = ["limit", "ours", "ndarray", "ndarray-rayon", *PYTHON, "rten", "candle"]
OPS = ["materialize", "elementwise_add", "gradient_sum", "models", "reductions", "layouts"]
SCALES = ["small", "mid", "big"]
HOWS = ["fresh", "into"]
# The crate is behind a peer below this ratio.
BEHIND = 0.95
# Of axes and arrays of random cases.
SIZES = [2, 3, 4, 5, 7, 8, 12, 14, 16, 17, 28, 30, 32, 49, 56, 64, 100, 128, 200, 224, 256, 300]
SIZES += [512, 768, 1000, 1024, 2000, 4096]
ELEMENTS = range(1 << 14, 1 << 21)


class Program:
    """The process of one peer. It is stopped except while it works on a request."""

    def __init__(self, peer, command, environment, threads):
        self.peer, self.missing, self.version = peer, None, None
        self.how, self.errors = None, []
        cores = None
        if threads and hasattr(os, "sched_getaffinity"):
            cores = sorted(os.sched_getaffinity(0))[-threads:]

        def confine():
            # Some peers start one thread for each core of their affinity mask.
            if cores:
                os.sched_setaffinity(0, cores)

        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            preexec_fn=confine,
        )

    def greet(self):
        """Waits until the process is ready, then stops it."""
        hello = self.read()
        self.version, self.missing = hello.get("version"), hello.get("missing")
        if self.version is None:
            self.missing = self.missing or hello.get("error", "no answer")
            self.end()
        else:
            self.process.send_signal(signal.SIGSTOP)

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return {"error": f"ended with {self.process.wait()}"}

    def ask(self, request):
        """The answer to a request, and the lines of wrong calls before it."""
        try:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            while "error" in (row := self.read()) and self.process.poll() is None:
                self.errors.append((row.get("how"), row["error"]))
        except OSError as e:
            row = {"error": str(e)}
        if "error" in row:
            self.missing, self.how = row["error"], None
        else:
            self.process.send_signal(signal.SIGSTOP)
        return row

    def advance(self, request):
        """Prepares the next call of a case, if there is one: `how`."""
        self.how = self.ask(request).get("how")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def environment(threads):
    """The environment of each program: unchanged unless --threads is given."""
    env = dict(os.environ)
    if threads:
        for name in ["RAYON", "OMP", "MKL", "OPENBLAS"]:
            env[f"{name}_NUM_THREADS"] = str(threads)
        env["NPROC"] = str(threads)
        if threads == 1:
            env["XLA_FLAGS"] = env.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    return env


def duration(ms):
    """A time with three digits, in a suitable unit."""
    for unit, size in [("s", 1e3), ("ms", 1.0), ("us", 1e-3)]:
        if ms >= size:
            break
    else:
        unit, size = "ns", 1e-6
    value = ms / size
    return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"


class Row:
    """The times of one call of a case, for each peer and way one for each round."""

    def __init__(self, op, scale, case, how):
        self.key, self.op, self.times = (op, scale, case, how), op, {}

    def add(self, peer, times):
        for way, ms in enumerate(times):
            self.times.setdefault(peer, {}).setdefault(way, []).append(ms)

    def rounds(self, peer):
        """The times of the peer's fastest way."""
        return min(self.times[peer].values(), key=statistics.median)

    def time(self, peer):
        return statistics.median(self.rounds(peer)) if peer in self.times else None

    def ratio(self, over, under):
        """The median over rounds of the ratio of two peers."""
        if over not in self.times or under not in self.times:
            return None
        return statistics.median(a / b for a, b in zip(self.rounds(over), self.rounds(under)))

    def fastest(self):
        """The fastest peer, and how many times as long as this crate it takes."""
        rivals = [p for p in self.times if p not in ("limit", "ours")]
        fastest = min(rivals, key=self.time, default="")
        return fastest, self.ratio(fastest, "ours")


def table(rows):
    columns = [p for p in PEERS if any(p in row.times for row in rows)]
    heads = ["op", "scale", "case", "how", *columns, "ours/limit", "fastest peer/ours"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|---|" + "---:|" * (len(heads) - 4)]
    for row in rows:
        fastest, ahead = row.fastest()
        if not fastest and "ours" not in row.times:
            continue
        times = (row.time(p) for p in columns)
        cells = [*row.key, *(duration(t) if t else "" for t in times)]
        to_limit = row.ratio("ours", "limit")
        cells.append(f"{to_limit:.2f}" if to_limit else "")
        cells.append(f"{ahead:.2f} ({fastest})" if ahead else fastest)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(rows):
    """The geometric mean of each operation, and the calls in which this crate is behind."""
    speedups = [(row, *row.fastest()) for row in rows]
    speedups = [(row, peer, ahead) for row, peer, ahead in speedups if ahead]
    for op in OPS:
        if ratios := [ahead for row, _, ahead in speedups if row.op == op]:
            mean = statistics.geometric_mean(ratios)
            yield f"Geometric mean of fastest peer/ours, {op}: {mean:.2f} ({len(ratios)} calls)."
    behind = sorted(
        (ahead, f"{' '.join(row.key)}: {ahead:.2f} ({peer})")
        for row, peer, ahead in speedups
        if ahead < BEHIND
    )
    yield f"Behind by more than {1 - BEHIND:.0%}: {len(behind)} of {len(speedups)} calls."
    yield from (f"  {line}" for _, line in behind)


def build():
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE, check=True)
    command = ["cargo", "metadata", "--format-version", "1"]
    metadata = json.loads(
        subprocess.run(command, cwd=HERE, check=True, capture_output=True).stdout
    )
    versions = {p["name"]: p["version"] for p in metadata["packages"]}
    binary = pathlib.Path(metadata["target_directory"]) / "release" / "ndarray-broadcast-peers"
    return binary, {
        "ours": versions["ndarray-broadcast"],
        "ndarray": versions["ndarray"],
        "rten": versions["rten-tensor"],
        "candle": versions["candle-core"],
    }


def machine():
    """The processor's name and the number of cores."""
    name = platform.machine()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":")[1].strip()
                break
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores"


def arguments():
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    split = lambda text: text.split(",")
    add = lambda name, text, **kind: p.add_argument(name, help=text, **kind)
    add("--ops", "default: all of " + ",".join(OPS), type=split, default=OPS)
    add("--scales", "default: all of " + ",".join(SCALES), type=split, default=SCALES)
    add("--cases", "names of cases; default: all", type=split, default=[])
    add("--random", "cases of each call that are drawn instead", type=int, default=0)
    add("--seed", "which random cases; default: 1", type=int, default=1)
    add("--peers", "default: all of " + ",".join(PEERS), type=split, default=PEERS)
    add("--python", "the Python that has the Python peers", default=sys.executable)
    add("--rounds", "bursts of each program; default: 15", type=int, default=15)
    add("--burst-ms", "the length of a burst; default: 10", type=float, default=10)
    add("--threads", "threads of each program; default: the program's own", type=int, default=0)
    add("--json", "also write medians and ratios here, one JSON object a line", type=pathlib.Path)
    add("--out", "write the table here instead of to standard output", type=pathlib.Path)
    return p.parse_args()


def random_cases(count, seed):
    """So many cases of each of three calls: by operation and scale, as in cases.json."""
    draw, cases = random.Random(seed), {"reductions": [], "layouts": []}
    while any(len(found) < count for found in cases.values()):
        rank = draw.choice([2, 3, 3, 4, 4])
        shape, order = draw.choices(SIZES, k=rank), draw.sample(range(rank), rank)
        axes = [axis for axis in range(rank) if draw.random() < 0.5]
        if math.prod(shape) not in ELEMENTS or not axes:
            continue
        text = lambda numbers: "x".join(map(str, numbers))
        name = f"{text(shape)}_order_{text(order)}_over_{text(axes)}"
        case = {"a": shape, "layout": order, "type": draw.choice(["f32", "f32", "f64"])}
        row = {"b": [1 if axis in axes else shape[axis] for axis in range(rank)]}
        calls = [("reductions", "sum", {"axes": axes}), ("reductions", "max", {"axes": axes})]
        for op, call, more in [*calls, ("layouts", "add", row)]:
            named = {"name": f"{call}_{case['type']}_{name}", "call": call}
            cases[op].append(named | case | more)
    return {op: {"mid": found} for op, found in cases.items()}


def measure(programs, op, scale, case, a):
    """The rows of one case."""
    for program in programs:
        if not program.missing:
            program.advance({"op": op, "case": case})
    for how in HOWS:
        ready = [p for p in programs if p.how == how]
        row = Row(op, scale, case["name"], how)
        for _ in range(a.rounds):
            for program in ready:
                if program.how:
                    row.add(program.peer, program.ask({"burst": a.burst_ms}).get("times", []))
        for program in ready:
            if program.how:
                program.advance({"next": True})
        if row.times:
            yield row


def json_rows(rows):
    for row in rows:
        for peer in row.times:
            line = dict(zip(["op", "scale", "case", "how"], row.key))
            line |= {"peer": peer, "median_ms": round(row.time(peer), 6)}
            to_ours = row.ratio(peer, "ours")
            yield line | {"to_ours": round(to_ours, 4) if to_ours else None}


def main():
    a = arguments()
    cases = json.loads((HERE / "cases.json").read_text())
    if a.random:
        cases = random_cases(a.random, a.seed)
    work = [
        (op, scale, case)
        for op in a.ops
        for scale in a.scales
        for case in cases.get(op, {}).get(scale, [])
        if not a.cases or case["name"] in a.cases
    ]
    binary, versions = build()
    env = environment(a.threads)
    rows, errors, programs = [], [], []
    # A stopped process would outlive this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for peer in [p for p in PEERS if p in a.peers]:
            command = [str(binary), peer]
            if peer in PYTHON:
                command = [a.python, str(HERE / "peers.py"), peer, "--threads", str(a.threads)]
            programs.append(Program(peer, command, env, a.threads))
        for program in programs:
            program.greet()
        for op, scale, case in work:
            rows += measure(programs, op, scale, case, a)
            for program in programs:
                for how, error in program.errors:
                    call = " ".join(filter(None, [op, scale, case["name"], how]))
                    errors.append((program.peer, f"{call} {program.peer} ({error})"))
                program.errors.clear()
            print(op, scale, case["name"], file=sys.stderr)
    finally:
        for program in programs:
            program.end()
    missing = {p.peer: p.missing for p in programs if p.missing}
    versions |= {p.peer: p.version for p in programs if p.peer in PYTHON and p.version}
    threads = f"threads: {a.threads}" if a.threads else "all threads"
    text = [table(rows), "", f"{machine()}; {threads}; medians of {a.rounds} rounds."]
    known = [f"{p} {versions[p]}" for p in PEERS if p in versions and p in a.peers]
    text.append("Versions: " + ", ".join(known) + ".")
    text.extend(summary(rows))
    if missing:
        left_out = ", ".join(f"{peer} ({why})" for peer, why in missing.items())
        text.append(f"Left out: {left_out}.")
    if errors:
        text.append("Failed or wrong: " + ", ".join(what for _, what in errors) + ".")
    text = "\n".join(text) + "\n"
    if a.out:
        a.out.write_text(text)
    else:
        print(text, end="")
    if a.json:
        a.json.write_text("".join(json.dumps(line) + "\n" for line in json_rows(rows)))
    return 1 if any(peer == "ours" for peer, _ in errors) else 0


if __name__ == "__main__":
    sys.exit(main())
