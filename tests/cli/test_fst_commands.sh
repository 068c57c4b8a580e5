#!/usr/bin/env bash
# trellis fst …: pipes, files, wrong arguments, damaged and half-written files, answers as exit codes.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
fst() { "$TRELLIS" fst "$@"; }

printf '0 1 1 2 0.5\n1 2 3 3\n0 2 1 1 2\n2 0.25\n' >a.txt
printf '<eps>\t0\none\t1\ntwo\t2\nthree\t3\n' >words.txt
expect 0 "$TRELLIS" fst compile a.txt -o a.fst

# ---- Pipes: binary in between, "-" or nothing for standard input ----

[ "$(fst print <a.fst)" = "$(fst print a.fst)" ] || wrong "standard input and a file give different text"
[ "$(fst compile <a.txt | fst invert | fst invert - | fst print)" = "$(fst print a.fst)" ] || wrong "a pipe of four changes the machine"
fst arcsort a.fst | fst compose - <(fst arcsort a.fst) -o composed.fst || wrong "composing a pipe and a descriptor"
[ "$(gzip -c a.txt | fst info | grep '# of arcs')" = "$(fst info a.fst | grep '# of arcs')" ] || wrong "packed text from a pipe"
gzip -c a.fst >a.fst.gz
expect 0 "$TRELLIS" fst equal a.fst a.fst.gz
expect 2 "$TRELLIS" fst union - -
contains "$err" "only one machine can come from standard input" "two machines from one pipe"
expect 3 bash -c "false | '$TRELLIS' fst print"
contains "$err" "nothing is in it" "an empty pipe"

# ---- Names ----

expect 0 "$TRELLIS" fst symbols --isymbols words.txt --osymbols=words.txt a.fst -o named.fst
expect 0 "$TRELLIS" fst print named.fst
contains "$out" $'0\t1\tone\ttwo\t0.5' "names in text"
expect 0 "$TRELLIS" fst print --numeric named.fst
[ "$out" = "$(fst print a.fst)" ] || wrong "--numeric shows names"
expect 0 "$TRELLIS" fst print --save_isymbols=saved.txt named.fst
diff words.txt saved.txt || wrong "the saved table is another one"
fst print named.fst >named.txt
expect 0 "$TRELLIS" fst compile --isymbols words.txt --osymbols words.txt --keep-isymbols --keep-osymbols named.txt -o again.fst
cmp named.fst again.fst || wrong "names do not survive text"
printf '<eps> 0\none 7\ntwo 8\nthree 9\n' >other.txt
expect 0 "$TRELLIS" fst relabel --relabel-isymbols other.txt --relabel-osymbols other.txt named.fst -o relabelled.fst
[ "$(fst print relabelled.fst)" = "$(fst print named.fst)" ] || wrong "relabelling changes names"
contains "$(fst print --numeric relabelled.fst)" $'0\t1\t7\t8\t0.5' "relabelled numbers"
printf 'one 7\n' >few.txt
expect 3 "$TRELLIS" fst relabel --relabel-isymbols few.txt named.fst
contains "$err" "the input label 3 (three) has no place" "a name that the new table lacks"
expect 3 "$TRELLIS" fst print --isymbols few.txt a.fst
contains "$err" "1 has no name in the symbol table few.txt" "a label without a name"
expect 0 "$TRELLIS" fst print --isymbols few.txt --missing-symbol '?' a.fst
expect 3 "$TRELLIS" fst symbols --save-isymbols x.txt a.fst
contains "$err" "no symbol table of the input side" "saving a table that is not there"

# ---- Answers ----

expect 0 "$TRELLIS" fst equal a.fst a.fst
contains "$err" "equal" "an answer"
expect 1 "$TRELLIS" fst equal a.fst composed.fst
contains "$err" "not equal" "an answer"
expect 1 "$TRELLIS" fst equal --quiet a.fst composed.fst
[ -z "$out$err" ] || wrong "--quiet speaks: $out$err"
expect 0 "$TRELLIS" fst isomorphic a.fst a.fst
expect 3 "$TRELLIS" fst equivalent a.fst a.fst

# ---- Wrong command lines ----

expect 2 "$TRELLIS" fst compose a.fst
expect 2 "$TRELLIS" fst print a.fst a.fst
expect 2 "$TRELLIS" fst arcsort --sort-type label a.fst
contains "$err" "--sort-type is one of ilabel, olabel, not 'label'" "a wrong choice"
expect 2 "$TRELLIS" fst compile --arc-type tropic a.txt
expect 2 "$TRELLIS" fst prune a.fst
expect 2 "$TRELLIS" fst prune --weight x a.fst
contains "$err" "\"x\" is not a weight of the tropical semiring" "a weight"
expect 2 "$TRELLIS" fst push a.fst
expect 2 "$TRELLIS" fst encode a.fst codes
expect 2 "$TRELLIS" fst relabel a.fst
expect 2 "$TRELLIS" fst replace a.fst 5 a.fst
expect 2 "$TRELLIS" fst map --map-type times a.fst
expect 2 "$TRELLIS" fst shortestpath --nshortest 0 a.fst
expect 2 "$TRELLIS" fst convert --fst-type compact a.fst
expect 2 "$TRELLIS" fst
contains "$err" "trellis fst shortestpath" "the list of operations"
expect 2 "$TRELLIS" fst shortestpaht a.fst
contains "$err" "did you mean 'fst shortestpath'?" "an operation that is not there"
expect 0 "$TRELLIS" help fst
contains "$out" "trellis fst compose" "help for all of fst"
expect 0 "$TRELLIS" help
[ "$(grep -c '^  fst' <<<"$out")" = 1 ] || wrong "the overview lists more than one line of fst"

