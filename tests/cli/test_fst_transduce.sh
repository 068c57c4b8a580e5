#!/usr/bin/env bash
# trellis fst viterbi, forward, backward, counts, train, index, on the French-English example of Argueta and Chiang (2017, Fig. 1).
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
trellis=$TRELLIS

printf '%s\n' '<eps> 0' 'le 1' 'chat 2' '</s> 3' >french.txt
printf '%s\n' '<eps> 0' 'the 1' 'a 2' 'cat 3' '</s> 4' >english.txt
# -log 0.48, -log 0.08
cat >fig1.txt <<END
0 1 le the 0.733969
0 2 le a 2.525729
1 3 chat cat
2 4 chat cat
3 5 </s> </s>
4 5 </s> </s>
5
END
expect 0 "$trellis" fst compile --isymbols french.txt --osymbols english.txt --keep-isymbols --keep-osymbols fig1.txt -o fig1.fst
expect 0 "$trellis" fst index fig1.fst -o fig1.trt
echo 'le chat </s>' >input.txt

for machine in fig1.fst fig1.trt; do
    for method in frontier serial parallel prefix; do
        expect 0 "$trellis" fst viterbi --weights --method $method --threads 2 $machine input.txt
        [[ $out == 0.73396*$'\tthe cat </s>' ]] || wrong "$machine, $method: $out"
        for sum in forward backward; do
            expect 0 "$trellis" fst $sum --method $method $machine input.txt # -log 0.56 = 0.579818
            [[ $out == 0.57981* ]] || wrong "$machine, $method, $sum: $out"
        done
    done
done
expect 0 "$trellis" fst counts -q fig1.fst input.txt
contains "$out" $'0\t1\t1\t1\t0.857142' "the expected count of le:the, 0.48 / 0.56"
contains "$out" $'5\t1' "paths end in state 5"

# Standard input; what has no path is an empty line and exit code 1, unknown words too.
printf 'le chat </s>\nle\nun chat </s>\n' | "$trellis" fst viterbi fig1.fst >out 2>err
[ $? = 1 ] || wrong "inputs without path do not show in the exit code"
[ "$(tr '\n' '|' <out)" = 'the cat </s>|||' ] || wrong "lines: $(cat out)"
contains "$(cat err)" "2 of 3 inputs have no path" "message"

# Numbers without tables, pairs, lattices.
printf '1 2 3\t2 3 4\n' >pair.txt
expect 0 "$trellis" fst print --numeric fig1.fst -o numbers.txt
expect 0 "$trellis" fst compile numbers.txt -o numbers.fst
expect 0 "$trellis" fst viterbi --weights --pairs numbers.fst pair.txt
[[ $out == 2.5257*$'\t2 3 4' ]] || wrong "pair: $out"
printf '0 1 1 1 0.5\n0 1 2 2\n1 2 2 2 0.25\n2 3 3 3\n3\n' >lattice.txt
expect 0 "$trellis" fst compile lattice.txt -o lattice.fst
expect 0 "$trellis" fst viterbi --weights --lattices numbers.fst lattice.fst lattice.fst
[[ $out == 1.48396*$'\t1 3 4\n'1.48396*$'\t1 3 4' ]] || wrong "lattices: $out"

# A machine and lattices as text, by name and by number; a side must be the one or the other.
expect 0 "$trellis" fst viterbi --weights fig1.txt input.txt --isymbols french.txt --osymbols english.txt
[[ $out == 0.73396*$'\tthe cat </s>' ]] || wrong "text with names: $out"
expect 0 "$trellis" fst viterbi --weights numbers.txt input.txt --isymbols french.txt --osymbols english.txt
[[ $out == 0.73396*$'\tthe cat </s>' ]] || wrong "text with numbers: $out"
printf '0 1 le le 0.5\n0 1 chat chat\n1 2 chat chat 0.25\n2 3 </s> </s>\n3\n' >names.txt
for lattice in names.txt lattice.txt; do
    expect 0 "$trellis" fst viterbi --weights --lattices fig1.fst $lattice
    [[ $out == 1.48396*$'\tthe cat </s>' ]] || wrong "a lattice as text, $lattice: $out"
