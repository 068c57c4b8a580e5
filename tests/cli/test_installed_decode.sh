#!/usr/bin/env bash
# Graphs that are composed with a language model while searching, and trellis decode of an installed model, which needs no graph: the cache, damage, words that are
# missing.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
cat sounds/*/*.lab | sed 's/^ *//; s/ *$//' >sentences.txt
python3 - <<'END'
# A bigram with back-off: counted, so many off each.
import math
from collections import Counter
words, pairs = Counter(), Counter()
for line in open("sentences.txt"):
    row = ["<s>"] + line.split() + ["</s>"]
    words.update(row[1:])
    pairs.update(zip(row, row[1:]))
total = sum(words.values())
def log(x): return f"{math.log10(x):.5f}"
def write(name, rename):
    with open(name, "w") as f:
        one = ["-99 <s> " + log(0.3)] + [f"{log(n / total)} {rename(w)} {log(0.3)}" for w, n in sorted(words.items())]
        starts = Counter(a for a, _ in pairs.elements())
        two = [f"{log(0.7 * n / starts[a])} {rename(a)} {rename(b)}" for (a, b), n in sorted(pairs.items())]
        f.write(f"\\data\\\nngram 1={len(one)}\nngram 2={len(two)}\n\n\\1-grams:\n" + "\n".join(one) + "\n\n\\2-grams:\n" + "\n".join(two) + "\n\n\\end\\\n")
write("bigram.arpa", lambda w: w)
write("other.arpa", lambda w: w if w[0] == "<" else "z" + w.lower())
write("some.arpa", lambda w: "nobody" if w == "SSOOSS" else w)
END

# ---- The whole graph and the composition find the same ----
expect 0 "$TRELLIS" graph -q tones.trm lexicon.txt bigram.arpa -o whole.trg
expect 0 "$TRELLIS" graph tones.trm lexicon.txt bigram.arpa --on-the-fly -o fly.trg
contains "$err" "n-grams beside it" "summary"
for format in text ctm nbest; do
    expect 0 "$TRELLIS" decode -q tones.trm whole.trg sounds --to $format --beam 30 --lattice-beam 8 -o whole.$format
    expect 0 "$TRELLIS" decode -q tones.trm fly.trg sounds --to $format --beam 30 --lattice-beam 8 -o fly.$format
done
cmp -s whole.text fly.text || wrong "other words: $(diff whole.text fly.text | head -n 4)"
python3 - <<'END' || wrong "other times, confidences or costs"
def rows(name, tab=None):
    return [line.rstrip("\n").split(tab) for line in open(name)]
for a, b in zip(rows("whole.ctm"), rows("fly.ctm"), strict=True):
    assert a[:5] == b[:5] and abs(float(a[5]) - float(b[5])) < 0.01, (a, b)
best = [{(r[0], r[1]): r for r in rows(name, "\t")} for name in ("whole.nbest", "fly.nbest")]
for key, a in best[0].items():
    b = best[1][key]
    assert abs(float(a[2]) + 0.1 * float(a[3]) - float(b[2]) - 0.1 * float(b[3])) < 0.05, (a, b)
