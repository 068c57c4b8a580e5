#!/usr/bin/env bash
# Recognition with input that is wrong or strange: every mistake is named with its place, and sound without speech ends soon, with few words or none.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
tied=$("$TRELLIS" model stat tones.trm | awk '/^tied states/ { print $3 }')
mistake() { # mistake PART WORDS …: fails, and says so
    local part=$1
    shift
    expect 3 "$TRELLIS" "$@"
    contains "$err" "$part" "$*"
    [ "$(wc -l <<<"$err")" -le 3 ] || wrong "many words about one mistake: $err"
}

# ---- Graph and model ----
expect 0 "$TRELLIS" train sounds lexicon.txt -o two.trm -n 1 -q --set deltas=0 --states 2
mistake "loop.trg with two.trm: the graph was made for another model" decode two.trm loop.trg sounds -q
mistake "loop.trg with two.trm: the graph was made for another model" decode two.trm loop.trg - -q </dev/null
for size in 0 5 64 700; do
    head -c $size loop.trg >cut.trg
    mistake "cut.trg: at byte" decode tones.trm cut.trg sounds -q
    head -c $size tones.trm >cut.trm
    mistake "cut.trm: " decode cut.trm loop.trg sounds -q
done
mistake "lexicon.txt: at byte 0: not a trellis file" decode tones.trm lexicon.txt sounds -q
mistake "nothing.trg: can't open" decode tones.trm nothing.trg sounds -q
mistake "nothing.trm: can't open" decode nothing.trm loop.trg sounds -q

# ---- Likelihoods ----
python3 - "$tied" <<'END'
import struct, sys
columns = int(sys.argv[1])
def ark(name, rows, columns, values):
    head = b"anna00 \0BFM \4" + struct.pack("<i", rows) + b"\4" + struct.pack("<i", columns)
    open(name, "wb").write(head + struct.pack(f"<{rows * columns}f", *values))
def flat(wrong):
    values = [-1.0] * (50 * columns)
    values[20 * columns + 3] = wrong
    return values
ark("narrow.ark", 50, 7, [0.0] * 350)
ark("nan.ark", 50, columns, flat(float("nan")))
ark("infinite.ark", 50, columns, flat(float("inf")))
ark("none.ark", 0, columns, [])
open("cut.ark", "wb").write(open("nan.ark", "rb").read()[:300])
END
likelihoods() { mistake "$2" decode tones.trm loop.trg sounds -q --utterance anna00 --likelihoods "$1.ark"; }
likelihoods narrow "narrow.ark: utterance anna00 has 7 likelihoods per frame, but the model has $tied tied states"
likelihoods nan "nan.ark: utterance anna00: not a number (NaN) in frame 20, column 3"
likelihoods infinite "infinite.ark: utterance anna00: infinity in frame 20, column 3"
likelihoods cut "cut.ark: at byte"
likelihoods missing "missing.ark"
likelihoods none "utterance anna00: none.ark has a matrix without rows for it"

# ---- Corpora ----
mkdir bare empty
: >empty/wav.scp
mistake "bare: neither wav.scp nor sound files" decode tones.trm loop.trg bare -q
mistake "empty: a corpus without any utterance" decode tones.trm loop.trg empty -q
mistake "missing.wav: can't open" decode tones.trm loop.trg missing.wav -q
mistake "nowhere/words.txt: can't create" decode tones.trm loop.trg sounds -q -o nowhere/words.txt

# ---- Sound ----
python3 - <<'END'
import random, wave
def write(name, samples, channels=1, rate=16000):
    with wave.open(name, "wb") as f:
        f.setnchannels(channels), f.setsampwidth(2), f.setframerate(rate)
        f.writeframes(b"".join(max(-32768, min(32767, round(s))).to_bytes(2, "little", signed=True) for s in samples))
source = random.Random(1)
with wave.open("sounds/anna/anna01.wav") as f:
    data = f.readframes(f.getnframes())
