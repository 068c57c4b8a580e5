"""The filters of the back-off acoustic model for Hadoop Streaming; docs/bam-engines.md has the whole command.

    bam_filter.py map COMMAND …                    # standard input: lines that end in the number of a part; COMMAND gets --part NUMBER
    bam_filter.py reduce HEADER FOLDER COMMAND …   # HEADER: a file of records of which the header counts; COMMAND gets -o FOLDER/part-N.bam

Records travel as Hadoop's raw bytes: u32 size and key, u32 size and value, the high byte first. The key is the whole body of a record, so that Hadoop sorts as `trellis bam sort` does; the
value is its checksum. The partitioner must look at bytes 0 to 7 of keys, state and central triphone.
"""

import os
import struct
import subprocess
import sys
import tempfile

sys.path += [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
from bam_records import Record, check, once, read_exactly, read_header, read_records, write_stream


def map_parts(command):
    for line in sys.stdin:
        part = [*command, "--part", line.split()[-1]]
        with tempfile.TemporaryFile() as log, subprocess.Popen(part, stdout=subprocess.PIPE, stderr=log) as mapper:
            try:
                read_header(mapper.stdout)
                for body, checksum in read_records(mapper.stdout):
                    sys.stdout.buffer.write(struct.pack(">I", len(body)) + body + struct.pack(">I", len(checksum)) + checksum)
            except EOFError:
                pass  # its exit code says why
            check(mapper, part, log)


def raw_records(stream):
    while size := stream.read(4):
        body = read_exactly(stream, struct.unpack(">I", size)[0])
        yield Record(body, read_exactly(stream, struct.unpack(">I", read_exactly(stream, 4))[0]))


def reduce_partition(header_file, folder, command):
    """Writes the part under a name of this attempt, then renames it: it is there whole or not at all."""
    attempt = os.environ.get("mapreduce_task_attempt_id", f"process-{os.getpid()}")
    number = int(os.environ.get("mapreduce_task_partition", 0))
    part = os.path.join(folder, f"part-{number:05d}.bam")
    command = [*command, "-o", f"{part}.{attempt}"]
    with open(header_file, "rb") as file:
        header = read_header(file)
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log) as reducer:
        try:
            write_stream(reducer.stdin, header, once(raw_records(sys.stdin.buffer)))
            reducer.stdin.close()
        except BrokenPipeError:
            pass  # its exit code says why
        check(reducer, command, log)
    os.replace(f"{part}.{attempt}", part)
    print(part)


if __name__ == "__main__":
    if sys.argv[1] == "map":
        map_parts(sys.argv[2:])
    else:
        reduce_partition(sys.argv[2], sys.argv[3], sys.argv[4:])
