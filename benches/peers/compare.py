#!/usr/bin/env python3
"""One side-by-side table of this crate and its peers on cases.json, every program measured in turn on each case.

    python3 benches/peers/compare.py --python .venv/bin/python            # see peers.py for the venv
    python3 benches/peers/compare.py --ops materialize --scales big --repeat 3 --threads 1

Each peer is a process of its own. While one measures a case the others are stopped, so that none of
their threads spins and each peer is seen at its best; between cases they hold no arrays. All peers of one case follow
each other directly: should the machine change speed, it does so for all. A peer that cannot be had is left out by
name. The memory limits are measured in the same turn.

The table shows medians; over several turns (--repeat) the median of the turns, and of their ratios: each compares
what was measured seconds apart. Each turn starts all programs anew, as where in memory a process has its arrays makes a
difference that stays while it runs: one copy of 4 MiB takes 33 us in most of them, and 50 in some. On a machine that
others use too, --patience repeats what they disturb. A virtual machine may move from second to second between cores that
share a link to memory and cores that have one each; with --fastest and some turns the table shows each program's fastest
call instead, which is the same machine for all. 'ours/limit' is 1 at the speed of the memory, 'fastest peer/ours' is how
many times this crate is ahead of the fastest of the others.
"""
import argparse
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RUST = ["limit", "ours", "ndarray", "ndarray-rayon", "rten", "candle"]
PYTHON = ["numpy", "torch", "jax", "openvino", "onnxruntime"]
# The order of the columns, and of the turns.
PEERS = ["limit", "ours", "ndarray", "ndarray-rayon", "numpy", "torch", "jax", "openvino", "onnxruntime", "rten", "candle"]
OPS = ["materialize", "elementwise_add", "gradient_sum"]
SCALES = ["small", "mid", "big"]
HOWS = ["fresh", "into"]
# A turn in which other processes took more than this share of the processors is disturbed.
DISTURBED = 0.04


class Program:
    """One peer's process: stopped, except while it is asked for a case."""

    def __init__(self, peer, command, environment, threads):
        self.peer, self.missing, self.version = peer, None, None
        cores = sorted(os.sched_getaffinity(0))[-threads:] if threads and hasattr(os, "sched_getaffinity") else None

        def confine():
            # Some peers take their number of threads from the cores they may run on.
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
        """The rows of one case, and the share of the processors that other processes took meanwhile."""
        start = clocks(self.process.pid)
        rows = self.turn(request)
        busy, own, total = (b - a for a, b in zip(start, clocks(self.process.pid)))
        return rows, max(0, busy - own) / max(1, total)

    def turn(self, request):
        self.process.send_signal(signal.SIGCONT)
        rows = []
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            while not (row := self.read()).get("done"):
                rows.append({"peer": self.peer, **request, **row})
                if self.process.poll() is not None:
                    self.missing = row.get("error", "ended")
                    return rows
        except OSError as e:
            self.missing = str(e)
            return rows
        self.process.send_signal(signal.SIGSTOP)
        return rows

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def clocks(pid):
    """Clock ticks since the start: of all processors but idle, of this process, and of all processors."""
    try:
        ticks = [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        own = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0, 0, 0
    return sum(ticks) - ticks[3] - ticks[4], int(own[11]) + int(own[12]), sum(ticks)


def environment(threads):
    """The variables each program runs with: nothing set unless a number of threads is asked for."""
    env = dict(os.environ)
    if threads:
        for name in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"]:
            env[name] = str(threads)
        if threads == 1:
            env["XLA_FLAGS"] = env.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    return env


def duration(ms):
    """A time to three digits, in the unit that suits it."""
    for unit, size in [("s", 1e3), ("ms", 1.0), ("us", 1e-3)]:
        if ms >= size:
            break
    else:
        unit, size = "ns", 1e-6
    value = ms / size
    return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"


class Results:
    """For each measurement, its median and minimum in each turn: the least disturbed one, where a turn was repeated."""

    def __init__(self, fastest):
        self.fastest, self.seen, self.errors = fastest, {}, []

    def add(self, row, turn, others):
        key = (row["op"], row["scale"], row["case"], row.get("how"), row["peer"])
        if "error" in row:
            self.errors.append((row["peer"], f"{' '.join(str(k) for k in key if k)} ({row['error']})"))
            return
        turns = self.seen.setdefault(key, {})
        if turn not in turns or others < turns[turn][2]:
            turns[turn] = (row["median_ms"], row["min_ms"], others)

    def median(self, *key):
        turns = self.seen.get(key)
        return statistics.median(m for m, _, _ in turns.values()) if turns else None

    def shown(self, *key):
        """What the table shows of a measurement."""
        if self.fastest and key in self.seen:
            return min(low for _, low, _ in self.seen[key].values())
        return self.median(*key)

    def ratio(self, over, under):
        """The ratio of two measurements: the median over the turns of the ratio of what one turn has."""
        if self.fastest and over in self.seen and under in self.seen:
            return self.shown(*over) / self.shown(*under)
        over, under = self.seen.get(over, {}), self.seen.get(under, {})
        ratios = [over[turn][0] / under[turn][0] for turn in over if turn in under]
        return statistics.median(ratios) if ratios else None

    def disturbed(self):
        """How many measurements were disturbed, and of how many."""
        turns = [others for turns in self.seen.values() for _, _, others in turns.values()]
        return sum(others > DISTURBED for others in turns), len(turns)

    def rows(self):
        for (op, scale, case, how, peer), turns in self.seen.items():
            yield {
                "op": op,
                "scale": scale,
                "case": case,
                "how": how,
                "peer": peer,
                "median_ms": round(self.median(op, scale, case, how, peer), 6),
                "min_ms": round(min(low for _, low, _ in turns.values()), 6),
                "turns": len(turns),
            }

    def table(self, work):
        peers = {key[-1] for key in self.seen}
        other_limits = sorted(peers - set(PEERS))
        columns = [p for p in ["limit", *other_limits, *PEERS[1:]] if p in peers]
        heads = ["op", "scale", "case", "how", *columns, "ours/limit", "fastest peer/ours"]
        lines = ["| " + " | ".join(heads) + " |", "|---|---|---|---|" + "---:|" * (len(heads) - 4)]
        for op, scale, case in work:
            for how in HOWS:
                row = (op, scale, case, how)
                times = {p: self.shown(*row, p) for p in columns}
                rivals = [p for p in columns if times[p] and p not in ["limit", "ours", *other_limits]]
                if not rivals and not times.get("ours"):
                    continue
                cells = [*row, *(duration(t) if t else "" for t in times.values())]
                to_limit = self.ratio((*row, "ours"), (*row, "limit"))
                cells.append(f"{to_limit:.2f}" if to_limit else "")
                # The rival with the lowest time, not the best of each turn: one program has to be that fast.
                fastest = min(rivals, key=times.get, default="")
                ahead = self.ratio((*row, fastest), (*row, "ours"))
                cells.append(f"{ahead:.2f} ({fastest})" if ahead else fastest)
                lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)


