#!/usr/bin/env python3
"""Compares this crate with its peers on cases.json, in one table.

All programs alternate on each case:

    python3 benches/peers/compare.py --python .venv/bin/python       # see peers.py for the venv
    python3 benches/peers/compare.py --ops materialize --scales big --repeat 3 --threads 1

Each peer is a process. While one process measures a case, the others are stopped, so that none of
their threads spins. Between cases they hold no arrays. The peers run each case directly one after
the other, so that a change of the machine's speed affects all of them. A peer that is not available
is left out, and named below the table. The memory limits are measured in the same turn.

The table shows medians. With several turns (--repeat) it shows the median of the turns, and the
median of their ratios: each ratio compares measurements that are seconds apart. Each turn restarts
all programs, because the addresses of a process's arrays affect its speed as long as it runs: a
copy of 4 MiB takes 33 us in most processes, and 50 in some. If other programs use the machine,
--patience repeats the measurements that they disturb. A virtual machine may move from second to
second between cores that share a link to memory and cores that have one each. With --fastest and
several turns, the table shows the fastest call of each program instead of the median. 'ours/limit'
is 1 at the speed of the memory. 'fastest peer/ours' is the speedup of this crate over the fastest
peer.
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
# The order of the columns, and of the programs within a turn.
PEERS = ["limit", "ours", "ndarray", "ndarray-rayon", *PYTHON, "rten", "candle"]
OPS = ["materialize", "elementwise_add", "gradient_sum", "models"]
SCALES = ["small", "mid", "big"]
HOWS = ["fresh", "into"]
# A measurement is disturbed if other processes used more than this fraction of processor time.
DISTURBED = 0.04


class Program:
    """The process of one peer. It is stopped except while it measures a case."""

    def __init__(self, peer, command, environment, threads):
        self.peer, self.missing, self.version = peer, None, None
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
        """The rows of one case, and the fraction of processor time that other processes used."""
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
    """Clock ticks since boot: of all processors when busy, of the process, of all processors."""
    try:
        ticks = [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        own = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0, 0, 0
    return sum(ticks) - ticks[3] - ticks[4], int(own[11]) + int(own[12]), sum(ticks)


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


class Results:
    """The median and minimum of each measurement in each turn. Of retries, the least disturbed."""

    def __init__(self, fastest):
        self.fastest, self.seen, self.errors = fastest, {}, []

    def add(self, row, turn, others):
        key = (row["op"], row["scale"], row["case"], row.get("how"), row["peer"])
        if "error" in row:
            what = " ".join(str(k) for k in key if k)
            self.errors.append((row["peer"], f"{what} ({row['error']})"))
            return
        turns = self.seen.setdefault(key, {})
        if turn not in turns or others < turns[turn][2]:
            turns[turn] = (row["median_ms"], row["min_ms"], others)

    def median(self, *key):
        turns = self.seen.get(key)
        return statistics.median(m for m, _, _ in turns.values()) if turns else None

    def shown(self, *key):
        """The time of a measurement in the table."""
        if self.fastest and key in self.seen:
            return min(low for _, low, _ in self.seen[key].values())
        return self.median(*key)

    def ratio(self, over, under):
        """The ratio of two measurements: the median over turns of the ratio within a turn."""
        if self.fastest and over in self.seen and under in self.seen:
            return self.shown(*over) / self.shown(*under)
        over, under = self.seen.get(over, {}), self.seen.get(under, {})
        ratios = [over[turn][0] / under[turn][0] for turn in over if turn in under]
        return statistics.median(ratios) if ratios else None

    def disturbed(self):
        """The number of disturbed measurements, and of all measurements."""
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
                not_peers = ["limit", "ours", *other_limits]
                rivals = [p for p in columns if times[p] and p not in not_peers]
                if not rivals and not times.get("ours"):
                    continue
                cells = [*row, *(duration(t) if t else "" for t in times.values())]
                to_limit = self.ratio((*row, "ours"), (*row, "limit"))
                cells.append(f"{to_limit:.2f}" if to_limit else "")
                # The peer with the lowest time over all turns, not the fastest peer of each turn.
                fastest = min(rivals, key=times.get, default="")
                ahead = self.ratio((*row, fastest), (*row, "ours"))
                cells.append(f"{ahead:.2f} ({fastest})" if ahead else fastest)
                lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)


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
    add("--peers", "default: all of " + ",".join(PEERS), type=split, default=PEERS)
    add("--python", "the Python that has the Python peers", default=sys.executable)
    add("--reps", "repetitions of each call; default: by scale", type=int)
    add("--repeat", "turns; each restarts all programs; default: 1", type=int, default=1)
    add("--fastest", "show the fastest call of all turns, not medians", action="store_true")
    add("--patience", "retries of a disturbed measurement; default: 0", type=int, default=0)
    add("--threads", "threads of each program; default: the program's own", type=int, default=0)
    add("--json", "also write the merged rows here, one JSON object a line", type=pathlib.Path)
    add("--out", "write the table here instead of to standard output", type=pathlib.Path)
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
    threads = f"threads: {a.threads}" if a.threads else "all threads"
    shown = "the fastest calls" if a.fastest else "medians"
    text.append(f"{machine()}; {threads}; {shown}.")
    known = [f"{p} {versions[p]}" for p in PEERS if p in versions and p in a.peers]
    text.append("Versions: " + ", ".join(known) + ".")
    disturbed, of = results.disturbed()
    if disturbed:
        text.append(f"Other processes disturbed {disturbed} of {of} measurements.")
    if missing:
        left_out = ", ".join(f"{peer} ({why})" for peer, why in missing.items())
        text.append(f"Left out: {left_out}.")
    if results.errors:
        wrong = ", ".join(sorted({what for _, what in results.errors}))
        text.append(f"Failed or wrong: {wrong}.")
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
