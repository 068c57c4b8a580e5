#!/usr/bin/env python3
"""Every operation of `trellis fst` beside OpenFst's own tool, on random machines in the tropical and log semirings.

Machines are compared by what they mean: without cycles, by the weights of all pairs of strings, which are worked out here from the bytes of
the results; with cycles by OpenFst's fstequivalent --random. Files must be the same bytes where OpenFst leaves no choice. Every tool reads
what the other wrote.
"""
import collections
import concurrent.futures
import math
import os
import random
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from command_runs import TRELLIS, path, run

MACHINES = 5 if os.environ.get("TRELLIS_SANITIZE") else 20  # for each operation and semiring

if not shutil.which("fstcompile"):
    print("skipped: OpenFst's tools are not installed (scripts/setup test installs them)")
    sys.exit(77)


def ours(operation, *arguments, data=None, codes=(0,)):
    return run(TRELLIS, "fst", operation, "--quiet", *arguments, data=data, codes=codes)


# ---- Machines, as OpenFst's binary files have them ----

Arc = collections.namedtuple("Arc", "state ilabel olabel weight next")


class Machine:
    def __init__(self, start, finals, arcs):
        self.start, self.finals, self.arcs = start, finals, arcs  # finals: by state, infinity where it is none

    def text(self):
        states = [self.start] + [s for s in range(len(self.finals)) if s != self.start]
        lines = []
        for s in states:
            lines += [f"{a.state} {a.next} {a.ilabel} {a.olabel} {a.weight}" for a in self.arcs if a.state == s]
            if self.finals[s] < math.inf or s == self.start:
                lines.append(f"{s} {self.finals[s] if self.finals[s] < math.inf else 'Infinity'}")
        return "\n".join(lines) + "\n"


def string_at(data, at):
    (length,) = struct.unpack_from("<i", data, at)
    return data[at + 4 : at + 4 + length].decode(), at + 4 + length


def read_binary(data):
    """A vector file without symbol tables."""
    assert data[:4] == b"\xd6\xfd\xb2\x7e", "no OpenFst file"
    kind, at = string_at(data, 4)
    _, at = string_at(data, at)
    assert kind == "vector"
    _, _, _, start, states, _ = struct.unpack_from("<iiQqqq", data, at)
    at += 40
    finals, arcs = [], []
    for s in range(states):
        final, count = struct.unpack_from("<fq", data, at)
        at += 12
        finals.append(final)
        for _ in range(count):
            arcs.append(Arc(s, *struct.unpack_from("<iifi", data, at)))
            at += 16
    assert at == len(data)
    return Machine(start, finals, arcs)


def plus(a, b, semiring):
    if semiring == "standard" or math.isinf(a) or math.isinf(b):
        return min(a, b)
    return min(a, b) - math.log1p(math.exp(-abs(a - b)))


def relation(machine, semiring):
    """The weight of every pair of strings that an acyclic machine knows."""
    out = collections.defaultdict(list)
    for a in machine.arcs:
        out[a.state].append(a)
    known = {}

    def of(state):
        if state not in known:
            sums = {}
            if machine.finals[state] < math.inf:
                sums[(), ()] = machine.finals[state]
            for a in out[state]:
                for (x, y), w in of(a.next).items():
                    key = ((a.ilabel,) if a.ilabel else ()) + x, ((a.olabel,) if a.olabel else ()) + y
                    sums[key] = plus(sums.get(key, math.inf), a.weight + w, semiring)
            known[state] = {k: w for k, w in sums.items() if w < math.inf}
        return known[state]

    return of(machine.start) if machine.start >= 0 else {}


def path_weights(machine):
    """The weights of all paths of an acyclic machine, sorted."""
    def of(state, weight):
        if machine.finals[state] < math.inf:
            yield weight + machine.finals[state]
        for a in machine.arcs:
            if a.state == state:
                yield from of(a.next, weight + a.weight)

    return sorted(of(machine.start, 0)) if machine.start >= 0 else []


