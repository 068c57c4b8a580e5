#!/usr/bin/env bash
# trellis-bench ladder at its smallest: the JSON has the keys that others read, statistics and trees are those that were asked for, and generated
# speech, whose phones differ by context and whose speakers differ, gains by every stage.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"

expect 0 "$bench" ladder --tiny --json "$folder/result.json" --plot "$folder/ladder.svg"
contains "$out" "statistics of contexts" "the table of memory"
expect 0 "$python" - "$folder/result.json" "$TRELLIS_SHARED" <<'PYTHON'
import json, os, sys
result = json.load(open(sys.argv[1]))
for key in ("an4_ladder_wall_s", "tree_100k_contexts_s", "tree_peak_mb", "gathering_memory_growth", "large_wall_s", "large_peak_mb", "stages"):
    assert key in result, key
assert result["benchmark"] == "ladder" and result["quick"] is True
once, more = result["gathering"]
assert more["frames"] == 4 * once["frames"] and more["contexts"] == once["contexts"], result["gathering"]
assert result["tree_contexts"] == 4000 and 200 < result["tree_leaves"] <= 400 and result["tree_gain"] > 0

def check(stages):
    assert list(stages) == ["mono", "tri", "lda", "sat"], stages
    for stage in stages.values():
        assert stage["gaussians"] >= stage["leaves"] > 0 and stage["seconds"] >= stage["seconds_in_iterations"] > 0, stage
    assert stages["tri"]["leaves"] > stages["mono"]["leaves"]

large = result["large_stages"]
check(large)
assert large["mono"]["loglik_per_frame"] < large["tri"]["loglik_per_frame"], large
assert large["lda"]["loglik_per_frame"] < large["sat"]["loglik_per_frame"], large # the same space
assert result["large_peak_with_mapped_mb"] > result["large_peak_mb"] > 0
if os.path.isdir(os.path.join(sys.argv[2], "data/an4")):
    check(result["stages"])
    for stage in result["stages"].values():
        assert stage["held_out_above_gaussian"] > 0, stage
    assert result["stages"]["mono"]["held_out_gaussian_loglik_per_frame"] == result["stages"]["tri"]["held_out_gaussian_loglik_per_frame"]
else:
    assert result["stages"] is None and result["an4_ladder_wall_s"] is None
PYTHON
if command -v gnuplot >/dev/null && [ -d "$TRELLIS_SHARED/data/an4" ]; then
    [ -s "$folder/ladder.svg" ] || wrong "no picture was drawn"
fi
finish
