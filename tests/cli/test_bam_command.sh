#!/usr/bin/env bash
# trellis bam as a user runs it: the filters in a pipe, the driver, its store whatever the threads and shards, a driver that is killed and started again; what is wrong is
# said.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
estimation=(--min-frames 40 --max-frames 300)

# ---- The filters ----
expect 0 "$TRELLIS" bam map tones.trm sounds lexicon.txt -o mapped.bam
contains "$err" "24 utterances" "summary of the mapper"
expect 0 "$TRELLIS" bam show mapped.bam
contains "$out" "# order 3, 13 dimensions, word boundaries on, seed 1" "header"
contains "$out" "# phones SIL" "phones"
frames=$(grep -oE '[0-9]+ frames from' <<<"$out" | awk '{ sum += $1 } END { print sum }')
# All frames are there, and the first phone of an utterance, silence, has nothing on its left.
[ "$(grep -c 'SIL_1 / ___ #.*from 0 of' <<<"$out")" = 24 ] || wrong "not 24 utterances begin with silence"
grep -q '^AA_1 / .*SIL # ___ ' <<<"$out" || wrong "no word begins behind silence: $(grep AA_1 <<<"$out" | head -n 3)"
expect 0 "$TRELLIS" bam map tones.trm sounds lexicon.txt -o plain.bam -q --no-boundaries --order 1
expect 0 "$TRELLIS" bam show plain.bam --frames -n 1
[[ $(tail -n +3 <<<"$out") != *"#"* ]] || wrong "word boundaries in $out"
[ "$(awk 'NR > 2 && /^  / { print NF }' <<<"$out" | sort -u)" = 13 ] || wrong "frames of 13 numbers: $out"

expect 0 "$TRELLIS" bam sort mapped.bam -o sorted.bam --memory 1
expect 0 "$TRELLIS" bam reduce sorted.bam -o mixtures.bam "${estimation[@]}"
contains "$err" "with at least 40 frames" "summary of the reducer"
expect 0 bash -c '"$TRELLIS" bam map tones.trm sounds lexicon.txt -q | "$TRELLIS" bam sort | "$TRELLIS" bam reduce -q --min-frames 40 --max-frames 300 >piped.bam'
cmp mixtures.bam piped.bam || wrong "a pipe gives other mixtures than files"
expect 0 "$TRELLIS" bam store mixtures.bam -o filtered "${estimation[@]}" -q

# Parts of the sorted records, cut anywhere: the first one from silence's middle, the next within one key, and a single record.
python3 - "$TRELLIS_SOURCE_DIR/engines" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
from bam_records import *
with open("sorted.bam", "rb") as file:
    header, records = read_header(file), list(read_records(file))