def build():
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE, check=True)
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version", "1"], cwd=HERE, check=True, capture_output=True
        ).stdout
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
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    split = lambda text: text.split(",")
    p.add_argument("--ops", type=split, default=OPS, help="default: all of " + ",".join(OPS))
    p.add_argument("--scales", type=split, default=SCALES, help="default: all of " + ",".join(SCALES))
    p.add_argument("--cases", type=split, default=[], help="names of cases; default: all")
    p.add_argument("--peers", type=split, default=PEERS, help="default: all of " + ",".join(PEERS))
    p.add_argument("--python", default=sys.executable, help="the Python that has the Python peers")
    p.add_argument("--reps", type=int, help="repetitions of each call; default: by scale")
    p.add_argument("--repeat", type=int, default=1, help="turns of every program, started anew, on each case; default: 1")
    p.add_argument("--fastest", action="store_true", help="show the fastest call of all turns, not medians")
    p.add_argument("--patience", type=int, default=0, help="more turns of a program that others disturb; default: 0")
    p.add_argument("--threads", type=int, default=0, help="threads for each program; default: as many as it chooses")
    p.add_argument("--json", type=pathlib.Path, help="write the merged rows here too, one JSON object a line")
    p.add_argument("--out", type=pathlib.Path, help="write the table here instead of to standard output")
    return p.parse_args()


def main():
    a = arguments()
    cases = json.loads((HERE / "cases.json").read_text())
    work = [
        (op, scale, case["name"])
        for op in a.ops
        for scale in a.scales
        for case in cases[op].get(scale, [])
        if not a.cases or case["name"] in a.cases
    ]
    binary, versions = build()
    env = environment(a.threads)
    results, missing = Results(a.fastest), {}
    for turn in range(a.repeat):
        programs = []
        try:
            for peer in [p for p in PEERS if p in a.peers and p not in missing]:
                if peer in RUST:
                    command = [str(binary), "--serve", "--peers", peer]
                else:
                    command = [a.python, str(HERE / "peers.py"), "--serve", "--peers", peer]
                    command += ["--threads", str(a.threads)] if a.threads else []
                programs.append(Program(peer, command, env, a.threads))
            for program in programs:
                program.greet()
            for op, scale, case in work:
                request = {"op": op, "scale": scale, "case": case}
                request |= {"reps": a.reps} if a.reps else {}
                for program in programs:
                    for _ in range(1 + a.patience):
                        if program.missing:
                            break
                        rows, others = program.ask(request)
                        for row in rows:
                            results.add(row, turn, others)
                        if others <= DISTURBED:
                            break
                print(f"turn {turn + 1}: {op} {scale} {case}", file=sys.stderr)
        finally:
            for program in programs:
                program.end()
        missing |= {p.peer: p.missing for p in programs if p.missing}
        versions |= {p.peer: p.version for p in programs if p.peer in PYTHON and not p.missing}
    text = [results.table(work), ""]
    text.append(f"{machine()}; {f'threads: {a.threads}' if a.threads else 'all threads'}; {'the fastest calls' if a.fastest else 'medians'}.")
    text.append("Versions: " + ", ".join(f"{p} {versions[p]}" for p in PEERS if p in versions and p in a.peers) + ".")
    disturbed, of = results.disturbed()
    if disturbed:
        text.append(f"Other processes disturbed {disturbed} of {of} measurements.")
    if missing:
        text.append("Left out: " + ", ".join(f"{peer} ({why})" for peer, why in missing.items()) + ".")
    if results.errors:
        text.append("Without a right result: " + ", ".join(sorted({what for _, what in results.errors})) + ".")
    text = "\n".join(text) + "\n"
    if a.out:
        a.out.write_text(text)
    else:
        print(text, end="")
    if a.json:
        a.json.write_text("".join(json.dumps(row) + "\n" for row in results.rows()))
    return 1 if any(peer == "ours" for peer, _ in results.errors) else 0


if __name__ == "__main__":
    sys.exit(main())
