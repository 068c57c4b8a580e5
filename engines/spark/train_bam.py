"""Trains a back-off acoustic model on a Spark cluster: the same store as `trellis bam train`, byte by byte.

    spark-submit --master spark://HOST:7077 engines/spark/train_bam.py MODEL CORPUS LEXICON -o STORE [options]

`trellis bam map` and `trellis bam reduce` do the work, as processes beside Spark's Python workers; Spark starts them, keeps what the mappers wrote on the workers' disks, brings the records
of a range of keys to one place in the order of their bytes, and does again what a lost worker had. Paths are those of all machines: model, corpus, lexicon and the
store's folder are on a file system that every worker sees.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import namedtuple
from itertools import zip_longest

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext, StorageLevel, TaskContext

ENGINES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ENGINES)
from bam_records import Record, check, once, read_header, read_records, write_stream

# What goes on to which command; with or without a value.
MAP_OPTIONS = {"order": 1, "no-boundaries": 0, "seed": 1, "oov": 1, "beam": 1, "no-adapt": 0, "format": 1, "channel": 1,
               "skip-bad": 0, "mlf": 1, "fold-case": 0}
ESTIMATION_OPTIONS = {"min-frames": 1, "max-frames": 1, "alpha": 1, "beta": 1, "variance-floor": 1, "iterations": 1}

Job = namedtuple("Job", "trellis inputs mappers mapping estimation memory work")


# ---- ranges: the sorted records of all mappers are cut where they have added up to a share of the whole, as `trellis bam train` does, so silence is no larger than the rest ----

MARKS = 4096  # of a mapper's records at most, evenly spaced: ranges are even to about 1 / MARKS of what a mapper writes


def key_size(header):
    return 4 + 4 * struct.unpack_from("<I", header, 8)[0]


def mark_of(body, header):
    """How a record begins: key, kind, utterance and first frame, which tell records of one key apart."""
    return body[:key_size(header) + 16]


def mark_records(records):
    """The mapper's header, and (mark, bytes up to the next one) of its sorted records."""
    records = iter(records)
    header = next(records, None)
    marks, step = [], 1 << 12
    for body, _ in records:
        if not marks or marks[-1][1] + len(body) > step:
            marks.append([mark_of(body, header), 0])
        marks[-1][1] += len(body)
        if len(marks) > MARKS:
            step *= 2
            marks = [[first[0], first[1] + second[1]] for first, second in zip_longest(marks[::2], marks[1::2], fillvalue=(b"", 0))]
    yield header, marks


def cut(marks, shards):
    """Where each range but the first begins. As trl__key_ranges."""
    marks = sorted(marks)
    total = sum(size for _, size in marks)
    cuts, so_far = [], 0
    for (before, size), (mark, _) in zip(marks, marks[1:]):
        so_far += size
        if mark != before and len(cuts) + 1 < shards and so_far * shards >= total * (len(cuts) + 1):
            cuts.append(mark)
    return cuts


def shuffle_pair(record, cuts):
    """Key: range and body; value: checksum."""
    return struct.pack(">I", bisect_right(cuts, record.body)) + record.body, record.checksum


def range_of_key(key):
    return struct.unpack_from(">I", key)[0]


# ---- tasks ----


def map_part(part, job):
    """The header, then the records of some of the speakers, sorted, each once."""
    mapping = [job.trellis, "bam", "map", *job.inputs, *job.mapping, "--parts", str(job.mappers), "--part", str(part + 1), "-q", "-t", "1"]
    sorting = [job.trellis, "bam", "sort", "--memory", str(job.memory)]
    with tempfile.TemporaryFile() as log, tempfile.TemporaryFile() as sort_log:
        with subprocess.Popen(mapping, stdout=subprocess.PIPE, stderr=log) as mapper, \
                subprocess.Popen(sorting, stdin=mapper.stdout, stdout=subprocess.PIPE, stderr=sort_log) as sorter:
            mapper.stdout.close()
            try:
                yield read_header(sorter.stdout)
                yield from read_records(sorter.stdout)
            except EOFError:
                pass  # the exit codes say why
            except BaseException:
                mapper.kill()
                sorter.kill()
                raise
            check(mapper, mapping, log, (0, 1))  # 1: some utterances were left out, as the options say
            check(sorter, sorting, sort_log)


def range_options(number, cuts, header):
    """Where the range begins and ends, for `trellis bam reduce`."""
    size = key_size(header)
    first = ["--first", cuts[number - 1][:size].hex()] if number > 0 else []
    end = ["--end", cuts[number][:size].hex()] if number < len(cuts) else []
    return first + end


def reduce_range(number, pairs, header, cuts, job):
    """The sorted records of a range become a file of mixtures, which is there whole or not at all."""
    part = os.path.join(job.work, f"part-{number:05d}.bam")
    attempt = f"{part}.attempt-{TaskContext.get().taskAttemptId()}"
    command = [job.trellis, "bam", "reduce", "-o", attempt, *range_options(number, cuts, header), *job.estimation, "-q", "-t", "1"]
    records = once(Record(key[4:], checksum) for key, checksum in pairs)  # those of several mappers are there several times
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log) as reducer:
        try:
            size = write_stream(reducer.stdin, header, records)
            reducer.stdin.close()
        except BrokenPipeError:
            size = 0  # its exit code says why
        except BaseException:
            reducer.kill()
            raise
        check(reducer, command, log)
    os.replace(attempt, part)
    yield part, size


