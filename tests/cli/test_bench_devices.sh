#!/usr/bin/env bash
# trellis-bench devices at its smallest: every device that is there fills the same table, OpenCL's and CUDA's (tests/cuda) alike, and what goes to and fro
# is what the operations need.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"
if [ -n "$TRELLIS_FAKE_CUDA" ]; then
    export LD_LIBRARY_PATH=$TRELLIS_FAKE_CUDA${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

expect 0 "$bench" devices --tiny --json "$folder/result.json"
contains "$out" "accumulate_soft" "the table of operations"
contains "$out" "fst_counts_frontier" "the table of transducers"
expect 0 "$python" - "$folder/result.json" "$TRELLIS_FAKE_CUDA" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
there = result["operations"]
families = {name.split(":")[0] for name in there}
for family in ("opencl", "cuda"):
    for key in ("step1_%s_vs_avx2", "iteration_%s_vs_avx2", "fst_viterbi_%s_vs_serial"):
        value = result[key % family]
        assert (value is not None and value > 0) == (family in families), (key % family, value)
assert "cuda" in families or not sys.argv[2], families
names = set(there["cpu"])
assert len(names) == 7 + 8, names
for device, operations in there.items():
    assert set(operations) == names, device
    for name, figures in operations.items():
        assert figures["seconds"] > 0 and figures["bytes"] > 0 and "gflops" in figures, (device, name)
        assert ("overhead" in figures) == (device != "cpu"), (device, name)
        if device == "cpu":
            continue
        overhead = figures["overhead"]
        assert overhead["launches"] >= 1 and overhead["sends"] >= 1, (device, name, overhead)
        assert all(value >= 0 for value in overhead.values()), (device, name, overhead)
    if device == "cpu":
        continue
    # Four utterances of 360 frames in 39 dimensions go up once, with a place for each; nobody else sends them, and scores stay.
    overhead = {name: figures["overhead"] for name, figures in operations.items()}
    frames = 4 * 360 * 39 * 4
    assert frames < overhead["frames"]["sent_bytes"] < 1.2 * frames, overhead["frames"]
    assert all(overhead[name]["sent_bytes"] < frames for name in names - {"frames"}), overhead
    assert overhead["frames"]["fetched_bytes"] == overhead["score"]["fetched_bytes"] == 0, overhead
    # A path's node and arc per frame come down.
    assert overhead["backtrack"]["fetched_bytes"] >= 4 * 360 * 2 * 4, overhead["backtrack"]
PYTHON

# The documentation's rooflines are what the script makes of these counts.
expect 0 "$python" "$TRELLIS_SOURCE_DIR/scripts/device-roofline" "$folder/result.json"
[ "$(grep -c "^| [a-z_]* | [0-9]" <<<"$out")" = $((7 + 4)) ] || wrong "operations are missing: $out"
while read -r line; do
    grep -qxF -- "$line" "$TRELLIS_SOURCE_DIR/docs/opencl.md" || wrong "docs/opencl.md lacks: $line"
done < <(grep . <<<"$out")

# Another device than the first: where it is not there, that is what is said.
if grep -q '"opencl:0:cpu"' "$folder/result.json"; then
    expect 0 "$bench" devices --tiny --device opencl:99
    contains "$out" "opencl:99: there " "the device that was asked for"
fi
finish
