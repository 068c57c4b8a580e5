#!/usr/bin/env bash
# smallest.sh NAME: this benchmark with as little as it can do, on a handful of utterances; its JSON is right and holds figures.
# smallest.sh --all NAME …: these are the benchmarks that trellis-bench has.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
bench=$TRELLIS_BUILD_DIR/bench/trellis-bench
command -v python3 >/dev/null || skip "python3 is not installed"

if [ "$1" = --all ]; then
    shift
    expect 2 "$bench"
    has=$(sed -n 's/^  \([a-z_]*\) .*/\1/p' <<<"$err" | sort)
    [ "$has" = "$(printf '%s\n' "$@" | sort)" ] || wrong "trellis-bench has:"$'\n'"$has"$'\n'"but these are tried: $*"
    finish
fi

# One utterance in so many; the smallest form trains on test data where it trains. Without the data, benchmarks say what
# they leave out.
mkdir "$folder/shared"
excerpt() { # CORPUS EVERY
    local from=$TRELLIS_SHARED/data/$1 to=$folder/shared/data/$1 every=$2 part file
    [ -d "$from" ] || return 0
    mkdir -p "$to"
    ln -s "$(realpath "$from")"/* "$to"
    for part in test train; do
        rm "$to/$part"
        mkdir "$to/$part"
        for file in wav.scp text utt2spk; do
            awk -v every="$every" 'NR % every == 1' "$from/$part/$file" >"$to/$part/$file"
        done
        every=$((every * 8))
    done
}
excerpt an4 5
excerpt fsdd 7
[ ! -d "$TRELLIS_SHARED/golden" ] || ln -s "$(realpath "$TRELLIS_SHARED/golden")" "$folder/shared/golden"

arguments=(--tiny)
if [ "$1" = features ] && [ ! -d "$TRELLIS_SHARED/data/an4" ]; then # any sound will do
    python3 - "$folder/noise.wav" <<'PYTHON'
import random, sys, wave
with wave.open(sys.argv[1], "wb") as sound:
    sound.setparams((1, 2, 16000, 0, "NONE", ""))
    sound.writeframes(random.Random(1).randbytes(2 * 16000 * 3))
PYTHON
    printf 'path\nnoise.wav\n' >"$folder/corpus.tsv"
    arguments+=(--corpus "$folder/corpus.tsv")
fi

export OCL_ICD_VENDORS=$folder/none # OpenCL's drivers lose memory of their own
if [ -n "$TRELLIS_FAKE_CUDA" ]; then
    export LD_LIBRARY_PATH=$TRELLIS_FAKE_CUDA${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
expect 0 env TRELLIS_SHARED="$folder/shared" XDG_CACHE_HOME="$folder/cache" "$bench" "$1" "${arguments[@]}" --json "$folder/result.json"
expect 0 python3 - "$folder/result.json" "$1" <<'PYTHON'
import json, sys

def no_number(text):
    raise ValueError(f"{text} is not JSON")

def figures(value):
    if isinstance(value, dict):
        return sum(figures(inner) for key, inner in value.items())
    if isinstance(value, list):
        return sum(map(figures, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)

result = json.load(open(sys.argv[1]), parse_constant=no_number)
assert result.pop("benchmark") == sys.argv[2] and result.pop("quick") is True
assert result.pop("version") and result.pop("cores") > 0 and result.pop("instruction_set")
print(figures(result), "figures")
PYTHON
if [ "$out" = "0 figures" ]; then
    [ -d "$TRELLIS_SHARED/data/an4" ] && wrong "the JSON holds no figure"
    [ "$faults" = 0 ] && skip "what $1 measures needs the data that would be in $TRELLIS_SHARED"
fi
finish
