#!/usr/bin/env bash
# trellis decode with several threads inside an utterance and all ways to likelihoods: the same bytes; and what --profile says.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
decode() { # decode CODE WORDS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" decode tones.trm loop.trg "$@"
}

# ---- The same, whoever searches ----
decode 0 sounds -q -o one.txt --to nbest --lattice ark,t:one.lat -t 1 --likelihood-mode block
for threads in 1 2 3; do
    for search in owner merge; do
        for mode in block demand ahead auto; do
            decode 0 sounds -q -o some.txt --to nbest --lattice ark,t:some.lat --search-threads $threads --search $search \
                --likelihood-mode $mode --ahead 0.1
            cmp -s one.txt some.txt || wrong "$threads threads, $search, $mode: other words"
            cmp -s one.lat some.lat || wrong "$threads threads, $search, $mode: another lattice"
        done
    done
done
decode 0 sounds -q -o some.txt --to nbest --lattice ark,t:some.lat --score-threads 2 --likelihood-mode ahead -t 2
cmp -s one.lat some.lat || wrong "score threads: another lattice"

# ---- A stream ----
sound=$(find sounds -name '*.wav' | LC_ALL=C sort | head -n 1)
decode 0 - -q <"$sound"
said=$out
for mode in block demand ahead auto; do
    decode 0 - -q --search-threads 2 --likelihood-mode $mode <"$sound"
    [ "$out" = "$said" ] || wrong "a stream, $mode: $out instead of $said"
done
decode 0 - --profile <"$sound"
contains "$err" "time of all threads" "profile of a stream"

# ---- Where the time goes ----
decode 0 sounds -o some.txt --profile --likelihood-mode demand -t 1
for name in expansion merging pruning composition likelihoods waiting; do
    contains "$err" "  $name" "profile"
done
contains "$err" "likelihoods (demand): " "profile"
share() { sed -n 's/.* made (\([0-9]*\)\.\([0-9]*\) %).*/\1\2/p' <<<"$err"; }
demand=$(share)
decode 0 sounds -o some.txt --profile --likelihood-mode block -t 1
block=$(share)
decode 0 sounds -o some.txt --profile --likelihood-mode ahead -t 1
[ "$(share)" = 10000 ] || wrong "ahead makes all likelihoods, not $(share) hundredths of a percent"
[ "$demand" -le "$block" ] && [ "$block" -le 10000 ] || wrong "demand makes $demand, blocks $block hundredths of a percent"

# ---- Mistakes ----
decode 2 sounds --search-threads 0
contains "$err" "0 threads to search" "no threads"
decode 2 sounds --search-threads 65
decode 2 sounds --score-threads -1
decode 2 sounds --search both
contains "$err" "owner" "an unknown search"
decode 2 sounds --likelihood-mode late
contains "$err" "demand" "an unknown mode"
decode 2 sounds --ahead 0
contains "$err" "ahead is 0 s" "no buffer"
finish
