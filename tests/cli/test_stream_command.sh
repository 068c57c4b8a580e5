#!/usr/bin/env bash
# trellis decode of sound while it comes: a pipe, samples without a header, a file that grows; partial results, pauses, Ctrl-C.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
python3 - <<'END'
import glob, wave
parts = []
for name in sorted(glob.glob("sounds/*/*.wav")):
    with wave.open(name) as f:
        rate = f.getframerate()
        parts.append(f.readframes(f.getnframes()))
def write(name, data):
    with wave.open(name, "wb") as f:
        f.setnchannels(1), f.setsampwidth(2), f.setframerate(rate)
        f.writeframes(data)
data = b"".join(parts)
write("all.wav", data)
write("paused.wav", bytes(2 * rate).join(parts[:5]))
open("all.raw", "wb").write(data)
open("rate", "w").write(str(rate))
head = open("all.wav", "rb").read(44)
open("open.wav", "wb").write(head[:40] + bytes(4) + data)  # a length of 0, as writers to a pipe leave it
with wave.open("stereo.wav", "wb") as f:
    f.setnchannels(2), f.setsampwidth(2), f.setframerate(rate)
    f.writeframes(b"".join(bytes(2) + data[i:i + 2] for i in range(0, len(data), 2)))
END
rate=$(<rate)
decode() { # decode CODE WORDS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" decode tones.trm loop.trg "$@"
}
words_of() { cut -d' ' -f2- "$@"; }

