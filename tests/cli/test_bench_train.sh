#!/usr/bin/env bash
# trellis-bench train at its smallest: the JSON has the keys that others read, pruned and full searches agree on real speech, and hmmlearn
# computes what we compute.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"

expect 0 "$bench" train --tiny --json "$folder/result.json" --plot "$folder/figure10.svg"
contains "$out" "[000] GTX 580, pruning" "the table of hours"
expect 0 "$python" - "$folder/result.json" "$TRELLIS_SHARED" <<'PYTHON'
import json, os, sys
result = json.load(open(sys.argv[1]))
for key in ("step1_fma_share", "step1_fma_share_auto", "speedup_auto_vs_scalar_margin64", "speedup_equal_margin", "scaling_2_threads",
            "pruning_gain_over_10s", "other_steps_share", "other_steps_share_auto", "hours_per_hour", "an4_pass_cpu_s_1000",
            "an4_pass_cpu_s_9000", "an4_mono_wall_s", "vs_hmmlearn", "align_rtf"):
    assert key in result, key
for key in ("step1_fma_share", "other_steps_share", "other_steps_share_auto"):
    assert 0 < result[key] < 1, (key, result[key])
assert result["benchmark"] == "train" and result["quick"] is True
assert result["workload_tied_states"] == 200, result["workload_tied_states"]
assert [line["components"] for line in result["table4"]] == [1, 2, 4, 8, 16, 32]
assert len(result["figure7"]) == 3 and len(result["memory"]) == 3
# The figures come from runs; all of them are kept, and none of them lost an utterance.
runs = {run["what"] for run in result["runs"]}
assert {"margin", "auto", "full", "scalar", "first alignment", "table 4", "figure 7"} <= runs, runs
assert all(run["failed"] == 0 for run in result["runs"]), result["runs"]
# A pruned search scores less than a full one, a narrow one less than a wide one.
scored = {(run["what"], run["threads"]): run["gaussians_scored"] / run["hours"] for run in result["runs"] if run["hours"] > 0}
assert scored["auto", 1] == scored["auto", 2] and scored["margin", 1] == scored["margin", 2]
assert all(line["64"] > 0 and line["auto"] > 0 and line["none"] > 0 for line in result["figure10_ms"])
if result["vs_hmmlearn"] is not None:
    assert result["hmmlearn_likelihood_difference"] < 1e-4
if os.path.isdir(os.path.join(sys.argv[2], "data/an4")):
    assert result["an4_agreement_64"] > 99 and result["an4_agreement_auto"] > 98, result["an4_agreement_auto"]
    assert 0 < result["align_rtf"] < 1
PYTHON
if command -v gnuplot >/dev/null; then
    [ -s "$folder/figure10.svg" ] || wrong "no picture was drawn"
fi
finish
