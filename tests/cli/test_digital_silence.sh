#!/usr/bin/env bash
# Zeros before, behind and between words change neither the words that are recognised nor, but by their length, the times; a model trained with
# them is as good; digital silence alone has no words.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" plain 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" test 2

# pad FROM TO: half a second of zeros, and two seconds in the middle of the first pause between words; moved.txt has lines ID AT SECONDS.
pad() {
    python3 - "$1" "$2" <<'END'
import pathlib, shutil, sys, wave
source, to = map(pathlib.Path, sys.argv[1:])
rate, pauses, ends = 16000, {}, {}
for line in open(source / "truth.txt"):
    name, start, end, label = line.split()
    ends[name] = float(end)
    if label == "SIL/SIL" and float(start) > 0:
        pauses.setdefault(name, []).append((float(start) + float(end)) / 2)
shutil.copytree(source, to)
with open(to / "moved.txt", "w") as moved:
    for path in (to / "sounds").glob("*/*.wav"):
        with wave.open(str(path)) as file:
            sound = file.readframes(file.getnframes())
        at = min(pauses[path.stem])
        gap = 2 if at < ends[path.stem] - 0.25 else 0
        cut = 2 * round(at * rate)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, rate, 0, "NONE", ""))
            file.writeframes(bytes(rate) + sound[:cut] + bytes(2 * rate * gap) + sound[cut:] + bytes(rate))
        moved.write(f"{path.stem} {at} {gap}\n")
END
}
pad plain padded
pad test gaps

train() {
    expect 0 "$TRELLIS" train "$1/sounds" plain/lexicon.txt -o "$1.trm" -n 2 -q
    expect 0 "$TRELLIS" graph "$1.trm" plain/lexicon.txt --loop -o "$1.trg" -q
}
train plain
train padded

# The mean of training that streams begin with is that of the frames with sound, whoever made the features.
expect 0 "$TRELLIS" features plain/sounds -o ark,t:plain.txt -q --set energy=none
expect 0 "$TRELLIS" features padded/sounds -o padded.trf -q --set energy=none --set cmvn=speaker --set deltas=2 --set silence=fill
expect 0 "$TRELLIS" train padded/sounds plain/lexicon.txt --features padded.trf -o extracted.trm -n 1 -q
for model in plain padded extracted; do
    expect 0 "$TRELLIS" features --model $model.trm --describe
    prior=$(sed -n 's/^cmvn_prior = //p' <<<"$out")
    python3 - plain.txt "$prior" <<'END' || wrong "$model: the prior is $prior"
import sys
rows = [[float(x) for x in line.split()[:13]] for line in open(sys.argv[1]) if "[" not in line]
prior = [float(x) for x in sys.argv[2].split(",")]
means = [sum(column) / len(rows) for column in zip(*rows)]
assert len(prior) == 13 and all(abs(a - b) < 1 for a, b in zip(prior, means)), means
END
done

# How many utterances are not as they were said, to the ear: OOSS EE sounds like OO SSEE.
said=$(cd test/sounds && for lab in */*.lab; do echo "$(basename "$lab" .lab) $(tr -d ' ' <"$lab")"; done | sort)
for model in plain padded; do
    for way in "" --online; do
        for corpus in test gaps; do
            # shellcheck disable=SC2086
            expect 0 "$TRELLIS" decode $model.trm $model.trg $corpus/sounds -q -o found.txt $way
            wrongs=$(diff <(echo "$said") <(sed 's/ /\t/; s/ //g; s/\t/ /' found.txt | sort) | grep -c '^>')
            [ "$wrongs" -le 1 ] || wrong "$model $way $corpus: $wrongs of 24 utterances are not what was said"
        done
    done
done

# Times: of decoding and of alignment, without zeros and with.
for corpus in test gaps; do
    expect 0 "$TRELLIS" decode plain.trm plain.trg $corpus/sounds -q -o $corpus.ctm --to ctm
    expect 0 "$TRELLIS" align plain.trm $corpus/sounds plain/lexicon.txt -q -o $corpus.aligned --to ctm
done
for pair in "test.ctm gaps.ctm" "test.aligned/words.ctm gaps.aligned/words.ctm"; do
    # shellcheck disable=SC2086
    python3 - $pair <<'END' || wrong "$pair: words lie elsewhere than the zeros between them put them"
import sys
moved = {name: (float(at), float(gap)) for name, at, gap in (line.split() for line in open("gaps/moved.txt"))}
plain, gaps = ({}, {})
for table, path in zip((plain, gaps), sys.argv[1:]):
    for line in open(path):
        name, _, start, length, word = line.split()[:5]
        table.setdefault(name, []).append((word, float(start), float(start) + float(length)))
words = off = 0
for name, (at, gap) in moved.items():
    if [w for w, _, _ in plain[name]] != [w for w, _, _ in gaps[name]]:
        continue # counted above
    for (_, s, e), (_, start, end) in zip(plain[name], gaps[name]):
        later = 0.5 + (gap if (s + e) / 2 > at else 0)
        words += 1
        off += abs(start - s - later) > 0.0301 or abs(end - e - later) > 0.0301
print(off, "of", words, "words are more than three frames off")
assert words > 60 and off <= 0.05 * words
END
done

# Nothing at all, and an offset with noise of one unit.
python3 - <<'END'
import random, struct, wave
dice = random.Random(1)
for name, samples in ("zeros", [0] * 32000), ("faint", [1000 + dice.randint(-1, 1) for _ in range(32000)]):
    with wave.open(name + ".wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(struct.pack("<32000h", *samples))
END
for way in "" --online; do
    # shellcheck disable=SC2086
    expect 0 "$TRELLIS" decode plain.trm plain.trg zeros.wav faint.wav -q $way
    [ "$out" = $'zeros\nfaint' ] || [ "$out" = $'zeros \nfaint ' ] || wrong "words in silence $way: $out"
done
finish
