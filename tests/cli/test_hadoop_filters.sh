#!/usr/bin/env bash
# The filters for Hadoop Streaming, with a few lines of Python in Hadoop's place, which share raw bytes out by the first eight of a key and sort them: the store of `trellis bam train`.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
filter=$TRELLIS_SOURCE_DIR/engines/hadoop/bam_filter.py
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
estimation=(--min-frames 40 --max-frames 300)
expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o local.store "${estimation[@]}" -q
map=("$TRELLIS" bam map tones.trm sounds lexicon.txt -q --parts 3)
expect 0 "${map[@]}" --part 1 -o header.bam
for part in 1 2 3; do
    echo "$((part * 17)) $part" | python3 "$filter" map "${map[@]}" >"mapped-$part" || wrong "part $part was not mapped"
done
python3 - <<'PYTHON'
import struct, zlib
records = [[], []]
for part in 1, 2, 3:
    data, at = open(f"mapped-{part}", "rb").read(), 0
    while at < len(data):
        size = struct.unpack_from(">I", data, at)[0]
        body = data[at + 4 : at + 4 + size]
        value = data[at + 8 + size : at + 8 + size + struct.unpack_from(">I", data, at + 4 + size)[0]]
        records[zlib.crc32(body[:8]) % 2].append((body, value))
        at += 8 + size + len(value)
for shard, pairs in enumerate(records):
    with open(f"shuffled-{shard}", "wb") as out:
        for body, value in sorted(pairs):
            out.write(struct.pack(">I", len(body)) + body + struct.pack(">I", len(value)) + value)
with open("shuffled-0", "rb") as file:
    changed = bytearray(file.read())
changed[4 + struct.unpack_from(">I", changed)[0] - 1] ^= 1  # the last byte of the first body
open("changed", "wb").write(changed)
PYTHON
for shard in 0 1; do
    mapreduce_task_partition=$shard python3 "$filter" reduce header.bam . "$TRELLIS" bam reduce -q "${estimation[@]}" <"shuffled-$shard" >"name-$shard" ||
        wrong "shard $shard was not reduced"
    [ "$(<"name-$shard")" = "./part-0000$shard.bam" ] || wrong "another name: $(<"name-$shard")"
done
expect 0 "$TRELLIS" bam store part-0000?.bam -o hadoop.store "${estimation[@]}" -q
diff -r local.store hadoop.store || wrong "another store"

# What is cut or fails ends the filter, and leaves no part.
head -c 1000 shuffled-0 >short
expect 1 bash -c "mapreduce_task_partition=7 python3 $filter reduce header.bam . $TRELLIS bam reduce -q <short"
expect 1 bash -c "mapreduce_task_partition=7 python3 $filter reduce header.bam . $TRELLIS bam reduce -q <changed"
contains "$err" "record 1 is damaged (its checksum is wrong)" "a record that was changed on the way"
expect 1 bash -c "echo 9 | python3 $filter map ${map[*]}"
contains "$err" "parts count from 1" "what the mapper said"
[ ! -e part-00007.bam ] || wrong "a part of a stream that was cut"
finish
