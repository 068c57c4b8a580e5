#!/usr/bin/env bash
# trellis-bench decode at its smallest, models trained on what they are tested with: the JSON has the keys that others read, and most words come out right.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"
[ -z "${TRELLIS_SANITIZE:-}" ] || skip "under a sanitizer this takes minutes"

expect 0 "$bench" decode --tiny --json "$folder/result.json" --plot "$folder/confidence.svg"
expect 0 "$python" - "$folder/result.json" "$TRELLIS_SHARED" <<'PYTHON'
import json, os, sys
result = json.load(open(sys.argv[1]))
assert result["benchmark"] == "decode" and result["quick"] is True
rungs = "mono", "tri", "lda", "sat"
an4 = [f"an4_wer_{name}" for name in (*rungs, "trigram", "trigram_sat")]
fsdd = ["fsdd_wer_mono", "fsdd_wer"]
for keys, data in (an4, "an4"), (fsdd, "fsdd"):
    there = os.path.isdir(os.path.join(sys.argv[2], "data", data))
    for key in keys:
        assert key in result and (result[key] is not None) == there, key
        assert not there or 0 <= result[key] < 40, (key, result[key])
for rung in rungs:
    assert result[f"an4_wer_cv_{rung}"] is None and result[f"an4_cross_wer_{rung}"] is None, rung
if result["confidence_ece"] is not None:
    assert 0 < result["confidence_ece"] < 0.3 and 700 < sum(b["words"] for b in result["confidence_bins"]) < 850, result["confidence_bins"]
PYTHON
if command -v gnuplot >/dev/null && [ -d "$TRELLIS_SHARED/data/an4" ]; then
    [ -s "$folder/confidence.svg" ] || wrong "no picture was drawn"
fi
finish