def common_header(headers):
    first, *others = headers
    if any(header != first for header in others):
        raise ValueError("mappers disagree about model or options: is the same model, and the same trellis, on all machines?")
    return first


# ---- the driver ----


def parse_arguments():
    parser = argparse.ArgumentParser(description="Trains a back-off acoustic model on Spark; the same store as `trellis bam train`.")
    for name in ("MODEL", "CORPUS", "LEXICON"):
        parser.add_argument(name)
    parser.add_argument("-o", "--output", metavar="STORE", required=True, help="the folder to write")
    parser.add_argument("--mappers", type=int, default=0, help="parts of the corpus (default: four for each core)")
    parser.add_argument("--shards", type=int, default=0, help="parts of the records (default: four for each core)")
    parser.add_argument("--partitions", type=int, default=1, help="files of the store (default 1)")
    parser.add_argument("--memory", type=int, default=256, help="MB of records that a mapper sorts at a time (default 256)")
    parser.add_argument("--trellis", default="trellis", help="the command, as the workers find it (default: trellis)")
    for title, options in (("options of `trellis bam map`", MAP_OPTIONS), ("options of `trellis bam reduce`", ESTIMATION_OPTIONS)):
        group = parser.add_argument_group(title)
        for name, values in options.items():
            group.add_argument(f"--{name}", **({"metavar": "VALUE"} if values else {"action": "store_true"}))
    return parser.parse_args()


def given(arguments, options):
    found = []
    for name, values in options.items():
        value = getattr(arguments, name.replace("-", "_"))
        if value not in (None, False):
            found += [f"--{name}", value] if values else [f"--{name}"]
    return found


def say_balance(sizes):
    print(f"{len(sizes)} shards of {sum(sizes) / 1e6:.1f} MB: the largest {max(sizes) / max(1, min(sizes)):.3f} times the smallest", file=sys.stderr)


def rehearse(job, output, partitions):
    """All steps without an utterance: what is wrong with files or options is said before Spark begins."""
    if os.path.exists(output) and not os.path.isdir(output) or os.path.isdir(output) and os.listdir(output) and not os.path.exists(f"{output}/store.trl"):
        sys.exit(f"train_bam.py: {output}: this is there, and is no store")
    with tempfile.TemporaryDirectory() as folder:
        mapped, ordered, reduced, store = (os.path.join(folder, name) for name in ("mapped", "sorted", "reduced", "store"))
        none = ["--parts", str(2**31 - 1), "--part", "1", "-q"]  # of so many parts, this one is empty
        for command in (["map", *job.inputs, *job.mapping, *none, "-o", mapped], ["sort", mapped, "--memory", str(job.memory), "-o", ordered],
                        ["reduce", ordered, *job.estimation, "-o", reduced, "-q"],
                        ["store", reduced, *job.estimation, "--partitions", str(partitions), "-o", store, "-q"]):
            try:
                run = subprocess.run([job.trellis, "bam", *command], stderr=subprocess.PIPE, text=True)
            except OSError as error:
                sys.exit(f"train_bam.py: {job.trellis}: {error.strerror}")
            if run.returncode not in (0, 1):
                sys.exit(run.stderr.strip())


def cause_of(error):
    """What the task said that failed, without the stack of Java and Python around it."""
    text = re.split(r"\n\s*(?:at |SQLSTATE)", str(error.java_exception))[0]
    causes = re.findall(r"^[\w.]*(?:Error|Exception): (.*?)\n*(?=^[\w.]*(?:Error|Exception): |\Z)", text, re.MULTILINE | re.DOTALL)
    return (causes[-1] if causes else text).strip()


def train(context, job, arguments, output):
    work = f"{output}.{context.applicationId}"
    many = 4 * context.defaultParallelism
    job = job._replace(mappers=arguments.mappers or many, work=work)
    os.makedirs(work)
    try:
        mapped = context.parallelize(range(job.mappers), job.mappers).flatMap(lambda part: map_part(part, job))
        mapped.persist(StorageLevel.DISK_ONLY)
        marked = mapped.mapPartitions(mark_records).collect()
        header = common_header([header for header, _ in marked])
        cuts = cut([mark for _, marks in marked for mark in marks], arguments.shards or many)
        parts = (
            mapped.filter(lambda record: record != header)
            .map(lambda record: shuffle_pair(record, cuts))
            .repartitionAndSortWithinPartitions(len(cuts) + 1, range_of_key)
            .mapPartitionsWithIndex(lambda number, records: reduce_range(number, records, header, cuts, job))
            .collect()
        )
        say_balance([size for _, size in parts])
        store = [job.trellis, "bam", "store", *(part for part, _ in parts), "-o", output, "--partitions", str(arguments.partitions), *job.estimation]
        return subprocess.run(store).returncode
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    arguments = parse_arguments()
    output = os.path.abspath(arguments.output)
    job = Job(arguments.trellis, [os.path.abspath(p) for p in (arguments.MODEL, arguments.CORPUS, arguments.LEXICON)], 0,
              given(arguments, MAP_OPTIONS), given(arguments, ESTIMATION_OPTIONS), arguments.memory, None)
    rehearse(job, output, arguments.partitions)
    context = SparkContext(conf=SparkConf().setAppName("trellis bam train").set("spark.speculation", "false"))
    context.addPyFile(os.path.join(ENGINES, "bam_records.py"))
    try:
        return train(context, job, arguments, output)
    except Py4JJavaError as error:
        return f"train_bam.py: {cause_of(error)}"
    finally:
        context.stop()


if __name__ == "__main__":
    sys.exit(main())