# ---- Random machines ----


def random_machine(r, semiring, acceptor=False, cyclic=False, epsilons=0.2, labels=3, states=6, arcs=9, weighted=True):
    n = r.randint(1, states)

    def weight():
        low = 1.5 if semiring == "log" and cyclic else 0
        return low + r.randint(0, 24) / 8 if weighted else 0

    def label():
        return 0 if r.random() < epsilons else r.randint(1, labels)

    made = []
    for _ in range(r.randint(0, arcs)):
        a, b = r.randrange(n), r.randrange(n)
        if not cyclic and a == b:
            continue
        if not cyclic and a > b:
            a, b = b, a
        i = label()
        made.append(Arc(a, i, i if acceptor else label(), weight(), b))
    finals = [weight() if s == n - 1 or r.random() < 0.3 else math.inf for s in range(n)]
    return Machine(0, finals, made)


def sorted_by(machine, side):
    return Machine(machine.start, machine.finals, sorted(machine.arcs, key=lambda a: (a.state, a.ilabel if side == "i" else a.olabel)))


def trimmed(machine):
    """Without states that are on no path; what becomes of those is nobody's business. None: no state is left."""
    def reach(found, edges):
        while True:
            more = {b for a, b in edges if a in found} - found
            if not more:
                return found
            found |= more

    edges = [(a.state, a.next) for a in machine.arcs]
    good = reach({machine.start}, edges) & reach({s for s, w in enumerate(machine.finals) if w < math.inf}, [(b, a) for a, b in edges])
    order = {s: i for i, s in enumerate(sorted(good))}
    arcs = [a._replace(state=order[a.state], next=order[a.next]) for a in machine.arcs if a.state in good and a.next in good]
    return Machine(order[machine.start], [machine.finals[s] for s in sorted(good)], arcs) if order else None


def random_trie(r, labels=3):
    """An unweighted deterministic acceptor of a few strings."""
    finals, arcs = [math.inf], {}
    for _ in range(r.randint(0, 6)):
        s = 0
        for _ in range(r.randint(0, 4)):
            x = r.randint(1, labels)
            if (s, x) not in arcs:
                arcs[s, x] = len(finals)
                finals.append(math.inf)
            s = arcs[s, x]
        finals[s] = 0.0
    return Machine(0, finals, [Arc(s, x, x, 0.0, t) for (s, x), t in sorted(arcs.items())])


def compiled(machine, semiring, name):
    ours("compile", "--arc-type", semiring, "-o", path(name), data=machine.text().encode())
    return path(name)


# ---- Comparing ----


def same_relation(a, b, semiring, delta=2e-3):
    x, y = relation(a, semiring), relation(b, semiring)
    for key in x.keys() | y.keys():
        if abs(x.get(key, math.inf) - y.get(key, math.inf)) > delta:
            return f"{key}: {x.get(key)} and {y.get(key)}"
    return None


def same_meaning(data, theirs, semiring, name):
    with open(path(name + ".a"), "wb") as file:
        file.write(data)
    with open(path(name + ".b"), "wb") as file:
        file.write(theirs)
    done = run("fstequivalent", "--random", "--npath=20", "--max_length=40", "--delta=0.01", "--seed=1", path(name + ".a"), path(name + ".b"), codes=(0, 1, 2))
    return None if done.returncode == 0 else "fstequivalent says no"


def same_machine(a, b, delta=2e-3):
    if a.start != b.start or len(a.finals) != len(b.finals) or len(a.arcs) != len(b.arcs):
        return "different numbers of states or arcs"
    for x, y in zip(a.finals, b.finals):
        if x != y and not abs(x - y) <= delta:
            return f"final weights {x} and {y}"
    for p, q in zip(a.arcs, b.arcs):
        if p._replace(weight=0) != q._replace(weight=0) or not (p.weight == q.weight or abs(p.weight - q.weight) <= delta):
            return f"arcs {p} and {q}"
    return None