speech = [int.from_bytes(data[i : i + 2], "little", signed=True) for i in range(0, len(data), 2)]
write("empty.wav", [])
write("short.wav", [100] * 200)
write("zero.wav", [0] * 16000 * 20)
write("noise.wav", [source.gauss(0, 6000) for _ in range(16000 * 20)])
write("clipped.wav", [30 * s for s in speech])
write("stereo.wav", [v for s in speech for v in (source.gauss(0, 100), s)], channels=2)
write("slow.wav", [(speech[i // 2] + speech[min((i + 1) // 2, len(speech) - 1)]) / 2 for i in range(2 * len(speech))], rate=32000)
write("half.wav", [(speech[i] + speech[i + 1]) / 2 for i in range(0, len(speech) - 1, 2)], rate=8000)
END
said=$("$TRELLIS" decode tones.trm loop.trg sounds/anna/anna01.wav -q | cut -d' ' -f2-)
mistake "empty.wav: 0 samples are too few for one frame" decode tones.trm loop.trg empty.wav -q
mistake "short.wav: 200 samples are too few for one frame" decode tones.trm loop.trg short.wav -q
few() { # few ID WHAT: words in out
    [ "${out%% *}" = "$1" ] || wrong "$2: $out"
    [ "$(wc -w <<<"$out")" -le 4 ] || wrong "$2, many words: $out"
}
for name in zero noise clipped; do
    expect 0 timeout 60 "$TRELLIS" decode tones.trm loop.trg $name.wav
    few $name "$name"
    [ "$(wc -w <<<"$out")" -gt 1 ] || contains "$err" "1 utterance is without words" "$name"
    expect 0 timeout 60 "$TRELLIS" decode tones.trm loop.trg - <$name.wav
    few stdin "$name, a stream"
done
expect 0 "$TRELLIS" decode tones.trm loop.trg stereo.wav --channel 1 -q
[ "$out" = "stereo $said" ] || wrong "the second channel: $out"
mistake "no channel 2: the file has 2" decode tones.trm loop.trg stereo.wav --channel 2 -q
expect 0 "$TRELLIS" decode tones.trm loop.trg - --channel 1 -q <stereo.wav
[ "$out" = "stdin $said" ] || wrong "the second channel of a stream: $out"
expect 0 "$TRELLIS" decode tones.trm loop.trg - <stereo.wav
contains "$err" "has 2 channels; the first one is taken" "a stream of two channels"
mistake "no channel 2: the sound has 2" decode tones.trm loop.trg - --channel 2 -q <stereo.wav
expect 0 "$TRELLIS" decode tones.trm loop.trg slow.wav -q
[ "$out" = "slow $said" ] || wrong "32 kHz: $out"
expect 0 "$TRELLIS" decode tones.trm loop.trg half.wav
contains "$err" "recorded at less than the front end's 16000 Hz" "8 kHz"
expect 0 "$TRELLIS" decode tones.trm loop.trg - <half.wav
contains "$err" "recorded at 8000 Hz, less than the model's 16000 Hz" "a stream of 8 kHz"

# ---- Grammars ----
arpa() { printf '\\data\\\nngram 1=%s\n\n\\1-grams:\n-99 <s>\n%s </s>\n-0.5 %s\n\n\\end\\\n' "$@" >g.arpa; }
graph() { mistake "$1" graph tones.trm "${@:2}" -o made.trg -q; }
arpa 5 -1 EE
graph "g.arpa:9: 5 n-grams of 1 words were announced, and 3 found" lexicon.txt g.arpa
arpa 3 many EE
graph "g.arpa:6: \"many\" is not a logarithm" lexicon.txt g.arpa
arpa 3 -1 ZEBRA
graph "lexicon.txt and g.arpa: the lexicon has no pronunciation of 1 word of the grammar: ZEBRA" lexicon.txt g.arpa
contains "$err" "--skip-missing" "a word without pronunciation"
printf 'EE\nEE ZEBRA\n' >phrases.txt
graph "lexicon.txt and phrases.txt: the lexicon has no pronunciation of 1 word" lexicon.txt --words phrases.txt
printf '#JSGF V1.0;\ngrammar g;\npublic <a> = EE (AASS | ;\n' >g.jsgf
graph "g.jsgf:3:25: " lexicon.txt --jsgf g.jsgf
graph "g.jsgf: is a grammar in JSGF; give it as --jsgf" lexicon.txt g.jsgf
printf '#JSGF V1.0;\ngrammar g;\npublic <a> = EE <nowhere>;\n' >g.jsgf
graph "g.jsgf:3:17: the rule <nowhere> is not defined" lexicon.txt --jsgf g.jsgf
printf 'EE XX\n' >other.txt
graph "the word EE has the phone XX, which is not in the model" other.txt --loop
graph "no pronunciations in this file" /dev/null --loop
[ ! -e made.trg ] || wrong "a graph was written although there was none"

# ---- Ctrl-C in the middle: no half of a file ----
mkfifo endless.ark
echo old >kept.txt
python3 - "$TRELLIS" <<'END' || wrong "interrupted: $?"
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.alarm(60)
before = set(os.listdir("."))
work = subprocess.Popen([sys.argv[1], "decode", "tones.trm", "loop.trg", "sounds", "--likelihoods", "endless.ark", "-o", "kept.txt", "-q"])
with open("endless.ark", "wb"):  # waits until it is read
    work.send_signal(signal.SIGINT)
    assert work.wait() != 0
assert open("kept.txt").read() == "old\n"
assert set(os.listdir(".")) == before, set(os.listdir(".")) - before
END

finish
