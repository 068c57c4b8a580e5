#!/usr/bin/env bash
# trellis-bench on a corpus of a few seconds: the JSON has the keys that others read, and the peer computed the same features.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"
command -v sox >/dev/null || skip "sox is not installed"

for i in 1 2 3 4; do
    sox -n -R -r 16000 -b 16 "$folder/$i.wav" synth "$i" pinknoise vol 0.3
done
printf 'path\n' >"$folder/corpus.tsv"
for i in 1 2 3 4; do echo "$i.wav"; done >>"$folder/corpus.tsv"

expect 0 "$bench" features --quick --corpus "$folder/corpus.tsv" --json "$folder/result.json"
contains "$out" "vs_kaldi_native_fbank" "the table"
expect 0 "$python" - "$folder/result.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
for key in ("vs_kaldi_native_fbank", "realtime_per_core", "scaling_2_threads"):
    assert result[key] > 0, key
assert result["benchmark"] == "features" and result["quick"] is True
assert abs(result["seconds_of_sound"] - 10) < 1e-3, result["seconds_of_sound"]
assert result["difference_from_peer"] < 1e-4, result["difference_from_peer"]
shares = [value for key, value in result.items() if key.startswith("share_")]
assert len(shares) == 8 and abs(sum(shares) - 100) < 0.01, shares
PYTHON

expect 2 "$bench"
contains "$err" "usage: trellis-bench" "no name"
expect 2 "$bench" features --json --quick
expect 2 "$bench" no-such-benchmark
expect 3 "$bench" features --quick --corpus "$folder/missing.tsv"
contains "$err" "missing.tsv" "a corpus that is not there"
finish
