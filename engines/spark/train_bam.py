"""Trains a back-off acoustic model on a Spark cluster: the same store as `trellis bam train`, byte by byte.

    spark-submit --master spark://HOST:7077 engines/spark/train_bam.py MODEL CORPUS LEXICON -o STORE [options]

`trellis bam map` and `trellis bam reduce` do the work, as processes beside Spark's Python workers; Spark starts them, brings the records of a shard to
one place in the order of their bytes, and does again what a lost worker had. Paths are those of all machines: model, corpus, lexicon and the
store's folder are on a file system that every worker sees.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import namedtuple
from itertools import groupby

import xxhash
from pyspark import SparkConf, SparkContext, TaskContext

ENGINES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ENGINES)
from bam_records import check, read_bodies, read_header, write_stream

# What goes on to which command; with or without a value.
MAP_OPTIONS = {"order": 1, "no-boundaries": 0, "seed": 1, "oov": 1, "beam": 1, "no-adapt": 0, "format": 1, "channel": 1,
               "skip-bad": 0, "mlf": 1, "fold-case": 0}
ESTIMATION_OPTIONS = {"min-frames": 1, "max-frames": 1, "alpha": 1, "beta": 1, "variance-floor": 1, "iterations": 1}

Job = namedtuple("Job", "trellis inputs mappers shards mapping estimation memory work")


# ---- keys of the shuffle: shard, what it is, bytes. Each shard begins with the streams' header. ----

HEADER, RECORD = b"\0", b"\1"


def shuffle_key(shard, kind, data):
    return struct.pack(">I", shard) + kind + data, None


def shard_of_key(key):
    return struct.unpack_from(">I", key)[0]


def shard_of_record(body, shards):
    """As trl_bam_key_shard: a hash of the state and the central triphone."""
    return xxhash.xxh3_64_intdigest(body[:8]) % shards


# ---- tasks ----


def map_part(part, job):
    """Records of some of the speakers, sorted, each once."""
    mapping = [job.trellis, "bam", "map", *job.inputs, *job.mapping, "--parts", str(job.mappers), "--part", str(part + 1), "-q", "-t", "1"]
    sorting = [job.trellis, "bam", "sort", "--memory", str(job.memory)]
    good = (0, 1) if "--skip-bad" in job.mapping else (0,)
    with tempfile.TemporaryFile() as log, tempfile.TemporaryFile() as sort_log:
        with subprocess.Popen(mapping, stdout=subprocess.PIPE, stderr=log) as mapper, \
                subprocess.Popen(sorting, stdin=mapper.stdout, stdout=subprocess.PIPE, stderr=sort_log) as sorter:
            mapper.stdout.close()
            try:
                header = read_header(sorter.stdout)
                for shard in range(job.shards):
                    yield shuffle_key(shard, HEADER, header)
                for body in read_bodies(sorter.stdout):
                    yield shuffle_key(shard_of_record(body, job.shards), RECORD, body)
            except EOFError:
                pass  # the exit codes say why
            except BaseException:
                mapper.kill()
                sorter.kill()
                raise
            check(mapper, mapping, log, good)
            check(sorter, sorting, sort_log)


def reduce_shard(shard, records, job):
    """The sorted records of a shard become a file of mixtures, which is there whole or not at all."""
    part = os.path.join(job.work, f"part-{shard:05d}.bam")
    attempt = f"{part}.attempt-{TaskContext.get().taskAttemptId()}"
    command = [job.trellis, "bam", "reduce", "-o", attempt, *job.estimation, "-q", "-t", "1"]
    keys = (key for key, _ in groupby(key for key, _ in records))  # those of several mappers once
    header = next(keys)[5:]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log) as reducer:
        try:
            write_stream(reducer.stdin, header, record_bodies(keys))
            reducer.stdin.close()
        except BrokenPipeError:
            pass  # its exit code says why
        except BaseException:
            reducer.kill()
            raise
        check(reducer, command, log)
    os.replace(attempt, part)
    yield part


def record_bodies(keys):
    for key in keys:
        if key[4:5] != RECORD:
            raise ValueError("mappers disagree about model or options: is the same model, and the same trellis, on all machines?")
        yield key[5:]


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


def train(context, arguments):
    output = os.path.abspath(arguments.output)
    work = f"{output}.{context.applicationId}"
    many = 4 * context.defaultParallelism
    job = Job(arguments.trellis, [os.path.abspath(p) for p in (arguments.MODEL, arguments.CORPUS, arguments.LEXICON)],
              arguments.mappers or many, arguments.shards or many, given(arguments, MAP_OPTIONS),
              given(arguments, ESTIMATION_OPTIONS), arguments.memory, work)
    os.makedirs(work)
    try:
        parts = (
            context.parallelize(range(job.mappers), job.mappers)
            .flatMap(lambda part: map_part(part, job))
            .repartitionAndSortWithinPartitions(job.shards, shard_of_key)
            .mapPartitionsWithIndex(lambda shard, records: reduce_shard(shard, records, job))
            .collect()
        )
        store = [job.trellis, "bam", "store", *parts, "-o", output, "--partitions", str(arguments.partitions), *job.estimation]
        return subprocess.run(store).returncode
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    arguments = parse_arguments()
    context = SparkContext(conf=SparkConf().setAppName("trellis bam train").set("spark.speculation", "false"))
    context.addPyFile(os.path.join(ENGINES, "bam_records.py"))
    try:
        return train(context, arguments)
    finally:
        context.stop()


if __name__ == "__main__":
    sys.exit(main())
