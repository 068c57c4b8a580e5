#!/usr/bin/env bash
# trellis graph, as a user runs it, on a model, a lexicon and grammars that are written out here.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1

# One state each for silence and two phones; a short pause that can be passed over is no silence here.
one_state() { printf '~h "%s" <BeginHMM> <NumStates> 3\n<State> 2 <Mean> 1 0 <Variance> 1 1\n<TransP> 3\n0 1 0  0 0.75 0.25  0 0 0\n<EndHMM>\n' "$1"; }
{
    echo '~o <VecSize> 1 <USER>'
    one_state sil
    one_state aa
    one_state b
} >hmmdefs
"$TRELLIS" model convert -q hmmdefs -o m.trm || wrong "no model"
printf 'A aa\nAB aa b\nB b\n' >lexicon.txt
printf '\\data\\\nngram 1=5\n\n\\1-grams:\n-0.5 A\n-0.7 AB\n-0.9 B\n-99 <s>\n-0.6 </s>\n\n\\end\\\n' >model.arpa
printf 'A B\nAB\n' >phrases.txt
printf '#JSGF V1.0;\ngrammar g;\npublic <x> = A | <y>;\n<y> = AB B;\n' >g.jsgf

# every kind of grammar, and what is said about the result
for grammar in model.arpa --loop '--words phrases.txt' '--jsgf g.jsgf' '--jsgf g.jsgf --rule y'; do
    # shellcheck disable=SC2086 # two words
    expect 0 "$TRELLIS" graph m.trm lexicon.txt $grammar -o g.trg
    [[ $err =~ ^[0-9]+\ states,\ [0-9]+\ arcs\ in\ [0-9.]+\ s,\ [0-9]+\ MB\ -\>\ g.trg$ ]] || wrong "$grammar says: $err"
    [ -z "$out" ] || wrong "$grammar prints $out"
done
gzip -k model.arpa
expect 0 "$TRELLIS" graph -q m.trm lexicon.txt model.arpa -o plain.trg
[ -z "$err$out" ] || wrong "quiet, but says $err$out"
expect 0 "$TRELLIS" graph -q m.trm lexicon.txt model.arpa.gz -o packed.trg
cmp -s plain.trg packed.trg || wrong "a packed grammar makes another graph"
{ echo 'a language model'; cat model.arpa; } >lm
expect 0 "$TRELLIS" graph -q m.trm lexicon.txt lm -o other.trg
cmp -s plain.trg other.trg || wrong "a language model by another name makes another graph"

# as a transducer: the probability of A, with silence on neither side. Transitions 3 and 4 are those of aa.
expect 0 "$TRELLIS" graph -q m.trm lexicon.txt model.arpa --self-loop-scale 1 --fst g.fst
printf '0 1 4\n1 2 3\n2 3 3\n3\n' | "$TRELLIS" fst compile --acceptor - -o said.fst
"$TRELLIS" fst arcsort g.fst -o sorted.fst
"$TRELLIS" fst compose said.fst sorted.fst | "$TRELLIS" fst shortestdistance --reverse - >cost
python3 - <<'END' || wrong "the cost of A is $(cat cost)"
import math, sys
first = float(open("cost").readline().split()[1])
expected = 1.1 * math.log(10) - 2 * math.log(0.5) - math.log(0.25) - 2 * math.log(0.75)
sys.exit(abs(first - expected) > 1e-3)
END
expect 0 "$TRELLIS" graph -q m.trm --hclg g.fst -o again.trg
cmp -s plain.trg again.trg && wrong "another scale, and the same graph"

# of words that sound the same and are as likely, the lexicon's first comes out
printf 'ZO aa b\nAO aa b\nMO aa b\n' >alike.txt
printf 'AO\nMO\nZO\n' >alike.words
expect 0 "$TRELLIS" graph -q m.trm alike.txt --words alike.words --fst alike.fst
printf '0 1 4\n1 2 6\n2\n' | "$TRELLIS" fst compile --acceptor - -o said.fst
"$TRELLIS" fst arcsort alike.fst -o sorted.fst
for n in 1 2 3; do
    "$TRELLIS" fst compose said.fst sorted.fst | "$TRELLIS" fst shortestpath -n $n - | "$TRELLIS" fst print - >paths
    [ "$(grep -Eo 'ZO|AO|MO' paths | sort -u | wc -l)" = $n ] || wrong "the $n best words: $(cat paths)"
    [ $n != 1 ] || contains "$(cat paths)" "ZO" "the lexicon's first word"
    [ $n != 2 ] || contains "$(cat paths)" "AO" "and its second"
done

# what is wrong is said, and nothing is written
refuse() { # CODE TEXT ARGUMENT …
    local code=$1 text=$2
    shift 2
    expect "$code" "$TRELLIS" graph "$@" -o none.trg
    contains "$err" "$text" "$*"
    [ ! -e none.trg ] || wrong "$* writes a graph"
}
refuse 2 "what may be said?" m.trm lexicon.txt
refuse 2 "exclude each other" m.trm lexicon.txt model.arpa --loop
refuse 2 "a LEXICON is missing" m.trm --loop
refuse 2 "a MODEL alone" m.trm lexicon.txt --hclg g.fst
refuse 2 "--rule is about" m.trm lexicon.txt --loop --rule y
expect 2 "$TRELLIS" graph m.trm lexicon.txt --loop
contains "$err" "-o GRAPH.trg is missing" "no output"
refuse 3 "no.trm" no.trm lexicon.txt --loop
refuse 3 "no.txt" m.trm no.txt --loop
refuse 3 "no.arpa" m.trm lexicon.txt no.arpa
sed 's/ngram 1=5/ngram 1=7/' model.arpa >short.arpa
refuse 3 "short.arpa:" m.trm lexicon.txt short.arpa
printf 'A aa\nAB aa b\n' >small.txt
refuse 3 "no pronunciation of 1 word of the grammar: B;" m.trm small.txt model.arpa
expect 0 "$TRELLIS" graph m.trm small.txt model.arpa --skip-missing -o some.trg
contains "$err" "1 word of the grammar left out" "--skip-missing"
tr '[:upper:]' '[:lower:]' <lexicon.txt >lower.txt
refuse 3 "no pronunciation of any of the 3 words" m.trm lower.txt model.arpa
expect 0 "$TRELLIS" graph -q m.trm lower.txt model.arpa --fold-case -o folded.trg
printf 'A aa\nC cc\n' >foreign.txt
refuse 3 "the word C has the phone cc, which is not in the model" m.trm foreign.txt --loop
printf '#JSGF V1.0;\ngrammar g;\npublic <x> = (A;\n' >bad.jsgf
refuse 3 "bad.jsgf:3:" m.trm lexicon.txt --jsgf bad.jsgf
refuse 3 "the model has 6 transitions" m.trm --hclg <("$TRELLIS" fst relabel --relabel-ipairs <(echo 4 99) g.fst)
finish