# ---- Damaged files, files that can't be written ----

for size in 10 50 80 120; do
    head -c "$size" a.fst >cut.fst
    expect 3 "$TRELLIS" fst print cut.fst
    contains "$err" "cut.fst" "a cut file of $size bytes"
done
printf '0 1 1 2\n1 x\n' >bad.txt
expect 3 "$TRELLIS" fst compile bad.txt
contains "$err" 'bad.txt:2: "x" is not a weight' "the line of a fault"
cp a.fst old.fst
expect 3 "$TRELLIS" fst compile bad.txt -o old.fst
cmp a.fst old.fst || wrong "a failed command has touched its output"
expect 3 "$TRELLIS" fst invert a.fst -o no/such/folder.fst
expect 3 "$TRELLIS" fst print no.fst
contains "$err" "no.fst" "a file that is not there"
expect 3 "$TRELLIS" fst print .
if [ -e /dev/full ]; then
    expect 3 bash -c "'$TRELLIS' fst print a.fst >/dev/full"
    expect 3 bash -c "'$TRELLIS' fst invert a.fst >/dev/full"
    expect 3 bash -c "'$TRELLIS' fst info a.fst >/dev/full"
fi
expect 0 "$TRELLIS" fst invert old.fst -o old.fst
[ "$(fst print old.fst | head -n 1)" = $'0\t1\t2\t1\t0.5' ] || wrong "a file can't be changed in place"

# ---- Codes, distances, language models, pictures ----

expect 0 "$TRELLIS" fst encode --encode-labels --encode-weights a.fst codes -o encoded.fst
contains "$(fst info encoded.fst)" "acceptor                          y" "an encoded machine"
expect 0 "$TRELLIS" fst decode encoded.fst codes -o decoded.fst
expect 0 "$TRELLIS" fst equal a.fst decoded.fst
expect 3 "$TRELLIS" fst decode a.fst a.fst
contains "$err" "no table of codes" "a machine as a table"
expect 0 "$TRELLIS" fst shortestdistance --reverse a.fst -o potentials.txt
[ "$(<potentials.txt)" = $'0\t0.75\n1\t0.25\n2\t0.25' ] || wrong "distances: $(<potentials.txt)"
expect 0 "$TRELLIS" fst reweight a.fst potentials.txt -o pushed.fst
echo '9 1' >potentials.txt
expect 3 "$TRELLIS" fst reweight a.fst potentials.txt
contains "$err" "potentials.txt:1: expected a state" "a potential of no state"
expect 0 "$TRELLIS" fst shortestpath a.fst -o best.fst
[ "$(fst topsort best.fst | fst print | cut -f 3,4 | head -n 1)" = $'1\t2' ] || wrong "the best path: $(fst print best.fst)"
printf '\\data\\\nngram 1=3\n\n\\1-grams:\n-0.5 one\n-1 four\n-0.25 </s>\n\n\\end\\\n' | gzip >lm.gz
expect 0 "$TRELLIS" fst arpa --save-words lm.txt lm.gz -o lm.fst
[ "$(<lm.txt)" = $'<eps>\t0\none\t1\nfour\t2' ] || wrong "the words of the model: $(<lm.txt)"
expect 0 "$TRELLIS" fst arpa --words words.txt --backoff three --keep-symbols lm.gz -o lm.fst
contains "$err" "1 n-grams were left out: their words are not in words.txt" "unknown words"
[[ $(fst print --acceptor lm.fst) == $'0\t0\tone\t1.1512925'*$'\n0\t0.5756462'* ]] || wrong "the model: $(fst print --acceptor lm.fst)"
expect 2 "$TRELLIS" fst arpa --words words.txt --backoff none lm.gz
expect 3 "$TRELLIS" fst arpa a.txt
contains "$err" "no ARPA file" "text as a model"
expect 0 "$TRELLIS" fst info --json a.fst
contains "$out" '"arcs": 3' "numbers as JSON"

# Bytes don't go to a terminal; text does.
if command -v script >/dev/null; then
    contains "$(script -qc "'$TRELLIS' fst invert a.fst" /dev/null)" "the result is binary, and this is a terminal" "a terminal"
    contains "$(script -qc "'$TRELLIS' fst print a.fst" /dev/null)" $'0\t1\t1\t2' "text on a terminal"
fi
if command -v dot >/dev/null; then
    fst draw named.fst | dot -Tsvg >picture.svg || wrong "Graphviz refuses the picture"
    grep -q 'one:two/0.5' picture.svg || wrong "the picture lacks a label"
fi
finish
