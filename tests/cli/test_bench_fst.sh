#!/usr/bin/env bash
# trellis-bench fst at its smallest, on a text that is made up: the JSON has the keys that others read, all methods and OpenFst give the same answers.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"

expect 0 "$bench" fst --tiny --json "$folder/result.json" --plot "$folder/figure4.svg"
contains "$out" "made up" "the text"
expect 0 "$python" - "$folder/result.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
for key in ("frontier_vs_openfst_best", "frontier_vs_serial", "viterbi_ms_per_sentence", "combined_ms_per_sentence", "bytes_per_arc",
            "ops_sum_vs_openfst", "scaling_2_threads", "open_seconds"):
    assert key in result, key
assert result["benchmark"] == "fst" and result["quick"] is True and result["text"] == "synthetic"
for key in ("frontier_vs_serial", "viterbi_ms_per_sentence", "combined_ms_per_sentence"):
    assert result[key] > 0, (key, result[key])
assert result["weights_difference"] <= 1e-4, result["weights_difference"]
size, = result["sizes"]
assert size["lines"] == 300 and size["states"] > 100 and size["arcs"] > size["states"] and size["sentences"] > 0, size
assert size["bytes_per_arc"] >= 8
times = size["ms_per_sentence"]
for method in ("serial", "frontier", "parallel"):
    assert set(times[method]) == {"viterbi", "forward", "backward", "combined"} and all(t > 0 for t in times[method].values()), method
assert sum(line["sentences"] for line in result["figure4_ms"]) == size["sentences"]
names = ["compose", "determinize", "minimize", "rmepsilon", "shortestpath"]
for task in result["operations"].values():
    assert [line["operation"] for line in task] == names, task
    composed, determinized, minimized, _, best = task
    assert minimized["states"] <= determinized["states"] and best["arcs"] < composed["arcs"]
    if result["peer"]:
        # Composition has one form only; the others' depend on how weights are rounded.
        assert (composed["states"], composed["arcs"]) == (composed["openfst_states"], composed["openfst_arcs"]), composed
if result["peer"]:
    assert result["frontier_vs_openfst_best"] > 0 and result["ops_sum_vs_openfst"] > 0
else:
    assert result["frontier_vs_openfst_best"] is None and result["ops_sum_vs_openfst"] is None
PYTHON
if command -v gnuplot >/dev/null; then
    [ -s "$folder/figure4.svg" ] || wrong "no picture was drawn"
fi
finish
