#!/usr/bin/env bash
# The Spark driver in local mode: the store of `trellis bam train`, byte by byte; and what goes wrong in a task is said.
# shellcheck source=tests/cli/spark.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/spark.bash"
expect 0 train_on_spark 'local[2]' spark.store --trellis "$TRELLIS" --mappers 3 --shards 5
contains "$out" "Gaussians -> " "summary"
same_store spark.store
# Silence, more than half of all records, is shared out too: the paper's largest shard was 35 times its smallest.
balance=$(sed -n 's/^5 shards of .* MB: the largest \([0-9.]*\) times the smallest$/\1/p' <<<"$out")
awk -v b="${balance:-99}" 'BEGIN { exit !(b >= 1 && b < 1.2) }' || wrong "shards of different sizes: '$balance' in $out"

# What is wrong is said before Spark begins, or in a line at the end. (spark-submit puts the errors of a driver in Python to its output.)
expect 1 train_on_spark 'local[2]' none --trellis "$TRELLIS" --alpha 3
[ "$(tail -n 2 <<<"$out")" = "trellis bam reduce: alpha is 3 and beta 2.2; alpha may be 0 to 1, beta must be more than 0
try: trellis bam reduce --help" ] || wrong "an option of the reducer: $out"
[[ $out != *SparkContext* ]] || wrong "Spark had begun"
expect 1 train_on_spark 'local[2]' none --trellis "$TRELLIS" --partitions 1001
contains "$out" "--partitions is 1 to 1000, not 1001" "partitions"
expect 1 train_on_spark 'local[2]' none --trellis nowhere
contains "$out" "train_bam.py: nowhere: No such file" "the command"
expect 1 train_on_spark 'local[2]' sounds --trellis "$TRELLIS"
contains "$out" "sounds: this is there, and is no store" "a folder of something else"
cp sounds/anna/anna02.wav kept.wav
echo "no sound" >sounds/anna/anna02.wav
expect 1 train_on_spark 'local[2]' none --trellis "$TRELLIS" --mappers 2
contains "$(tail -n 1 <<<"$out")" "anna02.wav: not a sound file: it is text (--skip-bad goes on without it)" "what a task said"
contains "$(tail -n 1 <<<"$out")" "train_bam.py: $TRELLIS bam map " "which command"
mv kept.wav sounds/anna/anna02.wav

# Tasks by themselves: a mapper that fails, a stream that is cut, mappers of different models.
expect 0 env PYTHONPATH="$TRELLIS_SOURCE_DIR/engines/spark:$TRELLIS_SOURCE_DIR/engines" "$spark/python" - "$TRELLIS" <<'PYTHON'
import io, sys
import train_bam
from bam_records import *
from train_bam import *

def fails_with(text, work):
    try:
        list(work())
    except Exception as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"nothing failed with {text!r}")

inputs = ["tones.trm", "sounds", "lexicon.txt"]
job = Job(sys.argv[1], inputs, 2, ["--order", "2"], [], 16, ".")
parts = [list(map_part(part, job)) for part in range(2)]
header = common_header([part[0] for part in parts])
fails_with("beam", lambda: map_part(0, job._replace(mapping=["--beam", "-3"])))
fails_with("sounds2", lambda: map_part(0, job._replace(inputs=["tones.trm", "sounds2", "lexicon.txt"])))
records = parts[0][1:]
bodies = [record.body for part in parts for record in part[1:]]
stream = io.BytesIO()
write_stream(stream, header, records)
whole = stream.getvalue()
for size in (20, len(whole) // 2, len(whole) - 3):
    shorter = io.BytesIO(whole[:size])
    fails_with("end", lambda: (read_header(shorter), *read_records(shorter)))
again = io.BytesIO(whole)
assert read_header(again) == header and list(read_records(again)) == records
fails_with("disagree", lambda: common_header([header, header[:-1]]))

# Ranges: marks are of records, as far apart as they say; records lie between the cuts that are around them, in few large mappers and many small ones alike.
train_bam.MARKS = 20
for shards in (1, 2, 7, 50):
    marked = [next(mark_records(part)) for part in parts]
    for part, (_, marks) in zip(parts, marked):
        assert len(marks) <= 20 and sum(size for _, size in marks) == sum(len(record.body) for record in part[1:])
        assert {mark for mark, _ in marks} <= {mark_of(record.body, header) for record in part[1:]}
    cuts = cut([mark for _, marks in marked for mark in marks], shards)
    assert cuts == sorted(set(cuts)) and len(cuts) < shards
    sizes = [0] * (len(cuts) + 1)
    for body in bodies:
        number = range_of_key(shuffle_pair(Record(body, b""), cuts)[0])
        assert (number == 0 or cuts[number - 1] <= body) and (number == len(cuts) or body < cuts[number])
        sizes[number] += len(body)
    assert min(sizes) > 0 and max(sizes) <= sum(sizes) / shards + 4 * sum(sizes) / 20, sizes
PYTHON
finish
