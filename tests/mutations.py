"""Changes of a file's bytes that readers have to live with: bits, numbers, pieces and, in texts, words and lines."""

NUMBERS = [0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 1 << 24, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
NUMBERS += [1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
WORDS = ["", "-1", "0", "1e999", "-1e-999", "nan", "inf", "2147483648", "99999999999999999999", "1e6", "#0", "<eps>", "\u00e9", "\ufeff"]
WORDS += ['"', "\\", "{", "}", "<", ">", "[", "]", "(", ")", "|", ";", "x" * 5000, "9" * 400, "../..", "/dev/null"]


def flip(source, data):
    at = source.randrange(len(data))
    data[at] ^= 1 << source.randrange(8)


def set_byte(source, data):
    data[source.randrange(len(data))] = source.choice([0, 1, 9, 10, 32, 34, 0x7F, 0x80, 0xFF, source.randrange(256)])


def set_number(source, data):
    size = source.choice([2, 4, 4, 8])
    at = source.randrange(len(data))
    if source.random() < 0.7:
        at -= at % size
    number = source.choice([*NUMBERS, len(data), len(data) - at, source.getrandbits(64)])
    if source.random() < 0.3:  # near the one that is there
        number = int.from_bytes(data[at : at + size], "little") + source.choice([-1, 1, -2, 2, 256])
    data[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, source.choice(["little", "little", "big"]))[: len(data) - at]


def piece(source, data):
    first = source.randrange(len(data))
    return first, min(len(data), first + source.choice([1, 2, 4, 8, 48, 64, 200, 4000]))


def cut_out(source, data):
    first, end = piece(source, data)
    del data[first:end]


def repeat(source, data):
    first, end = piece(source, data)
    data[first:first] = data[first:end]


def move(source, data):
    first, end = piece(source, data)
    at = source.randrange(len(data))
    data[at : at + end - first] = data[first:end]


def cut_off(source, data):
    del data[source.randrange(len(data)) :]


def change_word(source, data):
    words = bytes(data).split(b" ")
    at = source.randrange(len(words))
    words[at] = source.choice([source.choice(words), source.choice(WORDS).encode()])
    data[:] = b" ".join(words)


def change_line(source, data):
    lines = bytes(data).split(b"\n")
    at, other = source.randrange(len(lines)), source.randrange(len(lines))
    what = source.randrange(5)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines[at:at] = [lines[other]] * source.choice([1, 1, 50])
    elif what == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif what == 3:
        lines[at] = lines[at] + source.choice(WORDS).encode()
    else:
        fields = lines[at].replace(b"\t", b" \t").split()
        if fields:
            fields[source.randrange(len(fields))] = source.choice(WORDS).encode()
        lines[at] = source.choice([b" ", b"\t"]).join(fields)
    data[:] = b"\n".join(lines)


BINARY = [flip, set_byte, set_number, set_number, set_number, cut_out, repeat, move, cut_off]
TEXT = [flip, set_byte, cut_out, repeat, move, cut_off, change_word, change_word, change_line, change_line, change_line]


def is_text(data):
    return b"\0" not in data and sum(byte >= 0x80 or (byte < 32 and byte not in b"\t\r\n") for byte in data) * 20 <= len(data)


def mutate(source, original):
    """Another file, almost the same; `source` is a random.Random."""
    data = bytearray(original)
    kinds = TEXT if is_text(original) else BINARY
    for _ in range(source.choice([1, 1, 1, 2, 3, 5])):
        if data:
            source.choice(kinds)(source, data)
    return bytes(data)
