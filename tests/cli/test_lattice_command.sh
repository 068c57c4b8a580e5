#!/usr/bin/env bash
# trellis lattice … as a user runs it: a small lattice whose paths can be counted by hand, formats, mistakes; lattices of decode.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
equal() { [ "$1" = "$2" ] || wrong "$3: '$1' instead of '$2'"; }
lattice() { # lattice CODE WORDS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" lattice "$@"
}

# Acoustic costs are tens, so that with --lm-scale 10 they are as large as graph costs. The paths, and their costs then:
#     a c: 1 + 2, 1 + 1 -> 5       a d: 1 + 2, 3 + 2 -> 8       b c: 2 + 3, 1 + 1 -> 7       b d: 2 + 3, 3 + 2 -> 10
printf '<eps> 0\na 1\nb 2\nc 3\nd 4\n' >words.txt
printf 'one \n0 1 1 1,20,11_12\n0 1 2 2,30,13_14\n1 2 3 1,10,15\n1 2 4 3,20,16\n2 0,0,\n\n' >lat.txt
printf 'two \n0 1 4 1,10,11_12_13\n1 0.5,5,14\n\n' >>lat.txt
gzip -k lat.txt

# ---- info ----
lattice 0 info lat.txt
contains "$out" "lattices          2" "info"
contains "$out" "states            5" "info"
contains "$out" "arcs              5" "info"
contains "$out" "frames            7" "info"
contains "$out" "arcs per frame    1.429" "info" # (2 + 2 + 1 + 1 + 3 + 1) / 7
lattice 0 info --each lat.txt
contains "$out" "one 3 states 4 arcs 3 frames 2.000 arcs per frame" "info --each"
lattice 0 info --json lat.txt
equal "$(python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["arcs"], d["frames"], d["ends"])' <<<"$out")" "5 7 2" "info --json"

# ---- copy: text, gzip, binary, plain, standard input and output ----
lattice 0 copy lat.txt -o lat.ark
contains "$err" "2 lattices, 5 arcs of 5" "what was copied"
lattice 0 copy -q lat.txt.gz -o gz.ark
cmp -s lat.ark gz.ark || wrong "a packed archive is read differently"
lattice 0 copy -q lat.ark -o ark,t:back.txt
equal "$(tr '\t' ' ' <back.txt)" "$(<lat.txt)" "text, binary, text"
lattice 0 copy -q lat.ark -o lattice:plain.ark
lattice 0 copy -q lat.ark -o lattice,t:plain.txt
lattice 0 copy -q plain.txt -o ark,t:from.txt
lattice 0 copy -q plain.ark -o ark,t:from2.txt
cmp -s from.txt from2.txt || wrong "plain text and binary differ"
lattice 0 nbest plain.ark -n 9
cp out plain.nbest
lattice 0 nbest lat.ark -n 9
equal "$out" "$(<plain.nbest)" "the strings of plain lattices"
printf 'both \n0 1 11 1 1,20\n0 1 12 1 2,5\n1 2 13 0\n2 3 0 3 1,1\n3 0.5,0\n\n' >both.txt
lattice 0 nbest both.txt
equal "$out" "$(printf 'both\t1\t3.5\t6\t1 3')" "the strings of a plain lattice"
lattice 0 copy -q both.txt --determinize -o ark,t:-
equal "$(grep -c ,12 <<<"$out") $(grep -c ,11 <<<"$out")" "1 0" "the best path: $out"
lattice 0 info both.txt
contains "$out" "arcs              4" "a plain lattice"
expect 0 bash -c "'$TRELLIS' lattice copy -q - <lat.txt | '$TRELLIS' lattice copy -q - -o ark,t:-"
equal "$(tr '\t' ' ' <<<"$out")" "$(<lat.txt)" "through pipes"