keys = [record.body[:16] for record in records]
same = next(i for i in range(len(keys) // 2, len(keys)) if keys[i] == keys[i - 1])
cuts = [len(keys) // 3, same, same + 1]
for number, (first, end) in enumerate(zip([0, *cuts], [*cuts, len(keys)])):
    with open(f"range{number}.bam", "wb") as file:
        write_stream(file, header, records[first:end])
    print(*(["--first", keys[first].hex()] if first else []), *(["--end", keys[end].hex()] if end < len(keys) else []),
          file=open(f"range{number}.options", "w"))
PYTHON
for number in 0 1 2 3; do
    read -ra range <"range$number.options"
    expect 0 "$TRELLIS" bam reduce "range$number.bam" "${range[@]}" -o "reduced$number.bam" "${estimation[@]}" -q
done
expect 0 "$TRELLIS" bam store reduced[0-3].bam -o ranges "${estimation[@]}" -q
diff -r filtered ranges || wrong "another store of parts that were cut anywhere"

# ---- The driver ----
expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o store "${estimation[@]}"
contains "$err" "24 utterances" "summary of the driver"
contains "$err" " shards, the largest " "shards"
contains "$err" "$frames frames" "all frames that the mapper wrote"
[ ! -e store.work ] || wrong "working files are left"
for how in "--threads 1 --shards 1" "--threads 3 --shards 50 --memory 1"; do
    # shellcheck disable=SC2086
    expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o other "${estimation[@]}" $how -q
    diff -r store other || wrong "another store with $how"
done
# At order 1 a key has many records: shards are cut within them.
for shards in 1 9; do
    expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o "first$shards" "${estimation[@]}" --order 1 --no-boundaries --memory 1 --shards $shards -q
done
diff -r first1 first9 || wrong "another store when shards are cut within M-phones"
diff -r store filtered || wrong "another store by filters"
expect 0 "$TRELLIS" bam info store --check --model tones.trm
contains "$out" "Table VI" "info"
contains "$out" "M-phones kept" "info"

# ---- Little address space ----
if [ -z "${TRELLIS_SANITIZE:-}" ]; then
    expect 0 bash -c 'ulimit -v 2000000; "$TRELLIS" bam store mixtures.bam -o limited --min-frames 40 --max-frames 300 -q'
    diff -r store limited || wrong "another store in 2 GB of address space"
    rm -r limited
    expect 0 bash -c 'ulimit -v 2000000; "$TRELLIS" bam train tones.trm sounds lexicon.txt -o limited --min-frames 40 --max-frames 300 -q'
    diff -r store limited || wrong "another store trained in 2 GB of address space"
fi

# ---- Damaged ----
cp -r store damaged
partition=$(echo damaged/part-0000-*.trl)
python3 -c 'import sys; file = open(sys.argv[1], "r+b"); file.seek(9000); byte = file.read(1)[0]; file.seek(9000); file.write(bytes([byte ^ 4]))' "$partition"
expect 0 "$TRELLIS" bam info damaged
expect 3 "$TRELLIS" bam info damaged --check
[[ $err == *"$partition: at byte 64: block 1 of "*"is damaged: its checksum is wrong"* ]] || wrong "what --check says: $err"
expect 3 "$TRELLIS" bam export damaged -o none.txt
[[ $err == *"$partition: at byte 64: block 1 of "* ]] || wrong "what export says: $err"
[ ! -e none.txt ] || wrong "an export of a damaged store"

# ---- Killed and started again, while mapping and while reducing ----
killed=("$TRELLIS" bam train tones.trm sounds lexicon.txt -o killed "${estimation[@]}" --memory 1 --shards 7 --threads 1)
wait_for() { # PATTERN PROCESS: until there is such a file, or the process has ended
    while kill -0 "$2" 2>/dev/null && ! compgen -G "$1" >/dev/null; do :; done
}
for pattern in 'killed.work/run-*0' 'killed.work/part-*'; do
    "${killed[@]}" -q >/dev/null 2>&1 &
    process=$!
    wait_for "$pattern" "$process"
    kill -9 "$process" 2>/dev/null
    wait "$process" 2>/dev/null
    [ ! -e killed/store.trl ] || break # it was too quick
done
left=$(ls killed.work 2>/dev/null)
expect 0 "${killed[@]}"
[ -z "$left" ] || contains "$err" "resumed: " "goes on with $left"
diff -r store killed || wrong "another store after kills"
expect 3 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o none/store "${estimation[@]}" -q
contains "$err" "none/store.work" "a folder that is not there"

# ---- Looking ----
expect 0 "$TRELLIS" bam show mixtures.bam
key=$(awk -F'\t' '/Gaussians of/ && /___ [A-Z]/ { print $1; exit }' <<<"$out")
expect 0 "$TRELLIS" bam get store "$key"
contains "$out" "$key	" "get"
expect 3 "$TRELLIS" bam get store "EE_1 / EE EE EE ___ EE EE EE"
contains "$err" "has no M-phone" "an M-phone that nobody said"
expect 3 "$TRELLIS" bam get store "QQ_1 / ___"
contains "$err" "no phone 'QQ'" "a phone that is none"
expect 0 "$TRELLIS" bam export store -o store.txt
[ "$(grep -c 'Gaussians of' store.txt)" = "$("$TRELLIS" bam show mixtures.bam | grep -c 'Gaussians of')" ] || wrong "export lacks M-phones"
expect 0 "$TRELLIS" bam export store --bits 8 -o store8.txt
contains "$err" "standard deviations" "how exact 8 bits are"
awk '/^  / { for (i = 2; i <= NF; i++) if ($i < 0 || $i > 255 || $i != int($i)) exit 1 }' store8.txt || wrong "8 bits: steps beyond 0 … 255"

# ---- What is wrong ----
expect 2 "$TRELLIS" bam train tones.trm sounds lexicon.txt
expect 2 "$TRELLIS" bam map tones.trm sounds lexicon.txt -o x --order 16
contains "$err" "order is 16" "order"
expect 2 "$TRELLIS" bam reduce sorted.bam -o x --min-frames 10 --max-frames 5
expect 3 "$TRELLIS" bam reduce mapped.bam -o x
contains "$err" "not sorted" "records that are not sorted"
expect 3 "$TRELLIS" bam reduce range0.bam -o x
contains "$err" "records end before it" "a part that is not said to be one"
expect 2 "$TRELLIS" bam reduce range0.bam -o x --end 12x4
contains "$err" "--end 12x4: a key is given in hexadecimal" "a key"
expect 2 "$TRELLIS" bam reduce range0.bam -o x --end 0012 --first 001234
contains "$err" "different sizes" "keys of different sizes"
expect 3 "$TRELLIS" bam reduce range0.bam -o x --end 0012
contains "$err" "keys of its order have 16 bytes, those of the range 2" "a key of another order"
expect 3 "$TRELLIS" bam reduce range0.bam -o x --first "$(printf '%032d' 2)" --end "$(printf '%032d' 1)"
contains "$err" "the range ends before it begins" "a range the wrong way round"
head -c 20000 sorted.bam >cut.bam
expect 3 "$TRELLIS" bam reduce cut.bam -o x
contains "$err" "cut.bam: at byte" "a truncated record"
expect 3 "$TRELLIS" bam reduce mixtures.bam -o x
contains "$err" "reduced already" "mixtures again"
expect 3 "$TRELLIS" bam sort lexicon.txt -o x
contains "$err" "no stream of M-phones" "another file"
[ ! -e x ] || wrong "a failed command left its output"
expect 0 "$TRELLIS" train sounds lexicon.txt -o another.trm -n 2 -q --set deltas=0
expect 3 "$TRELLIS" bam info store --model another.trm
contains "$err" "another first-pass model" "a store of another model"
expect 3 "$TRELLIS" bam info nowhere
finish
