#!/usr/bin/env bash
# trellis-bench decode at its smallest: the keys of speed are there, the parts make a whole, two threads recognise what one does (or the benchmark fails).
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"

expect 0 "$bench" decode --tiny --json "$folder/result.json"
expect 0 "$python" - "$folder/result.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
assert "another run" in result["kaldi_figures"]
parts = ("share_front", "share_scoring", "share_search", "share_lattice")
figures = ("an4_rtf", "vs_kaldi", "an4_speed_wer", "decode_peak_mb", "graph_states", "graph_arcs", "graph_bytes", "graph_seconds", "scaling_2",
           "gaussians", "tied_states", "tokens_per_frame") + parts
for model, kaldi in ("mono", 0.011), ("tri", 0.022), ("kaldis_mono", 0.011), ("kaldis_tri", 0.022):
    found = {key: result[f"{key}_{model}"] for key in figures}
    if found["an4_rtf"] is None:
        assert all(value is None for value in found.values()), found
        continue
    assert all(value > 0 for key, value in found.items() if key not in ("decode_peak_mb", "graph_seconds")), found
    assert abs(found["vs_kaldi"] * found["an4_rtf"] / kaldi - 1) < 1e-4, found
    assert abs(sum(found[part] for part in parts) - 100) < 1e-3, found
    assert found["graph_arcs"] > found["graph_states"] and found["graph_bytes"] > 16 * found["graph_arcs"], found
    assert found["an4_speed_wer"] < 80, found
if result["an4_rtf_tri"] is not None:
    assert result["search_rtf_tri"] > 0
    if "kaldi_decoder" in result:
        for name in "faster", "lattice":
            peer = result["kaldi_decoder"][name]
            assert result[f"search_vs_kaldi_{name}"] > 0 and peer["utterances"] > 0, peer
        peer = result["kaldi_decoder"]["faster"]  # the other has no least number of tokens, and may find other words
        assert peer["same_words"] == peer["utterances"], peer
PYTHON
finish
