"""Writes Sphinx's binary language models, both kinds, from n-grams: for tests that let two readers read them.

    ngrams = {("a",): (-1.0, -0.5), ("a", "b"): (-0.3, 0.0), …}        n-gram -> logarithms (base 10) of probability and back-off weight

All prefixes and suffixes of the n-grams must be there.
"""
import math
import struct

BINS = 1 << 16
LOG10_BASE = math.log10(1.0001)


class Bits:
    def __init__(self, count, width):
        self.number, self.at, self.size = 0, 0, (count * width + 7) // 8 + 8
        self.parts = []

    def put(self, value, width):
        assert 0 <= value < 1 << width or width == value == 0
        self.parts.append((self.at, value))
        self.at += width

    def bytes(self):
        out = bytearray(self.size)
        for at, value in self.parts:
            value <<= at % 8
            at //= 8
            while value:
                out[at] |= value & 255
                value >>= 8
                at += 1
        return bytes(out)


def table_of(values):
    """The table of the values, and where in it each is."""
    distinct = sorted(set(values))
    table = distinct + [distinct[-1] if distinct else 0.0] * (BINS - len(distinct))
    return struct.pack(f"<{BINS}f", *table), {value: i for i, value in enumerate(distinct)}


def trie(ngrams, surplus=0, tables=True):
    """The bytes of a trie. surplus: so many more 2-grams are announced than there are. Without tables: what a fuzz target fills in."""
    order = max(map(len, ngrams))
    words = sorted(gram[0] for gram in ngrams if len(gram) == 1)
    number = {word: i for i, word in enumerate(words)}
    levels = [sorted((tuple(number[w] for w in reversed(gram)), value) for gram, value in ngrams.items() if len(gram) == k + 1) for k in range(order)]
    counts = [len(level) for level in levels]
    if order > 1:
        counts[1] += surplus
    out = b"Trie Language Model" + bytes([order]) + struct.pack(f"<{order}I", *counts)
    scaled = [[(gram, p / LOG10_BASE, b / LOG10_BASE) for gram, (p, b) in level] for level in levels]
    places = [None]
    if order > 1:
        out += struct.pack("<i", 1)
    for k in range(1, order):
        data, probability = table_of([p for _, p, _ in scaled[k]])
        out += data if tables else b""
        backoff = None
        if k < order - 1:
            data, backoff = table_of([b for _, _, b in scaled[k]])
            out += data if tables else b""
        places.append((probability, backoff))

    def first_child(k, i):
        """The number of entries of level k + 1 whose parents come before entry i of level k."""
        limit = scaled[k][i][0] if i < len(scaled[k]) else None
        return sum(1 for gram, _, _ in scaled[k + 1] if limit is None or gram[: k + 1] < limit) if k + 1 < order else 0

    for i in range(len(words) + 1):
        p, b = scaled[0][i][1:] if i < len(words) else (0.0, 0.0)
        out += struct.pack("<ffI", p, b, first_child(0, i))
    for k in range(1, order):
        last = k == order - 1
        word_bits = counts[0].bit_length()
        pointer_bits = 0 if last else counts[k + 1].bit_length()
        bits = Bits(counts[k] + 1, word_bits + (16 if last else 32) + pointer_bits)
        for i, (gram, p, b) in enumerate(scaled[k]):
            bits.put(gram[k], word_bits)
            if not last:
                bits.put(places[k][1][b], 16)
            bits.put(places[k][0][p], 16)
            bits.put(first_child(k, i), pointer_bits)
        if not last:
            bits.put(0, word_bits + 32)
            bits.put(first_child(k, len(scaled[k])), pointer_bits)
        out += bits.bytes()
    text = b"".join(word.encode() + b"\0" for word in words)
    return out + struct.pack("<I", len(text)) + text


def dmp(ngrams, big=False):
    """The bytes of the older form."""
    end = ">" if big else "<"

    def pack(form, *values):
        return struct.pack(end + form, *values)

    def text(value):
        return pack("i", len(value) + 1) + value + b"\0"

    words = sorted(gram[0] for gram in ngrams if len(gram) == 1)
    number = {word: i for i, word in enumerate(words)}
    levels = [sorted((tuple(number[w] for w in gram), value) for gram, value in ngrams.items() if len(gram) == k + 1) for k in range(3)]
    out = text(b"Darpa Trigram LM") + text(b"name") + pack("ii", -1, 0) + text(b"a remark") + pack("i", 0)
    out += pack("iii", *map(len, levels))
    for i in range(len(words) + 1):
        p, b = levels[0][i][1] if i < len(words) else (0.0, 0.0)
        out += pack("iffi", i, p, b, sum(1 for gram, _ in levels[1] if gram[0] < i))
    tables = [sorted({value[which] for _, value in levels[k]}) for k, which in ((1, 0), (1, 1), (2, 0))]
    places = [{value: i for i, value in enumerate(table)} for table in tables]
    begins = [sum(1 for gram, _ in levels[2] if i == len(levels[1]) or gram[:2] < levels[1][i][0]) for i in range(len(levels[1]) + 1)]
    segments = begins[::512]
    for i in range(len(levels[1]) + 1) if levels[1] else ():
        gram, (p, b) = levels[1][i] if i < len(levels[1]) else ((0, 0), (tables[0][0], tables[1][0]))
        out += pack("HHHH", gram[1], places[0][p], places[1][b], begins[i] - segments[i // 512])
    for gram, (p, _) in levels[2]:
        out += pack("HH", gram[2], places[2][p])
    if levels[1]:
        out += pack("i", len(tables[0])) + pack(f"{len(tables[0])}f", *tables[0])
    if levels[2]:
        for table in tables[1:]:
            out += pack("i", len(table)) + pack(f"{len(table)}f", *table)
        out += pack("i", len(segments)) + pack(f"{len(segments)}i", *segments)
    strings = b"".join(word.encode() + b"\0" for word in words)
    return out + pack("i", len(strings)) + strings