class Case:
    """One operation: how it is called here and there, on which machines, and how results are compared."""

    def __init__(self, name, arguments=(), theirs=None, kind=None, second=None, compare="relation", semirings=("standard", "log"), sort=None, size=False):
        self.name, self.arguments = name, list(arguments)
        self.theirs = theirs or ["fst" + name] + [a.replace("-", "_", a.count("-")).replace("__", "--", 1) for a in self.arguments]
        self.kind, self.second, self.compare, self.semirings, self.sort, self.size = kind or {}, second, compare, semirings, sort, size

    def machines(self, r, semiring):
        first = random_machine(r, semiring, **self.kind)
        if self.compare == "trimmed":
            first = trimmed(first) or Machine(0, [0.5], [])
        if self.sort:
            first = sorted_by(first, self.sort)
        if self.second is None:
            return [first]
        other = random_trie(r) if self.second == "trie" else sorted_by(random_machine(r, semiring, **self.second), "i")
        return [first, other]

    def check(self, seed, semiring):
        r = random.Random(f"{self.name} {self.arguments} {semiring} {seed}")
        name = f"{self.name}-{abs(hash(tuple(self.arguments)))}-{semiring}-{seed}"
        files = [compiled(m, semiring, f"{name}.{i}") for i, m in enumerate(self.machines(r, semiring))]
        data = ours(self.name, *self.arguments, *files).stdout
        theirs = run(*self.theirs, *files).stdout
        a, b = read_binary(data), read_binary(theirs)
        if self.compare == "relation":
            wrong = same_relation(a, b, semiring)
        elif self.compare == "meaning":
            wrong = same_meaning(data, theirs, semiring, name)
        elif self.compare == "paths":
            x, y = path_weights(a), path_weights(b)
            wrong = None if len(x) == len(y) and all(abs(p - q) < 1e-3 for p, q in zip(x, y)) else f"paths {x} and {y}"
        else:
            wrong = same_machine(a, b)
        if not wrong and self.size and (len(a.finals), len(a.arcs)) != (len(b.finals), len(b.arcs)):
            wrong = f"{len(a.finals)} states, {len(a.arcs)} arcs instead of {len(b.finals)}, {len(b.arcs)}"
        if wrong:
            texts = "".join(f"-- {f}\n" + run("fstprint", f).stdout.decode() for f in files)
            return f"{self.name} {' '.join(self.arguments)} ({semiring}): {wrong}\n{texts}"
        return None


ACCEPTOR = {"acceptor": True, "epsilons": 0}
EPSILON_ACCEPTOR = {"acceptor": True}
CYCLIC = {"cyclic": True}
CYCLIC_ACCEPTOR = {"cyclic": True, "acceptor": True, "epsilons": 0}
PATH = ("standard",)

