#!/usr/bin/env bash
# trellis corpus check as a user runs it: a corpus with everything wrong, clean ones, wrong arguments, JSON.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1

run() { # CODE ARGUMENTS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" corpus check "$@"
}

# The output has this line.
shows() { grep -qxF -- "$1" out || wrong "missing: $1"$'\n'"$out"; }

command -v sox >/dev/null || skip "sox is not installed"
tone() { sox -n -r "$2" -c "${3:-1}" -b 16 "$1" synth "${4:-1}" sine 300 gain "${5:--12}"; }

# ---- A Kaldi folder with everything wrong ----
mkdir set
tone set/good.wav 16000
tone set/good2.wav 16000
tone set/low.wav 8000
tone set/two.wav 16000 2
sox -D -n -r 16000 -b 16 set/loud.wav synth 1 sine 250 gain 6 2>/dev/null
sox -n -r 16000 -b 16 set/quiet.wav trim 0 1
sox -n -r 16000 -b 16 set/none.wav trim 0 0
: >set/zero.wav
echo 'not a sound' >set/junk.wav
cat >set/wav.scp <<'END'
a-good good.wav
b-low low.wav
c-two two.wav
d-loud loud.wav
e-quiet quiet.wav
f-none none.wav
g-zero zero.wav
h-junk junk.wav
i-pipe sox good.wav -t wav - ; touch ran |
j-gone gone.wav
a-good good2.wav
k-notext good2.wav
l-long good2.wav
m-empty good2.wav
n-latin good2.wav
o-alone
p-nospk good2.wav
END
{
    for id in a-good b-low c-two d-loud e-quiet f-none g-zero h-junk i-pipe j-gone; do echo "$id YES NO"; done
    echo "l-long$(printf ' NONONO%.0s' $(seq 30))"
    echo m-empty
    printf 'n-latin caf\351\n'
    echo 'p-nospk NO MAYBE MAYBE'
    echo 'q-nosound YES'
} >set/text
LC_ALL=C awk '!/nospk|nosound/ {print $1, "anna"}' set/text >set/utt2spk
echo 'k-notext anna' >>set/utt2spk
printf 'YES Y EH S\nNO N OW\nNONONO N OW N OW\nEMPTY\n' >lexicon.txt

run 1 set --lexicon lexicon.txt --json found.json
[ ! -e ran ] && [ ! -e set/ran ] || wrong "a shell pipe was run"
[ "$(grep -c '^no-sound (error, 2): add the sound file or remove the transcript$' out)" = 1 ] ||
    wrong "findings of a kind are not together"
[ "$(grep -A2 '^no-sound' out | tail -n 2 | cut -d : -f 1,2)" = $'set/text:15\nset/wav.scp:10' ] ||
    wrong "findings of a kind are not sorted by place"
shows 'lexicon.txt:4: word without phones; it is left out'
shows 'set/wav.scp:16: o-alone: no sound file after the id'
shows 'set/wav.scp:9: i-pipe: a shell command, not a sound file: sox good.wav -t wav - ; touch ran |'
shows 'set/wav.scp:11: a-good: line 1 has the same id; this one is left out'
shows 'set/wav.scp:10: j-gone: gone.wav is not in the corpus folder, its parent or the working directory'
shows 'set/text:15: q-nosound: a transcript for an utterance that is not in wav.scp'
shows 'set/wav.scp:12: k-notext: there is no transcript for this sound'
shows 'set/utt2spk: p-nospk: this utterance is not in utt2spk'
grep -q '^set/junk.wav: h-junk: ' out || wrong "junk.wav"
shows 'set/none.wav: f-none: there are no samples in this file'
shows 'set/zero.wav: g-zero: there are no samples in this file'
shows 'set/text:12: m-empty: the transcript is empty'
shows 'set/low.wav: b-low: 8000 Hz instead of 16000 Hz'
shows 'set/two.wav: c-two: 2 channels'
grep -q '^set/loud.wav: d-loud: .* of the samples are at full scale$' out || wrong "clipping"
grep -q '^set/quiet.wav: e-quiet: no sample in 1.00 s is above ' out || wrong "silence"
shows 'set/text:11: l-long: 120 phones in 1.0000 s of sound: they take 3.6000 s at least'
shows 'set/text:14: p-nospk: MAYBE is not in the lexicon (2 times, first here)'
shows 'set/text:13: n-latin: the transcript is not valid UTF-8 (byte e9)'
shows '15 utterances (9 unusable) of 2 speakers in 11 recordings, 6.00 s of usable sound at 16000 Hz'

# Every kind that can be found in a Kaldi folder without segments is in the JSON, once or as often as it is wrong.
python3 - <<'END' || wrong "JSON"
import collections, json
found = json.load(open("found.json"))
assert list(found) == ["corpus", "format", "summary", "findings"], list(found)
assert found["corpus"] == "set" and found["format"] == "kaldi"
kinds = collections.Counter(f["kind"] for f in found["findings"])
expected = {"syntax": 2, "pipe": 1, "duplicate-id": 1, "no-sound": 2, "no-transcript": 1, "no-speaker": 1,
            "unreadable-sound": 1, "empty-sound": 2, "empty-transcript": 1, "odd-rate": 1, "stereo": 1, "clipping": 1,
            "silent-sound": 1, "transcript-too-long": 1, "unknown-word": 1, "encoding": 1}
