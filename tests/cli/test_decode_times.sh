#!/usr/bin/env bash
# Words that were recognised begin and end where alignment of the same words puts them, with monophones and with triphones, whose labels move further.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o mono.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" train sounds lexicon.txt -o tri.trm -n 1 -q --stages tri --from mono.trm --leaves 40
for model in mono tri; do
    expect 0 "$TRELLIS" graph $model.trm lexicon.txt --loop -o $model.trg -q --self-loop-scale 1
    expect 0 "$TRELLIS" decode $model.trm $model.trg sounds -q -o $model.ctm --to ctm --acoustic-scale 1 --beam 200
    expect 0 "$TRELLIS" decode $model.trm $model.trg sounds -q -o $model.txt --acoustic-scale 1 --beam 200
    rm -rf found && cp -r sounds found
    while read -r id words; do
        echo "$words" >"$(find found -name "$id.lab")"
    done <$model.txt
    expect 0 "$TRELLIS" align $model.trm found lexicon.txt -q -o aligned.$model --to ctm
    python3 - $model.ctm aligned.$model/words.ctm <<'END' || wrong "$model: words lie elsewhere than their alignment"
import sys
a, b = ([line.split() for line in open(path)] for path in sys.argv[1:])
assert len(a) == len(b) > 60
off = 0
for x, y in zip(a, b):
    assert x[0] == y[0] and x[4] == y[4], (x, y)
    ends = [(float(row[2]), float(row[2]) + float(row[3])) for row in (x, y)]
    off += any(abs(s - t) > 0.0201 for s, t in zip(*ends))
print(off, "of", len(a), "words are more than two frames off")
assert off <= 0.05 * len(a), off
END
done
finish