# Scaled, and pruned: a d costs 3 more than the best, b c 2 more.
lattice 0 copy -q lat.txt --multiply-acoustic 0.5 --multiply-graph 3 -o ark,t:-
contains "$(tr '\t' ' ' <<<"$out")" "0 1 1 3,10,11_12" "scaled"
lattice 0 copy lat.txt --prune 2.5 -o pruned.ark
contains "$err" "4 arcs of 5" "pruned"
lattice 0 nbest pruned.ark -w words.txt
equal "$(cut -f 5 <<<"$out" | tr '\n' ',')" "a c,b c,d," "strings within 2.5"

# ---- copy: machines ----
lattice 0 copy -q lat.txt -w words.txt --word-penalty 1 -o fst:machines
if command -v fstprint >/dev/null; then
    expect 0 fstprint --acceptor machines/one.fst
    contains "$(tr '\t' ' ' <<<"$out")" "0 1 a 4" "a machine's arc: 1 + 20 / 10 + 1"
fi
lattice 0 copy -q lat.txt -w words.txt -o fst,t:machines
contains "$(tr '\t' ' ' <machines/two.txt)" "0 1 d 1,10" "a machine as text"
expect 0 "$TRELLIS" fst info machines/one.fst
contains "$out" "# of arcs" "a machine that we read ourselves"

# ---- nbest ----
lattice 0 nbest lat.txt -w words.txt -n 3
equal "$out" "$(printf 'one\t1\t2\t30\ta c\none\t2\t3\t40\tb c\none\t3\t4\t40\ta d\ntwo\t1\t1.5\t15\td')" "nbest"
lattice 0 nbest lat.txt -w words.txt -n 2 --lm-scale 1 --to jsonl -o nbest.jsonl
equal "$(head -n 1 nbest.jsonl)" \
    '{"id":"one","nbest":[{"words":["a","c"],"graph_cost":2,"acoustic_cost":30},{"words":["b","c"],"graph_cost":3,"acoustic_cost":40}]}' \
    "nbest as JSON"
printf 'one a d\ntwo d\n' >ref.txt
expect 0 "$TRELLIS" score ref.txt nbest.jsonl --nbest --scorer edit
contains "$out" "oracle WER 33.33 %" "the N-best list, scored"

# ---- words: probabilities are e^-5, e^-8, e^-7, e^-10 over their sum, so that of a is 1 / (1 + e^-2), that of c 1 / (1 + e^-3);
# at the default of 0.6 times the costs 1 / (1 + e^-1.2) and 1 / (1 + e^-1.8) ----
lattice 0 words lat.txt -w words.txt
equal "$out" "$(printf 'one a c\ntwo d')" "words"
lattice 0 words lat.txt
equal "$out" "$(printf 'one 1 3\ntwo 4')" "words as numbers"
lattice 0 words lat.txt -w words.txt --to ctm --frame-shift 20 --posterior-scale 1
equal "$out" "$(printf 'one 1 0 0.04 a 0.8808\none 1 0.04 0.02 c 0.9526\ntwo 1 0 0.06 d 1.0000')" "words as ctm"
lattice 2 words lat.txt --posterior-scale 0
contains "$err" "--posterior-scale takes a number above 0" "a scale of nothing"
lattice 0 words lat.txt -w words.txt --mbr --to jsonl -o words.jsonl
equal "$(python3 -c '
import json
for d in map(json.loads, open("words.jsonl")):
    print(d["id"], [(w["word"], w["confidence"]) for w in d["words"]], d["graph_cost"], d["acoustic_cost"], d["frames"])')" \
    "one [('a', 0.7685), ('c', 0.8581)] 2 30 3
two [('d', 1.0)] 1.5 15 4" "words by minimum Bayes risk"

# ---- rescore: by hand, from the probabilities of a bigram model ----
cat >big.arpa <<'END'
\data\
ngram 1=5
ngram 2=2

\1-grams:
-99 <s> -0.5
-1 a -0.25
-0.7 c
-0.4 <unk>
-0.8 </s>

\2-grams:
-0.2 <s> a
-0.1 a c

