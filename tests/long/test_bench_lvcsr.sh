#!/usr/bin/env bash
# trellis-bench lvcsr at its smallest, pocketsphinx's own recordings alone: the JSON has the keys that others read, and both programs understood the same.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
[ -z "$TRELLIS_SANITIZE" ] || skip "a large model, and Python"
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -e /usr/share/pocketsphinx/model/en-us/en-us.lm.bin ] || skip "pocketsphinx-en-us is not installed"
[ -e /usr/share/pocketsphinx/test/data/goforward.raw ] || skip "pocketsphinx-testdata is not installed"
"$TRELLIS_SOURCE_DIR/build/venv/bin/python" -c "import pocketsphinx" 2>/dev/null || skip "pocketsphinx is not in build/venv"
command -v sox >/dev/null || skip "sox is not installed"
export XDG_CACHE_HOME=$folder/cache

expect 0 "$bench" lvcsr --tiny --corpus english --json "$folder/result.json"
python3 - "$folder/result.json" <<'END' || wrong "the result"
import json
import sys

result = json.load(open(sys.argv[1]))
assert result["benchmark"] == "lvcsr" and result["quick"] is True
for key in ("speed_vs_pocketsphinx_at_equal_wer", "wer_gap_to_pocketsphinx", "peak_mb", "peak_mb_pocketsphinx"):
    assert key in result, key
assert result["wer_testdata"] == result["wer_pocketsphinx_testdata"] == 0, "go forward ten meters"
assert 0 < result["rtf_testdata"] < 60 and 0 < result["rtf_pocketsphinx_testdata"] < 60
assert 20 < result["peak_mb"] < 2 * result["peak_mb_pocketsphinx"]
systems = {(curve["task"], curve["system"]): curve["points"] for curve in result["curves"]}
assert len(systems[("testdata", "trellis")]) == len(systems[("testdata", "pocketsphinx")]) == 1
END
finish