END
expect 0 "$TRELLIS" decode -q tones.trm fly.trg sounds --lattice lat.ark -o /dev/null
expect 0 "$TRELLIS" lattice words lat.ark --words fly.trg --model tones.trm --to ctm
[ "$(cut -d" " -f5 <<<"$out")" = "$(cut -d" " -f5 fly.ctm)" ] || wrong "words of lattices"
expect 0 "$TRELLIS" decode -q tones.trm fly.trg sounds -t 3 --beam 30 -o three.text
cmp -s fly.text three.text || wrong "three threads: $(diff fly.text three.text | head -n 4)"
one=$(ls sounds/*/*.wav | head -n 1)
expect 0 "$TRELLIS" decode -q tones.trm fly.trg "$one" --online
file=$out
expect 0 "$TRELLIS" decode -q tones.trm fly.trg - <"$one"
[ "${out#* }" = "${file#* }" ] || wrong "a stream: $out instead of $file"
for bytes in 45 1001 20001; do # it ends in mid-sample, in mid-frame
    head -c $bytes "$one" | "$TRELLIS" decode -q tones.trm fly.trg - >cut.txt 2>cut.err
    [ "${PIPESTATUS[1]}" = 3 ] || wrong "cut off at $bytes: $(<cut.err)"
    contains "$(<cut.err)" "what came has been used" "cut off at $bytes"
done
expect 0 "$TRELLIS" decode -q tones.trm fly.trg - --raw 16000 < <(tail -c +45 "$one" | head -c 20001)
expect 3 "$TRELLIS" graph -q tones.trm lexicon.txt bigram.arpa --on-the-fly --fst fly.fst
contains "$err" "composed with its language model while searching" "--fst"
printf '#JSGF V1.0;\ngrammar g;\npublic <a> = [EE] ([AAEE] | [OOEE]);\n' >g.jsgf
expect 3 "$TRELLIS" graph -q tones.trm lexicon.txt --jsgf g.jsgf --on-the-fly -o never.trg
contains "$err" "takes n-gram models" "a grammar that is none"

# ---- Limits ----
expect 3 "$TRELLIS" graph -q tones.trm lexicon.txt bigram.arpa --memory-limit 0.001 -o never.trg
contains "$err" "--on-the-fly" "a limit of memory"
[ ! -e never.trg ] || wrong "a graph above the limit was written"
expect 3 "$TRELLIS" graph -q tones.trm lexicon.txt bigram.arpa --memory-limit 0.001 --on-the-fly -o never.trg
[[ $err == *on-the-fly* ]] && wrong "advises what has been done: $err"
for limit in -1 1e30 nan; do
    expect 2 "$TRELLIS" graph -q tones.trm lexicon.txt bigram.arpa --memory-limit $limit -o never.trg
done
expect 3 "$TRELLIS" decode nobodys-model some.wav
contains "$err" "there is no such file" "a model that is not there"

# ---- Where the time goes, also when nothing else is to be said ----
expect 0 "$TRELLIS" decode -q tones.trm fly.trg sounds --profile -t 1 -o fly.text
[ "$(awk '$1 == "composition" { print ($2 > 0) }' <<<"$err")" = 1 ] || wrong "composition takes no time: $err"

# ---- An installed model ----
mkdir -p installed/tones
cp tones.trm installed
cp lexicon.txt installed/tones/tones.dict
cp bigram.arpa installed/tones/tones.lm
export TRELLIS_MODELS=$PWD/installed XDG_CACHE_HOME=$PWD/cache/below
expect 3 "$TRELLIS" decode tones nothing.wav
contains "$err" "nothing.wav" "sound that is missing"
[[ $err != *"making the graph"* ]] || wrong "a graph is made before sounds are looked for: $err"
mkdir cache
expect 0 "$TRELLIS" decode tones sounds --beam 30
contains "$err" "making the graph of tones, once: $XDG_CACHE_HOME/trellis/tones-" "the first time"
[ "$out" = "$(<fly.text)" ] || wrong "other words with the installed model: $(diff fly.text <(echo "$out") | head -n 4)"
expect 0 "$TRELLIS" decode tones "$one" "$one"
[[ $err != *"making"* ]] || wrong "made again: $err"
graph=$(ls cache/below/trellis/*.trg)
[ "$(wc -w <<<"$graph")" = 1 ] || wrong "more than one graph: $graph"
expect 0 "$TRELLIS" decode tones "$graph" "$one" # a graph that is given counts
for damage in "head -c 1000" "tr \\000 \\001"; do
    cp "$graph" kept.trg
    $damage <kept.trg >damaged && mv damaged "$graph"
    expect 0 "$TRELLIS" decode tones "$one"
    contains "$err" "it is made anew" "a damaged cache"
    cmp -s "$graph" kept.trg || wrong "after $damage another graph"
done
expect 0 env XDG_CACHE_HOME="$PWD/lexicon.txt" "$TRELLIS" decode tones "$one"
contains "$err" "can't be kept" "no place for the cache"
[ -n "$out" ] || wrong "no words without a cache"
expect 0 env -u XDG_CACHE_HOME -u HOME "$TRELLIS" decode tones "$one"
contains "$err" "can't be kept" "no cache at all"
expect 0 "$TRELLIS" decode -q tones "$one"
[ -z "$err" ] || wrong "--quiet: $err"

# ---- Words ----
cp some.arpa installed/tones/tones.lm
expect 0 "$TRELLIS" decode tones "$one"
contains "$err" "1 of 14 words of " "a word that the dictionary lacks"
contains "$err" "making the graph" "another language model, another graph"
cp other.arpa installed/tones/tones.lm
expect 3 "$TRELLIS" decode tones "$one"
contains "$err" "tones.lm: the lexicon has no pronunciation of any of the 14 words" "the language model of another vocabulary"
expect 3 "$TRELLIS" graph -q tones.trm lexicon.txt some.arpa --on-the-fly -o never.trg
contains "$err" "no pronunciation of 1 word of the grammar: nobody" "a word is named"

# ---- What is not there, or damaged ----
head -c 100 bigram.arpa >installed/tones/tones.lm
expect 3 "$TRELLIS" decode tones "$one"
contains "$err" "tones.lm" "a language model that is cut off"
rm installed/tones/tones.lm
expect 2 "$TRELLIS" decode tones "$one"
contains "$err" "needs no GRAPH" "without a language model"
cp bigram.arpa installed/tones/tones.lm
head -c 500 tones.trm >installed/tones.trm
expect 3 "$TRELLIS" decode tones "$one"
contains "$err" "tones.trm" "a model that is cut off"
expect 3 "$TRELLIS" decode tones nowhere.wav
expect 3 "$TRELLIS" decode tones nowhere.trg "$one"
finish
