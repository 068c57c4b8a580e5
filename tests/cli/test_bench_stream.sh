#!/usr/bin/env bash
# trellis-bench stream at its smallest: the words of a stream are those of one go, and its memory does not grow.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
[ -x "$bench" ] || skip "trellis-bench is not built"
command -v python3 >/dev/null || skip "python3 is not installed"
[ -d "$TRELLIS_SHARED/data/an4" ] || skip "there is no AN4 in $TRELLIS_SHARED/data"
expect 0 "$bench" stream --tiny --json "$folder/result.json"
expect 0 python3 - "$folder/result.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
assert result["stream_same"] == 1 and result["stream_words"] > 100 and result["stream_seconds"] >= 120
assert result["stream_forced"] == 0 and result["stream_open_s"] < 20
assert result["stream_peak_mb"] < result["stream_peak_mb_tenth"] + 4 < result["one_go_peak_mb"] + 4
PYTHON
finish