CASES = [
    Case("arcsort", ["--sort-type=ilabel"], compare="meaning", kind=CYCLIC),
    Case("arcsort", ["--sort-type=olabel"]),
    Case("closure", compare="meaning"),
    Case("closure", ["--closure-plus"], compare="meaning"),
    Case("compose", second={}, sort="o"),
    Case("compose", second=CYCLIC, sort="o", kind=CYCLIC, compare="meaning"),
    Case("compose", ["--compose-filter=alt_sequence"], second={}, sort="o"),
    Case("compose", ["--compose-filter=match"], second={}, sort="o"),
    Case("compose", ["--compose-filter=sequence"], second={}, sort="o"),
    Case("concat", second={}),
    Case("connect", compare="machine"),
    Case("determinize", kind=ACCEPTOR, size=True),
    Case("determinize", kind=EPSILON_ACCEPTOR, size=True),
    Case("determinize", ["--det-type=nonfunctional"], kind={"epsilons": 0}, semirings=PATH),
    Case("determinize", ["--det-type=disambiguate"], kind={"epsilons": 0}, semirings=PATH),
    Case("determinize", ["--weight=1.5"], kind=ACCEPTOR, semirings=PATH),
    Case("difference", kind=ACCEPTOR, second="trie", sort="o"),
    Case("disambiguate", kind=ACCEPTOR),
    Case("epsnormalize", compare="relation"),
    Case("epsnormalize", ["--eps-norm-output"], compare="relation"),
    Case("intersect", kind=EPSILON_ACCEPTOR, second=EPSILON_ACCEPTOR, sort="o"),
    Case("invert", kind=CYCLIC, compare="machine"),
    Case("map", ["--map-type=identity"], compare="machine"),
    Case("map", ["--map-type=arc_sum"]),
    Case("map", ["--map-type=arc_unique"]),
    Case("map", ["--map-type=input_epsilon"], compare="machine"),
    Case("map", ["--map-type=output_epsilon"], compare="machine"),
    Case("map", ["--map-type=invert"], compare="machine"),
    Case("map", ["--map-type=plus", "--weight=1"], compare="machine"),
    Case("map", ["--map-type=times", "--weight=1.25"], compare="machine"),
    Case("map", ["--map-type=power", "--power=0.5"], compare="machine"),
    Case("map", ["--map-type=quantize", "--delta=0.5"], compare="machine"),
    Case("map", ["--map-type=rmweight"], compare="machine"),
    Case("map", ["--map-type=superfinal"]),
    Case("map", ["--map-type=to_log"], compare="machine", semirings=PATH),
    Case("map", ["--map-type=to_std"], compare="machine", semirings=("log",)),
    Case("project", ["--project-type=input"], kind=CYCLIC, compare="machine"),
    Case("project", ["--project-type=output"], kind=CYCLIC, compare="machine"),
    Case("prune", ["--weight=1"], semirings=PATH),
    Case("prune", ["--weight=0.5"], kind=CYCLIC, semirings=PATH, compare="meaning"),
    Case("push", ["--push-weights"], compare="trimmed"),
    Case("push", ["--push-weights", "--to-final"], compare="trimmed"),
    Case("push", ["--push-weights", "--remove-total-weight"], compare="trimmed"),
    Case("push", ["--push-labels"]),
    Case("push", ["--push-labels", "--push-weights", "--to-final"]),
    Case("reverse"),
    Case("reverse", kind=CYCLIC, compare="meaning"),
    Case("rmepsilon", kind={"epsilons": 0.5}),
    Case("rmepsilon", kind={"epsilons": 0.5, "cyclic": True}, compare="meaning"),
    Case("shortestpath", semirings=PATH, compare="paths", kind=CYCLIC),
    Case("shortestpath", ["--nshortest=5"], semirings=PATH, compare="paths"),
    Case("shortestpath", ["--nshortest=5"], semirings=PATH, compare="paths", kind=CYCLIC),
    Case("shortestpath", ["--nshortest=4", "--unique"], semirings=PATH, compare="paths", kind=ACCEPTOR),
    Case("shortestpath", ["--nshortest=4", "--weight=1"], semirings=PATH, compare="paths"),
    Case("synchronize"),
    Case("topsort", compare="relation"),
    Case("union", second={}),
    Case("union", second=CYCLIC, kind=CYCLIC, compare="meaning"),
]


# ---- Operations that do not fit the table ----