assert kinds == expected, {k: (kinds[k], expected.get(k)) for k in set(kinds) | set(expected) if kinds[k] != expected.get(k)}
for f in found["findings"]:
    assert list(f) == ["kind", "severity", "file", "line", "utterance", "message", "advice"] + \
        (["word", "count"] if f["kind"] == "unknown-word" else []), f
    assert f["severity"] in ("error", "warning") and f["advice"] and f["message"]
assert [(f["word"], f["count"]) for f in found["findings"] if f["kind"] == "unknown-word"] == [("MAYBE", 2)]
pipe = [f for f in found["findings"] if f["kind"] == "pipe"][0]
assert (pipe["file"], pipe["line"], pipe["utterance"], pipe["severity"]) == ("set/wav.scp", 9, "i-pipe", "error"), pipe
assert found["summary"]["utterances"] == 15 and found["summary"]["bad_utterances"] == 9
assert found["summary"]["unknown_words"] == 2 and found["summary"]["distinct_unknown_words"] == 1
END

# ---- The same for every number of threads, text and JSON ----
run 1 set --lexicon lexicon.txt --threads 1 --json -
cp out one.json
run 1 set --lexicon lexicon.txt --threads 4 --json -
cmp -s one.json out || wrong "findings depend on --threads"
cmp -s one.json found.json || wrong "--json FILE and --json - differ"

# ---- Parts, folders, manifests ----
mkdir -p speech/anna speech/bert
tone speech/anna/1.wav 16000 1 2
cat >speech/anna/1.TextGrid <<'END'
"ooTextFile" "TextGrid" 0 5 <exists> 1
"IntervalTier" "anna" 0 5 3
0 1 "yes"
1 2 ""
4 5 "outside"
END
tone speech/bert/1.wav 16000
echo 'no' >speech/bert/1.lab
echo 'alone' >speech/bert/2.txt
run 1 speech
shows 'speech/anna/1.TextGrid:5: anna-1-anna-00004000-00005000: the part starts at 4 s, but the sound is only 2 s long'
shows 'speech/bert/2.txt: there is no sound file of this name beside it'
shows '3 utterances (1 unusable) of 2 speakers in 2 recordings, 2.00 s of usable sound at 16000 Hz'
shows '2 findings: 2 errors, 0 warnings'
rm speech/bert/2.txt speech/anna/1.TextGrid
echo 'yes' >speech/anna/1.lab
run 0 speech
shows 'no findings'
if [ "$(id -u)" != 0 ]; then
    mkdir speech/closed
    chmod 000 speech/closed speech/bert/1.wav
    run 1 speech
    contains "$out" 'unreadable-file (error, 2)' "closed to the user"
    shows "speech/closed: can't be read: Permission denied"
    rmdir speech/closed
    chmod 644 speech/bert/1.wav
fi
printf 'path\tsentence\tclient_id\nspeech/anna/1.wav\tyes\tanna\n' >all.tsv
run 0 all.tsv
shows '1 utterance (0 unusable) of 1 speaker in 1 recording, 2.00 s of usable sound at 16000 Hz'
run 0 speech/anna/1.wav --rate 16000
run 1 speech/anna/1.wav --rate 44100
run 0 - --text-optional <speech/anna/1.wav
shows '1 utterance (0 unusable) of 1 speaker in 1 recording, 2.00 s of usable sound at 16000 Hz'

# ---- At most twenty of a kind, all with --all ----
for i in $(seq 10 40); do echo "u$i gone$i.wav"; done >set/wav.scp
for i in $(seq 10 40); do echo "u$i YES"; done >set/text
rm set/utt2spk
run 1 set
[ "$(grep -c '^set/wav.scp:' out)" = 20 ] || wrong "not twenty findings shown"
shows 'and 11 more; --all shows them'
run 1 set --all
[ "$(grep -c '^set/wav.scp:' out)" = 31 ] || wrong "--all does not show all"

# ---- Quiet, remarks, wrong arguments ----
run 0 speech --quiet
[ -z "$err" ] || wrong "--quiet says: $err"
run 2
run 2 speech extra
run 2 speech --format odd
run 2 speech --rate fast
run 2 speech --rate=-1
run 2 speech --clipped 101
run 2 speech --characters 0
run 2 speech --lexikon lexicon.txt
contains "$err" 'did you mean --lexicon' "a slip of the pen"
run 3 nowhere
contains "$err" nowhere "the missing corpus"
run 3 speech --lexicon nowhere.txt
run 3 speech --json no/such/folder/out.json
run 3 speech --format manifest
echo text >notes.doc
run 3 notes.doc
contains "$err" 'not a corpus' notes.doc

# ---- Real speech: CMU AN4, where it is present ----
an4=$TRELLIS_SHARED/data/an4
if [ -d "$an4" ]; then
    run 0 "$an4/train" --lexicon "$an4/lexicon.txt"
    shows '948 utterances (0 unusable) of 74 speakers in 948 recordings, 42.44 min of usable sound at 16000 Hz'
    run 0 "$an4/test" --lexicon "$an4/lexicon.txt"
    shows '130 utterances (0 unusable) of 10 speakers in 130 recordings, 5.95 min of usable sound at 16000 Hz'
else
    echo "no AN4 in $TRELLIS_SHARED: its part is left out"
fi

finish
