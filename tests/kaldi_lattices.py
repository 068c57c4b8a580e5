"""Kaldi's archives of lattices, read from their bytes by the definition of the format; what a lattice means: all of its paths. And what the
tests with them share: a count of what went wrong."""
import collections
import math
import struct

faults = []


def wrong(text):
    print(f"WRONG: {text}")
    faults.append(text)


# Costs are pairs (graph, acoustic). transitions: a tuple.
Arc = collections.namedtuple("Arc", "source next word graph acoustic transitions")


class Lattice:
    def __init__(self, start=-1):
        self.start, self.arcs, self.finals = start, [], {}  # finals: state -> (graph, acoustic, transitions)

    def paths(self):
        """Every path: its words, transitions, graph and acoustic cost, in order."""
        leaving = collections.defaultdict(list)
        for arc in self.arcs:
            leaving[arc.source].append(arc)
        found, todo = [], [(self.start, (), (), 0.0, 0.0)] if self.start >= 0 else []
        while todo:
            state, words, transitions, graph, acoustic = todo.pop()
            if state in self.finals:
                g, a, t = self.finals[state]
                found.append((words, transitions + t, graph + g, acoustic + a))
            for arc in leaving[state]:
                word = (arc.word,) if arc.word else ()
                todo.append((arc.next, words + word, transitions + arc.transitions, graph + arc.graph, acoustic + arc.acoustic))
        return sorted(found)


def same_paths(a, b, tolerance):
    """None, or what is different."""
    a, b = a.paths(), b.paths()
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} paths"
    for x, y in zip(a, b):
        if x[:2] != y[:2] or any(abs(p - q) > tolerance * max(1, abs(p)) for p, q in zip(x[2:], y[2:])):
            return f"a path with the words {x[0]} costs {x[2:]}, the other has {y[0]}: {y[2:]}"
    return None


def _weight(text):
    fields = text.split(",")
    transitions = tuple(int(t) for t in fields[2].split("_") if t) if len(fields) > 2 else ()
    return float(fields[0]), float(fields[1]), transitions


def read_text(text):
    """A dictionary of the compact lattices in a text archive."""
    lattices = {}
    for part in text.split("\n\n"):
        lines = part.split("\n")
        if not lines[0].strip():
            continue
        lattice = lattices[lines[0].split()[0]] = Lattice()
        for line in lines[1:]:
            fields = line.split()
            if lattice.start < 0:
                lattice.start = int(fields[0])
            if len(fields) == 2:
                lattice.finals[int(fields[0])] = _weight(fields[1])
            else:
                lattice.arcs.append(Arc(int(fields[0]), int(fields[1]), int(fields[2]), *_weight(fields[3])))
    return lattices


class _Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def string(self):
        (length,) = self.take("i")
        self.at += length
        return self.data[self.at - length : self.at].decode()


def _machine(source, compact):
    """An OpenFst machine of type vector from its first byte on."""
    (magic,) = source.take("I")
    assert magic == 2125659606, "no OpenFst machine"
    assert source.string() == "vector"
    assert source.string() == ("compactlattice44" if compact else "lattice4")
    version, flags, _, start, states, _ = source.take("iiQqqq")
    assert (version, flags) == (2, 0)
    lattice = Lattice(start)

    def weight():
        graph, acoustic = source.take("ff")
        return graph, acoustic, (source.take(f"{source.take('i')[0]}i") if compact else ())

    for state in range(states):
        final = weight()
        if final[0] < math.inf:
            lattice.finals[state] = final
        for _ in range(source.take("q")[0]):
            read, write = source.take("ii")
            graph, acoustic, transitions = weight()
            (target,) = source.take("i")
            if compact:
                assert read == write
            else:
                transitions = (read,) if read else ()
            lattice.arcs.append(Arc(state, target, write, graph, acoustic, transitions))
    return lattice


def read_binary(data, compact=True):
    """A dictionary of the lattices in a binary archive."""
    lattices, source = {}, _Bytes(data)
    while source.at < len(data):
        blank = data.index(b" ", source.at)
        name = data[source.at : blank].decode()
        source.at = blank + 1
        lattices[name] = _machine(source, compact)
    return lattices


def write_text(lattices):
    """Compact lattices as a text archive."""
    lines = []
    for name, lattice in lattices.items():
        lines.append(f"{name} ")
        order = {lattice.start: 0}
        for arc in sorted(lattice.arcs, key=lambda a: (order.get(a.source, 1), a.source)):
            transitions = "_".join(map(str, arc.transitions))
            lines.append(f"{arc.source}\t{arc.next}\t{arc.word}\t{arc.graph},{arc.acoustic},{transitions}")
        for state, (graph, acoustic, transitions) in lattice.finals.items():
            lines.append(f"{state}\t{graph},{acoustic},{'_'.join(map(str, transitions))}")
        lines.append("")
    return "\n".join(lines) + "\n"
