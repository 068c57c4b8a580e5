#!/usr/bin/env bash
# Texts as people write them, through corpus check, train and align: the same models and phones as from the lexicon's words, and labels as written.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
equal() { [ "$1" = "$2" ] || wrong "$3: '$1' instead of '$2'"; }
align() { # CORPUS FOLDER WORDS …
    expect 0 "$TRELLIS" align tones.trm "$1" lexicon.txt -q -o "$2" "${@:3}"
}

# Of every transcript the first two words are one with a hyphen between them, in quotes; a dash, the rest in small letters, a full stop.
cp -r sounds written
cp -r sounds numbers
python3 - <<'END'
import glob
for path in glob.glob("written/*/*.lab"):
    words = open(path).read().split()
    joined = f"\u201c{words[0]}-{words[1]}\u201d" if len(words) > 1 else words[0]
    rest = [word.lower() for word in words[2:]]
    open(path, "w").write(" ".join([joined, "\u2013", *rest]) + ".")
for path in glob.glob("numbers/*/*.lab"):
    words = open(path).read().split()
    open(path, "w").write(" ".join(["1990" if word == "OOSS" else word for word in words]))
END
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" train written lexicon.txt -o written.trm -n 1 --set deltas=0
cmp -s written.trm tones.trm || wrong "texts as written train another model"
contains "$err" "cut into words" "what training says of the texts"
expect 3 "$TRELLIS" train written lexicon.txt -o none.trm -n 1 -q --set deltas=0 --as-is

align sounds plain --to ctm,jsonl --count-pronunciations plain.txt
align written spoken --to ctm,jsonl,textgrid --count-pronunciations counted.txt
cmp -s plain/phones.ctm spoken/phones.ctm || wrong "texts as written have other phones"
cmp -s plain.txt counted.txt || wrong "texts as written count other pronunciations"
python3 - <<'END' || wrong "the words of texts as written"
import json, sys
wrong = 0
for plain, out in zip(map(json.loads, open("plain/alignments.jsonl")), map(json.loads, open("spoken/alignments.jsonl"))):
    text = open(f"written/{out['speaker']}/{out['id']}.lab").read().strip()
    expected = [w for w in plain["words"] if w["word"]]
    if len(expected) > 1 and "-" in text:
        a, b = expected[:2]
        at, frames = plain["words"].index(a), lambda w: w["end"] - w["start"]
        joined = {"start": a["start"], "end": b["end"], "phones": [p for w in plain["words"][at:plain["words"].index(b) + 1] for p in w["phones"]],
                  "confidence": (a["confidence"] * frames(a) + b["confidence"] * frames(b)) / (frames(a) + frames(b))}
        expected[:2] = [joined]
    found = [w for w in out["words"] if w["word"]]
    tokens = [t for t in text.split() if t != "\u2013" and t != "\u2013."]
    good = out["text"] == text and [w["word"] for w in found] == tokens and len(found) == len(expected)
    for w, e in zip(found, expected):
        good &= all(w[key] == e[key] for key in ("start", "end")) and [p["phone"] for p in w["phones"]] == [p["phone"] for p in e["phones"]]
        good &= abs(w["confidence"] - e["confidence"]) < 0.02  # times of the first and last frame are not whole frames
    if not good:
        print(out["id"], text, found, expected, file=sys.stderr)
        wrong += 1
sys.exit(wrong > 0)
END
grep -q '“[A-Z]*-[A-Z]*”' spoken/*.TextGrid || wrong "TextGrids have other words"

# What corpus check says, in numbers that can be counted.
expect 0 "$TRELLIS" corpus check written --lexicon lexicon.txt
contains "$out" "all are in the lexicon" "corpus check"
contains "$out" "split: $(cat written/*/*.lab | grep -o '[A-Z]-[A-Z]' | wc -l) words" "words that are cut"
contains "$out" "left-out: $(cat written/*/*.lab | grep -o '–' | wc -l) words" "marks"
expect 0 "$TRELLIS" corpus check written --lexicon lexicon.txt --json -
equal "$(python3 -c 'import json, sys
t = json.loads(sys.argv[1])["summary"]["texts"]["left-out"]
print(t["words"] == sum(e["count"] for e in t["examples"]), t["examples"][0]["words"])' "$out")" "True " "corpus check as JSON"
expect 1 "$TRELLIS" corpus check written --lexicon lexicon.txt --as-is
contains "$out" "not in the lexicon" "corpus check --as-is"

# Replacements.
printf '1990\tooss\n' >replace.txt
align numbers replaced --to ctm --replace replace.txt
cmp -s plain/phones.ctm replaced/phones.ctm || wrong "a replacement has other phones"
equal "$(cut -d ' ' -f 5 replaced/words.ctm | grep -cx 1990)" "$(cut -d ' ' -f 5 plain/words.ctm | grep -cx OOSS)" "1990 is written"
expect 1 "$TRELLIS" corpus check numbers --lexicon lexicon.txt
contains "$out" "1990 is not in the lexicon" "a number"
contains "$out" "--replace" "what to do about a number"
printf '1990 ooss\n' >replace.txt
expect 3 "$TRELLIS" align tones.trm numbers lexicon.txt -q -o none --replace replace.txt
contains "$err" "replace.txt:1: no tab" "a table without tabs"
[ -e none ] && [ -n "$(ls none)" ] && wrong "a failure leaves files"

# Nothing but marks.
echo '– … !' >written/anna/anna02.lab
expect 3 "$TRELLIS" align tones.trm written lexicon.txt -q -o none
contains "$err" "written/anna/anna02.lab:1: anna02: there are no words in the transcript, only punctuation" "marks alone"
expect 1 "$TRELLIS" align tones.trm written lexicon.txt -q -o marks --skip-bad
[ -e marks/anna02.TextGrid ] && wrong "an utterance without words is aligned"
[ "$(find marks -name '*.TextGrid' | wc -l)" = 23 ] || wrong "not 23 TextGrids without it"
finish