\end\
END
gzip -k big.arpa
printf '\\data\\\nngram 1=5\n\n\\1-grams:\n-0.5 a\n-0.5 b\n-0.5 c\n-0.5 d\n-0.5 </s>\n\n\\end\\\n' >small.arpa
lattice 0 rescore lat.txt -w words.txt --remove small.arpa --add big.arpa.gz -o big.ark
lattice 0 nbest big.ark -w words.txt
cp out rescored.txt
python3 - <<'END' || wrong "costs of the rescored paths: $(<rescored.txt)"
import math
logarithms = {"a c": 0.2 + 0.1 + 0.8, "b c": 0.5 + 0.4 + 0.7 + 0.8, "a d": 0.2 + 0.25 + 0.4 + 0.8, "b d": 0.5 + 0.4 + 0.4 + 0.8}
before = {"a c": 2, "b c": 3, "a d": 4, "b d": 5}
lines = [line.rstrip("\n").split("\t") for line in open("rescored.txt") if line.startswith("one")]
assert sorted(line[4] for line in lines) == sorted(before), lines
for _, _, graph, acoustic, words in lines:
    expected = before[words] + (logarithms[words] - 1.5) * math.log(10)
    assert abs(float(graph) - expected) < 1e-3, (words, graph, expected)
END
lattice 0 rescore -q lat.txt -w words.txt --remove small.arpa -o bare.ark
lattice 0 rescore -q bare.ark -w words.txt --add small.arpa -o ark,t:again.txt
equal "$(cut -f 3- again.txt | cut -d, -f 1 | tr -s '\t\n' '  ')" "$(cut -f 3- back.txt | cut -d, -f 1 | tr -s '\t\n' '  ')" "a model taken out and put in"
sed '/<unk>/d; s/ngram 1=5/ngram 1=4/' big.arpa >closed.arpa
lattice 3 rescore lat.txt -w words.txt --add closed.arpa -o no.ark
contains "$err" "utterance one: closed.arpa has neither the word b nor <unk>" "a word that the model lacks"
[ -e no.ark ] && wrong "a file was left behind"

# ---- oracle ----
printf 'one a d x\ntwo d\n' >ref.txt
printf 'one anna\ntwo ben\n' >utt2spk
lattice 0 oracle lat.txt ref.txt -w words.txt --utt2spk utt2spk -o oracle.txt
contains "$(tr -s ' ' <<<"$out")" "all 2 4 3 0 1 0 25.00 50.00" "the least errors"
contains "$(tr -s ' ' <<<"$out")" "anna 1 3 2 0 1 0 33.33 100.00" "the least errors of a speaker"
equal "$(<oracle.txt)" "$(printf 'one a d\ntwo d')" "the words of the best paths"
printf 'one a d x\nthree d d\n' >ref.txt
# Capitals are what they are in `score`, which decides where --letters says so.
printf 'one A d\ntwo D\n' >capitals.txt
lattice 0 oracle lat.txt capitals.txt -w words.txt -o folded.txt
cmp -s folded.txt oracle.txt || wrong "capitals change the best path"
contains "$(tr -s ' ' <<<"$out")" "all 2 3 3 0 0 0 0.00 0.00" "no error but for capitals"
lattice 0 oracle lat.txt capitals.txt -w words.txt --letters keep
contains "$(tr -s ' ' <<<"$out")" "all 2 3 1 2 0 0 66.67" "two of three words differ in capitals"
printf 'one é\n' >small.txt
sed 's/^d /É /' words.txt >latin.txt
lattice 1 oracle lat.txt small.txt -w latin.txt --letters ascii
contains "$out" "200.0" "a substitution and an insertion"
lattice 1 oracle lat.txt small.txt -w latin.txt --letters all
contains "$out" "100.0" "an insertion"
lattice 2 oracle lat.txt ref.txt -w words.txt --letters magic
lattice 1 oracle lat.txt ref.txt -w words.txt
contains "$(tr -s ' ' <<<"$out")" "all 2 5 2 0 3 0 60.00 100.00" "an utterance without lattice"
contains "$err" "1 utterances of the reference have no lattice" "an utterance without lattice"
contains "$err" "1 lattices are of utterances that the reference does not have" "a lattice without utterance"