def check_minimize(seed, semiring):
    r = random.Random(f"minimize {semiring} {seed}")
    name = f"minimize-{semiring}-{seed}"
    file = compiled(random_machine(r, semiring, acceptor=True, epsilons=0, states=7, arcs=12), semiring, name)
    run("fstdeterminize", file, path(name + ".det"))
    a = read_binary(ours("minimize", path(name + ".det")).stdout)
    b = read_binary(run("fstminimize", path(name + ".det")).stdout)
    wrong = same_relation(a, b, semiring)
    if not wrong and (len(a.finals), len(a.arcs)) != (len(b.finals), len(b.arcs)):
        wrong = f"{len(a.finals)} states, {len(a.arcs)} arcs instead of {len(b.finals)}, {len(b.arcs)}"
    return f"minimize ({semiring}): {wrong}\n{run('fstprint', path(name + '.det')).stdout.decode()}" if wrong else None


def check_distance(seed, semiring):
    r = random.Random(f"distance {semiring} {seed}")
    name = f"distance-{semiring}-{seed}"
    file = compiled(trimmed(random_machine(r, semiring, cyclic=seed % 2 == 1)) or Machine(0, [0.5], []), semiring, name)
    for flags in ([], ["--reverse"]):
        a = ours("shortestdistance", *flags, file).stdout.decode().splitlines()
        b = run("fstshortestdistance", *flags, file).stdout.decode().splitlines()
        x, y = ({l.split()[0]: float(l.split()[1]) if len(l.split()) > 1 else 0.0 for l in lines} for lines in (a, b))
        for s in x.keys() | y.keys():
            p, q = x.get(s, math.inf), y.get(s, math.inf)
            if p != q and not abs(p - q) < 1e-3:
                return f"shortestdistance {flags} ({semiring}): state {s}: {p} and {q}\n{run('fstprint', file).stdout.decode()}"
    with open(path(name + ".pot"), "w") as out:
        out.write("\n".join(b) + "\n")
    u = read_binary(ours("reweight", file, path(name + ".pot")).stdout)
    v = read_binary(run("fstreweight", file, path(name + ".pot")).stdout)
    wrong = same_machine(u, v)
    return f"reweight ({semiring}): {wrong}\n{run('fstprint', file).stdout.decode()}" if wrong else None


def check_encoding(seed, semiring):
    """Both encode alike, and each decodes what the other encoded."""
    r = random.Random(f"encode {semiring} {seed}")
    name = f"encode-{semiring}-{seed}"
    file = compiled(random_machine(r, semiring), semiring, name)
    flags = [["--encode-labels"], ["--encode-weights"], ["--encode-labels", "--encode-weights"]][seed % 3]
    data = ours("encode", *flags, file, path(name + ".ours")).stdout
    theirs = run("fstencode", *[f.replace("encode-", "encode_") for f in flags], file, path(name + ".theirs")).stdout
    wrong = same_machine(read_binary(data), read_binary(theirs), 0)
    with open(path(name + ".ours"), "rb") as x, open(path(name + ".theirs"), "rb") as y:
        if not wrong and x.read() != y.read():
            wrong = "the tables differ"
    if not wrong:
        back = ours("decode", "-", path(name + ".theirs"), data=theirs).stdout
        there = run("fstencode", "--decode", "-", path(name + ".ours"), data=data).stdout
        wrong = same_relation(read_binary(back), read_binary(there), semiring)
    return f"encode {flags} ({semiring}): {wrong}\n{run('fstprint', file).stdout.decode()}" if wrong else None


def check_replace(seed, semiring):
    r = random.Random(f"replace {semiring} {seed}")
    name = f"replace-{semiring}-{seed}"
    root = random_machine(r, semiring)
    root.arcs = [a._replace(olabel=r.choice([101, 102])) if r.random() < 0.4 else a for a in root.arcs]
    part = random_machine(r, semiring)
    part.arcs = [a._replace(olabel=102) if r.random() < 0.2 else a for a in part.arcs]
    files = [compiled(m, semiring, f"{name}.{i}") for i, m in enumerate([root, part, random_machine(r, semiring, states=3)])]
    arguments = [files[0], "100", files[1], "101", files[2], "102"]
    for call in ("input", "output", "both", "neither"):
        a = read_binary(ours("replace", f"--call-arc-labeling={call}", *arguments).stdout)
        b = read_binary(run("fstreplace", f"--call_arc_labeling={call}", *arguments).stdout)
        wrong = same_relation(a, b, semiring)
        if wrong:
            return f"replace {call} ({semiring}): {wrong}"
    return None


