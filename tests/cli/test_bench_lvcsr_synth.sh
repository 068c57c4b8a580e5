#!/usr/bin/env bash
# trellis-bench lvcsr, its parts on synthesised speech, at their smallest: the speech is what it should be, the JSON has the keys that others read, the parts of the
# time make a whole. All ways of searching find the same words, or the benchmark fails.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
python=$TRELLIS_SOURCE_DIR/build/venv/bin/python
[ -x "$bench" ] || skip "trellis-bench is not built"
[ -x "$python" ] || skip "scripts/setup test has not made build/venv"
[ -z "${TRELLIS_SANITIZE:-}" ] || skip "under a sanitizer this takes minutes"

expect 0 "$bench" lvcsr --tiny --corpus states --json "$folder/states.json"
expect 0 "$python" - "$folder/states.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
assert 0 < result["all_states_fma_share"] < 1, result
assert result["all_states_us_per_frame"] > 0 and result["fma_peak_gflops"] > 0, result
PYTHON

expect 0 "$bench" lvcsr --tiny --corpus synthesised --json "$folder/result.json" --plot "$folder/curves.svg"
place=$(sed -n 's/^  (speech: \(.*\))$/\1/p' <<<"$out")
expect 0 "$python" - "$folder/result.json" "$place" <<'PYTHON'
import json, os, sys, wave
result, place = json.load(open(sys.argv[1])), sys.argv[2]
headline = "two_threads_lookahead_vs_one", "accuracy_at_real_time", "where_time_goes", "both_vs_one_32", "both_vs_one_128", "least_vs_one_128", "device_vs_one_32", "wer_32", "wer_128", "wer_en_us"
for key in headline:
    assert key in result, key
if result["two_threads_lookahead_vs_one"] is None:
    sys.exit(0)  # no text, no dictionary or no voices here
words = {line.split()[0] for line in open(os.path.join(place, "lexicon.txt"))}
assert len(words) == 1000, len(words)
heard = {}
for part, least in ("train", 100), ("test", 20):
    said = dict(line.rstrip("\n").split(" ", 1) for line in open(os.path.join(place, part, "text")))
    speakers = dict(line.split() for line in open(os.path.join(place, part, "utt2spk")))
    seconds = 0
    for name in said:
        with wave.open(os.path.join(place, "wav", name + ".wav")) as sound:
            assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (16000, 1, 2), name
            seconds += sound.getnframes() / 16000
        assert set(said[name].split()) <= words, said[name]
    assert least <= seconds < least + 60, (part, seconds)
    assert len(set(said.values())) == len(said) and speakers.keys() == said.keys()
    heard[part] = set(said.values())
assert not heard["train"] & heard["test"]
ways = "one", "two", "two_merge", "lookahead", "both", "both_merge", "auto"
for model in result["where_time_goes"]:
    shares = result["where_time_goes"][model]
    assert set(shares) == {*ways, "demand"}, shares
    for way, share in shares.items():
        time = sum(share[part] for part in ("expansion", "merging", "pruning", "composition", "likelihoods", "waiting"))
        assert abs(time - 100) < 1e-3 and 0 < share["made"] <= 100.001 and 0 <= share["twice"] < 5, (model, way, share)
    assert abs(shares["both"]["made"] - 100) < 1e-3 and shares["demand"]["made"] < shares["one"]["made"], shares
    assert set(result["accuracy_at_real_time"][model]) == set(ways)
    assert 0 < result[f"wer_{model}"] < 95 and result[f"least_vs_one_{model}"] <= result[f"auto_vs_one_{model}"] * 1.001, result
curves = [curve for curve in result["curves"] if curve["task"].startswith("synthesised")]
device = [curve for curve in curves if curve["system"].endswith("by a device")]  # where there is one
assert len(curves) - len(device) == len(ways) * len(result["where_time_goes"]), len(curves)
assert len(device) in (0, 2 * len(result["where_time_goes"])), device
for model in result["where_time_goes"] if device else ():
    assert result[f"device_vs_one_{model}"] > 0 and result[f"device_two_vs_one_{model}"] > 0, result
    assert result[f"device_same_words_{model}"] >= 90, result
for curve in curves:
    assert len(curve["points"]) == 2 and all(point["rtf"] > 0 for point in curve["points"]), curve
PYTHON
finish
