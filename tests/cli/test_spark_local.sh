#!/usr/bin/env bash
# The Spark driver in local mode: the store of `trellis bam train`, byte by byte; and what goes wrong in a task is said.
# shellcheck source=tests/cli/spark.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/spark.bash"
expect 0 train_on_spark 'local[2]' spark.store --trellis "$TRELLIS" --mappers 3 --shards 5
contains "$out" "Gaussians -> " "summary"
same_store spark.store

# Tasks by themselves: a mapper that fails, a stream that is cut, mappers of different models.
expect 0 env PYTHONPATH="$TRELLIS_SOURCE_DIR/engines/spark:$TRELLIS_SOURCE_DIR/engines" "$spark/python" - "$TRELLIS" <<'PYTHON'
import io, sys
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
job = Job(sys.argv[1], inputs, 2, 3, ["--order", "2"], [], 16, ".")
keys = [key for part in range(2) for key, _ in map_part(part, job)]
assert {shard_of_key(key) for key in keys} == {0, 1, 2}
fails_with("beam", lambda: map_part(0, job._replace(mapping=["--beam", "-3"])))
fails_with("sounds2", lambda: map_part(0, job._replace(inputs=["tones.trm", "sounds2", "lexicon.txt"])))
bodies = [key[5:] for key in keys if key[4:5] == RECORD]
stream = io.BytesIO()
write_stream(stream, keys[0][5:], bodies)
whole = stream.getvalue()
for size in (20, len(whole) // 2, len(whole) - 3):
    cut = io.BytesIO(whole[:size])
    fails_with("end", lambda: (read_header(cut), *read_bodies(cut)))
again = io.BytesIO(whole)
assert read_header(again) == keys[0][5:] and list(read_bodies(again)) == bodies
fails_with("disagree", lambda: record_bodies([keys[0]]))
PYTHON
finish
