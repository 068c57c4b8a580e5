#!/usr/bin/env bash
# The validation of [001] IV-G: a store that has learnt the test by heart recognises it, the better the longer its contexts are (AN4), and with word boundaries even
# where the same phones are other words (tones).
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
# shellcheck source=tests/bam_validation.bash
source "$TRELLIS_SOURCE_DIR/tests/bam_validation.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1

# ---- The same phones in other words ----
# Utterances without pauses; every phone, and every pair of them, is a word. Lists have the truth last, behind other words of the same phones.
python3 - "$TRELLIS_SOURCE_DIR/tests" <<'END'
import random, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import tone_corpus
source, phones = random.Random(3), sorted(tone_corpus.TONES)
Path("tones").mkdir()
words = {(a,): a for a in phones} | {(a, b): a + b for a in phones for b in phones if a != b}
def cut(sequence):
    at, found = 0, []
    while at < len(sequence):
        size = 2 if at + 1 < len(sequence) and source.random() < 0.5 else 1
        found.append(words[tuple(sequence[at:at + size])])
        at += size
    return found
lists, text, scp, speakers = [], [], [], []
for n in range(30):
    sequence = [source.choice(phones)]
    while len(sequence) < 7:
        sequence.append(source.choice([p for p in phones if p != sequence[-1]]))
    samples = []
    for phone in ["SIL", *sequence, "SIL"]:
        samples += tone_corpus.sound(phone, source.uniform(0.1, 0.2), source)
    tone_corpus.write_wav(Path(f"tones/u{n:02}.wav"), samples)
    truth, hypotheses = cut(sequence), []
    while len(hypotheses) < 4:
        other = cut(sequence)
        if other != truth and other not in hypotheses:
            hypotheses.append(other)
    for rank, hypothesis in enumerate([*hypotheses, truth]):
        lists.append(f"u{n:02}\t{rank + 1}\t0\t-\t{' '.join(hypothesis)}")
    text.append(f"u{n:02} {' '.join(truth)}")
    scp.append(f"u{n:02} u{n:02}.wav")
    speakers.append(f"u{n:02} tone")
for name, lines in (("tones.nb", lists), ("tones/text", text), ("tones/wav.scp", scp), ("tones/utt2spk", speakers),
                    ("tones/lexicon.txt", [f"{word} {' '.join(of)}" for of, word in words.items()])):
    Path(name).write_text("\n".join(lines) + "\n")
END
expect 0 "$TRELLIS" train tones tones/lexicon.txt -o tones.trm -n 1 -q --set deltas=0
validate tones 1 --no-boundaries
phones_alone=$rate
validate tones 5
below "$rate" 5 "tones, M = 5 with word boundaries"
below "$rate" "$phones_alone / 5" "tones, word boundaries"
validate tones 5 --no-boundaries
below 10 "$rate" "tones, M = 5 without word boundaries can't tell words apart"

# ---- AN4 ----
an4=$TRELLIS_SHARED/data/an4
[ -z "${TRELLIS_SANITIZE:-}" ] || finish # minutes; the rest is the same code
if [ ! -f "$an4/test/wav.scp" ]; then
    [ "$faults" = 0 ] && skip "there is no AN4 in $an4"
    finish
fi
merge_homophones "$an4/test" an4 "$an4/lexicon.txt"
sed -i "s|^\([^ ]* \)|\1$an4/|" an4/wav.scp
expect 0 "$TRELLIS" train an4 an4/lexicon.txt -o an4.trm --components 2 --iterations 2 -q --skip-bad
expect 0 "$TRELLIS" graph an4.trm an4/lexicon.txt --loop -o an4.trg -q
expect 0 "$TRELLIS" decode an4.trm an4.trg an4 --to nbest --nbest 10 --lattice-beam 12 -o an4.nb -q
validate an4 1
short=$rate
below "$short" "$first / 2" "AN4, M = 1"
validate an4 5
below "$rate" "$short / 2" "AN4, M = 5"
below "$rate" 0.3 "AN4, M = 5"
finish