def check_relabel(seed, semiring):
    r = random.Random(f"relabel {semiring} {seed}")
    name = f"relabel-{semiring}-{seed}"
    file = compiled(random_machine(r, semiring, cyclic=True), semiring, name)
    for side in "io":
        with open(path(f"{name}.{side}"), "w") as out:
            out.write("".join(f"{k}\t{r.randint(0, 9)}\n" for k in range(r.randint(1, 4))))
    a = read_binary(ours("relabel", "--relabel-ipairs", path(name + ".i"), "--relabel-opairs", path(name + ".o"), file).stdout)
    b = read_binary(run("fstrelabel", f"--relabel_ipairs={path(name + '.i')}", f"--relabel_opairs={path(name + '.o')}", file).stdout)
    wrong = same_machine(a, b, 0)
    return f"relabel ({semiring}): {wrong}" if wrong else None


def check_questions(seed, semiring):
    r = random.Random(f"questions {semiring} {seed}")
    name = f"questions-{semiring}-{seed}"
    machine = random_machine(r, semiring, acceptor=True, epsilons=0, states=5, arcs=8)
    file = compiled(machine, semiring, name + ".x")
    a, b = path(name + ".a"), path(name + ".b")
    run("fstdeterminize", file, a)
    run("fstminimize", a, b)
    order = list(range(len(machine.finals)))
    r.shuffle(order)
    shuffled = Machine(order[machine.start], [machine.finals[order.index(s)] for s in range(len(order))], [Arc(order[x.state], x.ilabel, x.olabel, x.weight, order[x.next]) for x in machine.arcs])
    changed = Machine(machine.start, machine.finals, [x._replace(weight=x.weight + (0.5 if i == 0 else 0)) for i, x in enumerate(machine.arcs)])
    others = [b, compiled(changed, semiring, name + ".c"), compiled(shuffled, semiring, name + ".s")]
    run("fstdeterminize", others[1], path(name + ".d"))
    for question, x, y in [("equal", a, a), ("equal", a, b), ("equal", file, others[1]), ("equivalent", a, b), ("equivalent", a, path(name + ".d")), ("isomorphic", a, a), ("isomorphic", a, b)]:
        answer = ours(question, x, y, codes=(0, 1)).returncode
        theirs = run("fst" + question, x, y, codes=(0, 1, 2)).returncode
        if (answer == 0) != (theirs == 0):
            return f"{question} ({semiring}): {answer} and {theirs}\n{run('fstprint', x).stdout.decode()}--\n{run('fstprint', y).stdout.decode()}"
    answer = ours("randequivalent", file, a, codes=(0, 1)).returncode
    return f"randequivalent ({semiring}): a machine and its deterministic form\n{run('fstprint', file).stdout.decode()}" if answer else None


def check_random_paths(seed, semiring):
    """Paths that the machine has, as many as asked for."""
    r = random.Random(f"randgen {semiring} {seed}")
    name = f"randgen-{semiring}-{seed}"
    machine = trimmed(random_machine(r, semiring)) or Machine(0, [0.5], [])  # a walk into a dead end is no path
    file = compiled(machine, semiring, name)
    known = relation(machine, semiring)
    made = read_binary(ours("randgen", "--npath=7", f"--seed={seed}", file).stdout)
    found = relation(made, "standard")
    if not found.keys() <= known.keys() or len(path_weights(made)) != 7:
        return f"randgen ({semiring}): {list(found)} from {list(known)}"
    return None