# ---- The same words as in one go, however they come ----
decode 0 all.wav --online -q
words_of out >words.txt
[ "$(wc -w <words.txt)" -gt 40 ] || wrong "few words: $(<words.txt)"
same() { # same NAME WHAT: the words in out
    [ "$out" = "$1 $(<words.txt)" ] || wrong "$2: other words than in one go: $(diff <(tr ' ' '\n' <<<"$out") <(tr ' ' '\n' <words.txt) | head -n 5)"
}
expect 0 "$TRELLIS" decode tones.trm loop.trg - <all.wav
same stdin "a pipe"
contains "$err" "1 utterance, $(wc -w <words.txt) words" "summary"
contains "$err" "frames behind the sound" "summary"
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q < <(python3 -c "
import sys, time
data = open('all.wav', 'rb').read()
for i in range(0, len(data), 5001):
    sys.stdout.buffer.write(data[i:i + 5001]), sys.stdout.flush()")
same stdin "a pipe in pieces"
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q <open.wav
same stdin "a header that leaves the length open"
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q --raw "$rate" <all.raw
same stdin "samples without a header"
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q --channel 1 <stereo.wav
same stdin "the second channel"
decode 0 all.raw -q --raw "$rate" -o kept.txt
[ -z "$out" ] || wrong "-o and standard output: $out"
out=$(<kept.txt)
same all "-o"

# ---- Formats ----
decode 0 all.wav --online -q --to jsonl -o one.jsonl
decode 0 all.wav --online -q --to ctm -o one.ctm
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q --to jsonl -o stream.jsonl <all.wav
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q --to ctm -o stream.ctm <all.wav
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q --partial -o partial.jsonl <all.wav
python3 - <<'END' || wrong "times or costs of a stream"
import json
one, stream = json.load(open("one.jsonl")), json.load(open("stream.jsonl"))
assert one["frames"] == stream["frames"] and one["reached_end"] == stream["reached_end"]
for key in "graph_cost", "acoustic_cost":
    assert abs(one[key] - stream[key]) <= 1e-6 * abs(one[key]), key
without = [{k: w[k] for k in ("word", "start", "end")} for w in one["words"]]  # confidences: a stream has none
assert without == stream["words"], (without, stream["words"])
assert any(round(w["start"] * 1e6) % 1000 for w in without), "no time with half a millisecond"
for a, b in zip(open("one.ctm"), open("stream.ctm"), strict=True):
    assert a.split()[1:5] == b.split()[1:], (a, b)
# Final words come one after the other; settled ones are final later; the last object has all.
lines = [json.loads(line) for line in open("partial.jsonl")]
final, settled, tentative = [], [], 0
for line in lines[:-1]:
    if "final" in line:
        final += [w["word"] for w in line["final"]]
    else:
        now = final + line["settled"].split()
        assert now[: len(settled)] == settled, (settled, now)
        settled = now
        tentative += line["tentative"] != ""
assert [w["word"] for w in lines[-1]["words"]] == final == [w["word"] for w in one["words"]]
assert tentative > 20 and final[: len(settled)] == settled
END

# ---- Pauses ----
expect 0 "$TRELLIS" decode tones.trm loop.trg - -q --pause 0.5 <paused.wav
[ "$(wc -l <<<"$out")" -ge 5 ] || wrong "--pause finds no utterances: $out"
! grep -v ' ' <<<"$out" || wrong "--pause: an utterance without words: $out"
[ "${out%% *}" = stdin-0001 ] || wrong "name of the first utterance: $out"
decode 0 paused.wav -q --online
[ "$(words_of out | tr -d ' \n')" = "$(expect 0 "$TRELLIS" decode tones.trm loop.trg paused.wav -q --pause 0.5 && words_of out | tr -d ' \n')" ] ||
    wrong "words with and without pauses"

# ---- A file that grows ----
head -c 60000 open.wav >grow.wav
mkfifo go
(read -r _ <go && tail -c +60001 open.wav >>grow.wav) &
writer=$!
"$TRELLIS" decode tones.trm loop.trg grow.wav -q --follow 60 --pid $writer >grown.txt 2>grown.err &
reader=$!
echo >go
wait $writer
wait $reader || wrong "--follow: $(<grown.err)"
out=$(<grown.txt)
same grow "a file that grows"

# ---- Ctrl-C ends the sound: what has come is decoded, and written ----
python3 -c "
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
command = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
command.stdin.write(open('all.wav', 'rb').read()[:200000])
command.stdin.flush()
first = command.stdout.read(8)  # it is at work
command.send_signal(signal.SIGINT)
rest = command.stdout.read()
sys.stdout.write((first + rest).decode())
sys.exit(command.wait())" "$TRELLIS" decode tones.trm loop.trg - -q >cut.txt || wrong "Ctrl-C fails"
read -ra cut <cut.txt
read -ra all <words.txt
[ ${#cut[@]} -gt 4 ] || wrong "Ctrl-C: $(<cut.txt)"
for ((i = 1; i < ${#cut[@]} - 1; i++)); do
    [ "${cut[i]}" = "${all[i - 1]}" ] || wrong "Ctrl-C: word $i is ${cut[i]}, not ${all[i - 1]}"
done

# ---- Sound without words, and sound that is wrong ----
python3 -c "
import random, wave
def write(name, samples):
    with wave.open(name, 'wb') as f:
        f.setnchannels(1), f.setsampwidth(2), f.setframerate($rate)
        f.writeframes(b''.join(s.to_bytes(2, 'little', signed=True) for s in samples))
write('none.wav', [])
write('short.wav', [5] * 20)
write('zero.wav', [0] * 5 * $rate)"
for name in none short zero; do
    expect 0 "$TRELLIS" decode tones.trm loop.trg - <$name.wav
    [ "${out%% *}" = stdin ] || wrong "$name: $out"
done
expect 0 "$TRELLIS" decode tones.trm loop.trg - <none.wav
contains "$err" "no words were found" "no sound"
head -c 30 all.wav >cut.wav
expect 3 "$TRELLIS" decode tones.trm loop.trg - -q <cut.wav
contains "$err" "header" "a cut header"
head -c 100000 all.wav >cut.wav
expect 3 "$TRELLIS" decode tones.trm loop.trg - -q <cut.wav
contains "$err" "header promises" "a cut sound"
[ "$(wc -w <<<"$out")" -gt 2 ] || wrong "the words of a cut sound: $out"
expect 3 "$TRELLIS" decode tones.trm loop.trg - -q </dev/null
contains "$err" "standard input" "nothing at all"
expect 3 "$TRELLIS" decode tones.trm loop.trg nowhere.wav -q --follow 1
contains "$err" "nowhere.wav" "no file to follow"
mistake() { # mistake PART WORDS …
    local part=$1
    shift
    decode 2 "$@"
    contains "$err" "$part" "decode $*"
}
mistake "one sound" all.wav all.wav --partial
mistake "JSON lines" all.wav --partial --to ctm
mistake "pause" all.wav --partial --pause -1
mistake "raw" all.raw --raw -5
mistake "follow" all.raw --follow -5

finish