# ---- What is wrong is said ----
lattice 2 copy
lattice 2 rescore lat.txt -w words.txt
contains "$err" "--add or --remove" "no model"
lattice 2 rescore lat.txt --add big.arpa
contains "$err" "--words" "no table"
lattice 2 oracle lat.txt ref.txt
contains "$err" "--words" "no table"
lattice 2 nbest lat.txt -n 0
lattice 2 nbest lat.txt --to xml
lattice 2 words lat.txt --lm-scale 0
lattice 2 words lat.txt --frame-shift -1
lattice 2 words lat.txt -w words.txt --model x.trm
contains "$err" "must name the graph" "a model without graph"
lattice 2 copy lat.txt --prune -1 -o x.ark
lattice 3 copy none.ark -o x.ark
contains "$err" "none.ark" "a file that is not there"
lattice 3 copy lat.ark lat.ark -o x.ark
contains "$err" "utterance one comes twice" "the same utterance twice"
lattice 3 copy lat.txt -o nowhere/x.ark
lattice 3 copy fst:machines -o x.ark
contains "$err" "trellis fst" "machines as input"
lattice 3 words lat.txt -w ref.txt
head -c 200 lat.ark >cut.ark
lattice 3 info cut.ark
contains "$err" "cut.ark: at byte" "a file that is cut off"
contains "$err" "(utterance one)" "a file that is cut off"
sed '3s/2,30/2,x/' lat.txt >broken.txt
lattice 3 info broken.txt
contains "$err" 'broken.txt:3: "2,x" is not the costs' "a broken line"
printf '<eps> 0\na 1\n' >few.txt
lattice 3 nbest lat.txt -w few.txt
contains "$err" "has no name in the table few.txt" "a table that lacks words"
[ -e x.ark ] && wrong "a file was left behind"

# ---- decode: its lattices have its words as best path, whatever the number of threads ----
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q -t 1 -o found.txt --lattice found.ark
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q -t 3 -o many.txt --lattice many.ark
cmp -s found.ark many.ark || wrong "threads change lattices"
lattice 0 words found.ark -w loop.trg -o best.txt
lattice 0 nbest found.ark -w loop.trg -n 1 --to jsonl -o best.jsonl
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q --to jsonl -o found.jsonl
python3 - <<'END' || wrong "the best path and its costs"
import json
said, heard = ([line.split() for line in open(name)] for name in ("found.txt", "best.txt"))
# SSOO SSOOSS and SSOOSS OOSS are the same sounds at the same cost: rounding decides which is said, so the strings may differ where the costs don't.
for words, best_words, nbest, found in zip(said, heard, map(json.loads, open("best.jsonl")), map(json.loads, open("found.jsonl"))):
    best = nbest["nbest"][0]
    assert words[0] == best_words[0] == nbest["id"] == found["id"]
    assert words[1:] == [w["word"] for w in found["words"]]
    for key in "graph_cost", "acoustic_cost":
        assert abs(best[key] - found[key]) < 0.01, (nbest["id"], best[key], found[key])
    assert "".join(words) == "".join(best_words)
END
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q --to ctm -o found.ctm
lattice 0 words found.ark -w loop.trg --model tones.trm --to ctm -o aligned.ctm
python3 - <<'END' || wrong "times of aligned words"
def words_of(name):
    words = {}
    for line in open(name):
        field = line.split()
        words.setdefault(field[0], []).append((field[4], float(field[2])))
    return words
found, aligned = words_of("found.ctm"), words_of("aligned.ctm")
compared = 0
for name in found: # the best path's boundaries, but for half a window
    if [w for w, _ in found[name]] == [w for w, _ in aligned[name]]:
        compared += len(found[name])
        assert all(abs(a[1] - b[1]) < 0.03 for a, b in zip(found[name], aligned[name])), name
assert compared > 20
END
expect 0 "$TRELLIS" decode tones.trm loop.trg sounds -q -o found.txt --lattice fst:decoded
equal "$(find decoded -name '*.fst' | wc -l)" "$(wc -l <found.txt)" "machines of decode"
expect 3 "$TRELLIS" decode tones.trm loop.trg sounds -q -o found.txt --lattice nowhere/x.ark
finish