def check_files(seed, semiring):
    """print, info, draw, convert, symbols: the same bytes, or the same numbers."""
    r = random.Random(f"files {semiring} {seed}")
    name = f"files-{semiring}-{seed}"
    machine = random_machine(r, semiring, acceptor=seed % 3 == 0, cyclic=seed % 2 == 0, weighted=seed % 4 != 0)
    machine.arcs = [a._replace(weight=a.weight * r.choice([1, 1 / 3, 1e-7, 1e6])) for a in machine.arcs]
    file = compiled(machine, semiring, name)
    with open(file, "rb") as written:
        if written.read() != run("fstcompile", f"--arc_type={semiring}", data=machine.text().encode()).stdout:
            return f"compile: the files differ\n{machine.text()}"
    symbols = path(name + ".sym")
    with open(symbols, "w") as out:
        out.write("".join(f"{n}\t{k}\n" for k, n in enumerate(["<eps>", 'a"b', "b\\c", "ü"])))
    tables = [f"--isymbols={symbols}", f"--osymbols={symbols}"]
    named = run("fstsymbols", *tables, file).stdout
    if ours("symbols", *tables, file).stdout != named:
        return "symbols: the files differ"
    for operation, flags in [("print", []), ("print", ["--acceptor", "--show_weight_one"]), ("print", tables), ("draw", []), ("draw", ["--acceptor", "--portrait", "--vertical", "--title=x", "--precision=3", "--fontsize=12", "--width=9.3"]), ("draw", tables), ("convert", ["--fst_type=const"]), ("convert", [])]:
        for data in (None, named):
            place = [file] if data is None else []
            if ours(operation, *flags, *place, data=data).stdout != run("fst" + operation, *flags, *place, data=data).stdout:
                return f"{operation} {flags}: the results differ\n{machine.text()}"
    run("fstconvert", "--fst_type=const", "--fst_align", file, path(name + ".const"))
    if ours("print", path(name + ".const")).stdout != run("fstprint", file).stdout:
        return "print of an aligned const file: the results differ"
    rows = (l.rsplit(None, 1) for l in run("fstinfo", file).stdout.decode().splitlines())
    theirs = dict(row for row in rows if len(row) == 2)
    for line in ours("info", file).stdout.decode().splitlines():
        key, value = line.rsplit(None, 1)
        if key != "semiring" and theirs.get(key.strip()) != value:
            return f"info: {key.strip()}: {value} instead of {theirs.get(key.strip())}\n{machine.text()}"
    text = run("fstprint", *tables, file).stdout
    keep = [*tables, "--keep_isymbols", "--keep_osymbols", f"--arc_type={semiring}"]
    if ours("compile", *keep, data=text).stdout != run("fstcompile", *keep, data=text).stdout:
        return "compile with symbol tables: the files differ"
    return None


SPECIAL = [check_minimize, check_distance, check_encoding, check_replace, check_relabel, check_questions, check_random_paths, check_files]


def main():
    wanted = sys.argv[1:]
    jobs = []
    for case in CASES:
        if not wanted or case.name in wanted:
            label = " ".join([case.name] + case.arguments)
            jobs += [(label, case.check, seed, s) for s in case.semirings for seed in range(MACHINES // len(case.semirings))]
    for check in SPECIAL:
        if not wanted or check.__name__[6:] in wanted:
            jobs += [(check.__name__[6:], check, seed, s) for s in ("standard", "log") for seed in range(MACHINES // 2)]
    wrong = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [(label, pool.submit(check, seed, s)) for label, check, seed, s in jobs]
        for label, future in futures:
            try:
                fault = future.result()
            except (RuntimeError, AssertionError) as error:  # a tool that failed
                fault = str(error)
            if fault and wrong[label] == 0:
                print(f"WRONG: {label}: {fault}")
            wrong[label] += bool(fault)
    faults = {label: count for label, count in wrong.items() if count}
    print(f"{len(jobs)} comparisons, {sum(faults.values())} wrong {faults or ''}")
    return 1 if faults else 0


sys.exit(main())
