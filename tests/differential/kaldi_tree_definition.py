"""Kaldi's tree as its definition says: parsed, written, asked. A map is None (NULL), ("CE", pdf), ("SE", key, values, yes, no) or
("TE", key, maps); key -1 is the pdf class, others are places in the window. Phones count from 1, 0 is beyond the utterance."""
import struct

import numpy as np


class Parser:
    """Tokens and numbers, binary (NUL, B in front) or text."""

    def __init__(self, data):
        self.binary = data[:2] == b"\0B"
        self.data, self.at = (data, 2) if self.binary else (data.decode().split(), 0)

    def token(self):
        if not self.binary:
            self.at += 1
            return self.data[self.at - 1]
        end = self.data.index(b" ", self.at)
        text = self.data[self.at:end].decode()
        self.at = end + 1
        return text

    def expect(self, token):
        found = self.token()
        assert found == token, f"{found} instead of {token}"

    def number(self, unsigned=False):
        if not self.binary:
            return int(self.token())
        size, value = struct.unpack_from("<bI" if unsigned else "<bi", self.data, self.at)
        assert size == (-4 if unsigned else 4)
        self.at += 5
        return value

    def numbers(self):
        if not self.binary:
            self.expect("[")
            end = self.data.index("]", self.at)
            values = [int(word) for word in self.data[self.at:end]]
            self.at = end + 1
            return values
        count = self.number()
        values = struct.unpack_from(f"<{count}i", self.data, self.at)
        self.at += 4 * count
        return list(values)

    def map(self):
        kind = self.token()
        if kind == "NULL":
            return None
        if kind == "CE":
            return ("CE", self.number())
        key = self.number()
        if kind == "SE":
            values = self.numbers()
            self.expect("{")
            yes, no = self.map(), self.map()
            self.expect("}")
            return ("SE", key, values, yes, no)
        assert kind == "TE", kind
        count = self.number(unsigned=True)
        self.expect("(")
        maps = [self.map() for _ in range(count)]
        self.expect(")")
        return ("TE", key, maps)


def read(path):
    """Width, centre, map."""
    parser = Parser(path.read_bytes())
    parser.expect("ContextDependency")
    width, centre = parser.number(), parser.number()
    parser.expect("ToPdf")
    root = parser.map()
    parser.expect("EndContextDependency")
    return width, centre, root


def write(path, width, centre, root, binary):
    def number(value, unsigned=False):
        return struct.pack("<bI" if unsigned else "<bi", -4 if unsigned else 4, value) if binary else b"%d " % value

    def numbers(values):
        if binary:
            return struct.pack(f"<bi{len(values)}i", 4, len(values), *values)
        return b"[ " + b"".join(b"%d " % v for v in values) + b"]\n"

    def put(m):
        if m is None:
            return b"NULL "
        if m[0] == "CE":
            return b"CE " + number(m[1])
        if m[0] == "SE":
            return b"SE " + number(m[1]) + numbers(m[2]) + b"{ " + put(m[3]) + put(m[4]) + b"} "
        return b"TE " + number(m[1]) + number(len(m[2]), unsigned=True) + b"( " + b"".join(map(put, m[2])) + b") "

    path.write_bytes((b"\0B" if binary else b"") + b"ContextDependency " + number(width) + number(centre) + b"ToPdf " + put(root) +
                     b"EndContextDependency ")


def ask(m, windows, state):
    """The pdf of every row of an array of phones, for one pdf class; -1 where the tree has none."""
    answers = np.full(len(windows), -1)
    if m is None:
        return answers
    if m[0] == "CE":
        answers[:] = m[1]
        return answers
    values = np.full(len(windows), state) if m[1] == -1 else windows[:, m[1]]
    if m[0] == "SE":
        parts = [(np.isin(values, m[2]), m[3]), (~np.isin(values, m[2]), m[4])]
    else:
        parts = [(values == v, below) for v, below in enumerate(m[2])]
    for rows, below in parts:
        if rows.any():
            answers[rows] = ask(below, windows[rows], state)
    return answers


def reach(m, centre, phone, state):
    """All pdfs that a phone's state can have: what is asked about the neighbours goes both ways."""
    if m is None:
        return set()
    if m[0] == "CE":
        return {m[1]}
    known = {-1: state, centre: phone}.get(m[1])
    if m[0] == "SE":
        below = [m[3], m[4]] if known is None else [m[3] if known in m[2] else m[4]]
    else:
        below = m[2] if known is None else m[2][known:known + 1]
    return set().union(*(reach(b, centre, phone, state) for b in below))