done
sed '1s/le the/1 the/' fig1.txt >mixed.txt
expect 3 "$trellis" fst viterbi mixed.txt input.txt --isymbols french.txt --osymbols english.txt
contains "$err" 'mixed.txt:2: "le" is not' "names behind a number"
sed '2s/le a/1 a/' fig1.txt >mixed.txt
expect 3 "$trellis" fst viterbi mixed.txt input.txt --isymbols french.txt --osymbols english.txt
contains "$err" 'mixed.txt:2: "1" is not in the symbol table french.txt; labels are names or numbers, not both' "a number behind names"
expect 3 "$trellis" fst viterbi fig1.txt input.txt --isymbols french.txt
contains "$err" 'names need a symbol table' "a side without table"

# Counts add up; training from pairs: le is "the" twice and "a" once.
printf 'le chat </s>\tthe cat </s>\nle chat </s>\tthe cat </s>\n' >part1.txt
printf 'le chat </s>\ta cat </s>\n' >part2.txt
cat part1.txt part2.txt >all.txt
expect 0 "$trellis" fst counts -q --pairs fig1.fst part1.txt -o part1.counts
expect 0 "$trellis" fst counts -q --pairs fig1.fst part2.txt -o part2.counts
expect 0 "$trellis" fst counts -q fig1.fst --add part1.counts --add part2.counts -o all.counts
expect 0 "$trellis" fst counts -q --pairs fig1.fst all.txt -o whole.counts
cmp -s all.counts whole.counts || wrong "the counts of two parts are not those of the whole"
expect 0 "$trellis" fst train fig1.fst all.txt -o trained.fst
contains "$err" "round 0: weight" "rounds are shown"
expect 0 "$trellis" fst print trained.fst
contains "$out" $'le\tthe\t0.40546' "-log 2/3"
contains "$out" $'le\ta\t1.0986' "-log 1/3"
expect 0 "$trellis" fst train -q fig1.fst --counts all.counts -o again.fst
cmp -s trained.fst again.fst || wrong "one estimation from counts differs from training"
expect 0 "$trellis" fst train -q --normal conditional --index fig1.fst all.txt -o trained.trt
expect 0 "$trellis" fst viterbi --weights trained.trt input.txt
[[ $out == 0.40546*'the cat </s>' ]] || wrong "trained and mapped: $out"

# What is wrong is said.
printf '%s\n' 'le chat </s>' 'le chien </s>' 'chat' >unknown.txt
expect 1 "$trellis" fst viterbi fig1.fst unknown.txt
contains "$err" "fst viterbi: 2 of 3 inputs have no path; 1 of them with words that the symbol table does not have, the first is chien in input 2" "a word that is not there"
printf '%s\n' '<eps> 0' 'last 2147483647' >largest.txt
printf '%s\n' '0 1 last last' '1' >largest.fst.txt
expect 0 "$trellis" fst compile --isymbols largest.txt --osymbols largest.txt --keep-isymbols --keep-osymbols largest.fst.txt -o largest.fst
printf '%s\n' 'last' 'other' >largest.in
expect 1 "$trellis" fst viterbi largest.fst largest.in
[ "$out" = last ] || wrong "a name that the table lacks is not the largest label: $out"
printf 'last\tother\n' >largest.pair
expect 1 "$trellis" fst forward --pairs largest.fst largest.pair
[ "$out" = inf ] || wrong "an output that the table lacks: $out"
expect 2 "$trellis" fst viterbi --method magic fig1.fst input.txt
expect 2 "$trellis" fst viterbi fig1.fst input.txt input.txt
expect 3 "$trellis" fst viterbi missing.fst input.txt
expect 3 "$trellis" fst viterbi numbers.fst input.txt
contains "$err" "input.txt:1" "a word where a number must be, with its place"
expect 3 "$trellis" fst viterbi numbers.fst <input.txt
contains "$err" "standard input:1" "the same from standard input"
expect 3 "$trellis" fst viterbi fig1.fst lattice.fst
contains "$err" "lattice.fst:1: a NUL in the line: this is no text; machines are read with --lattices" "a machine as text"
expect 3 "$trellis" fst info fig1.trt
contains "$err" "fst index" "an index where a machine is wanted"
expect 3 "$trellis" fst train fig1.fst input.txt -o no.fst
contains "$err" "tab" "a pair without tab"
expect 3 "$trellis" fst counts fig1.fst --add input.txt
head -c 900 fig1.trt >cut.trt
expect 3 "$trellis" fst viterbi cut.trt input.txt
expect 3 "$trellis" fst train fig1.fst --counts trained.trt -o no.fst
finish
