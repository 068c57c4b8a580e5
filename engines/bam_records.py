"""Streams of records between the filters `trellis bam map`, `sort` and `reduce` (docs/formats.md, Records of M-phones), for the engines that bring them from one to the other.

Header and records carry checksums, which go along with them as they are: `trellis bam reduce` compares those that the mapper made, so nothing is changed unnoticed on the whole way. A
record is a Record here: its body, and the eight bytes of its checksum."""

import struct
import sys
from collections import namedtuple
from itertools import groupby

Record = namedtuple("Record", "body checksum")


def read_exactly(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the mapper's records end in the middle: it was stopped")
    return data


def read_header(stream):
    head = read_exactly(stream, 40)
    if head[:8] != b"trl-bam\2":
        raise ValueError("this is no stream of M-phones: is `trellis` of another version?")
    return head + read_exactly(stream, struct.unpack_from("<I", head, 36)[0] + 8)


def read_records(stream):
    count = 0
    while size := struct.unpack("<I", read_exactly(stream, 4))[0]:
        count += 1
        checksum = read_exactly(stream, 8)
        yield Record(read_exactly(stream, size), checksum)
    if struct.unpack("<Q", read_exactly(stream, 8))[0] != count:
        raise EOFError("records of the mapper are lost")


def once(records):
    """Of sorted records that are there several times, one."""
    return (record for record, _ in groupby(records))


def write_stream(stream, header, records):
    """Returns the bytes of the bodies."""
    stream.write(header)
    count = size = 0
    for count, (body, checksum) in enumerate(records, 1):
        stream.write(struct.pack("<I", len(body)) + checksum)
        stream.write(body)
        size += len(body)
    stream.write(struct.pack("<IQ", 0, count))
    return size


def check(process, command, log, good=(0,)):
    code = process.wait()
    log.seek(0)
    text = log.read().decode(errors="replace")
    if code not in good:
        raise RuntimeError(f"{' '.join(command)}: exit code {code}: {text}")
    sys.stderr.write(text)
