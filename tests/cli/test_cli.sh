#!/usr/bin/env bash
# The command line itself: what every command has in common, mistakes and the exit codes for them.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"

version=$(sed -n 's/^#define TRL_VERSION "\(.*\)"/\1/p' "$TRELLIS_SOURCE_DIR/include/trellis/version.h")

# Nothing said: the overview, as an error. Asked for: the same text as a result.
expect 2 "$TRELLIS"
overview=$err
[ -z "$out" ] || wrong "usage errors must leave standard output empty"
expect 0 "$TRELLIS" --help
[ "$out" = "$overview" ] || wrong "trellis and trellis --help differ"
expect 0 "$TRELLIS" help
[ "$out" = "$overview" ] || wrong "trellis and trellis help differ"

expect 0 "$TRELLIS" version
contains "$out" "trellis $version" "version"
expect 0 "$TRELLIS" --version
contains "$out" "trellis $version" "--version"

# Every command explains itself, in three forms, and says no to an option it does not have.
expect 0 "$TRELLIS" help --names
names=$out
[ -n "$names" ] || wrong "no commands"
lists="$overview $("$TRELLIS" help fst)" # the overview has one line for all of fst
while read -ra words; do
    contains "$lists" " ${words[*]} " "overview"
    expect 0 "$TRELLIS" "${words[@]}" --help
    help=$out
    contains "$help" "usage: trellis ${words[*]}" "help of ${words[*]}"
    contains "$help" "--quiet" "help of ${words[*]}"
    [[ $help != *" "$'\n'* ]] || wrong "help of ${words[*]}: a line ends in a blank"
    expect 0 "$TRELLIS" help "${words[@]}"
    [ "$out" = "$help" ] || wrong "'help ${words[*]}' and '${words[*]} --help' differ"
    expect 0 "$TRELLIS" help --man "${words[@]}"
    contains "$out" ".SH NAME" "manual page of ${words[*]}"
    expect 0 "$TRELLIS" help --markdown "${words[@]}"
    contains "$out" "# trellis ${words[*]}" "Markdown of ${words[*]}"
    expect 2 "$TRELLIS" "${words[@]}" --no-such-option
    contains "$err" "no option --no-such-option" "${words[*]}"
    expect 2 "$TRELLIS" "${words[@]}" -Z
    contains "$err" "no option -Z" "${words[*]}"
    expect 2 "$TRELLIS" "${words[@]}" --quite
    contains "$err" "did you mean --quiet?" "${words[*]}"
    expect 2 "$TRELLIS" "${words[@]}" --quiet=yes
    contains "$err" "takes no argument" "${words[*]}"
    expect 2 "$TRELLIS" "${words[@]}" --threads two
    contains "$err" "whole number" "${words[*]}"
    expect 2 "$TRELLIS" "${words[@]}" --threads
    contains "$err" "needs an argument" "${words[*]}"
    [[ $help =~ usage:[^$'\n']*[A-Z]… ]] || # any number of arguments
        expect 2 "$TRELLIS" "${words[@]}" a b c d e f g h i j k l m n o p q r s t u v w x y z
    [ -z "$out" ] || wrong "${words[*]}: output in spite of too many arguments"
done <<<"$names"

# Commands that do not exist.
expect 2 "$TRELLIS" versoin
contains "$err" "no command 'versoin'; did you mean 'version'?" "unknown command"
expect 2 "$TRELLIS" xylophone
contains "$err" "no command 'xylophone'" "unknown command"
[[ $err != *"did you mean"* ]] || wrong "a suggestion that is far off: $err"
expect 2 "$TRELLIS" help xylophone
contains "$err" "no command 'xylophone'" "help for an unknown command"

expect 2 "$TRELLIS" corpus chekc
contains "$err" "no command 'corpus chekc'; did you mean 'corpus check'?" "an unknown command of two words"
for pair in 'compsoe compose' 'det determinize' 'min minimize' 'prnt print' 'rmeps rmepsilon'; do
    expect 2 "$TRELLIS" fst "${pair% *}"
    contains "$err" "no command 'fst ${pair% *}'; did you mean 'fst ${pair#* }'?" "a mistyped operation"
done
expect 2 "$TRELLIS" fst sort
contains "$err" "did you mean 'fst arcsort' or 'fst topsort'?" "two that are as near"
expect 2 "$TRELLIS" fst co
[[ $err != *"did you mean"* ]] || wrong "too many suggestions: $err"
contains "$err" "no command 'fst co'
trellis fst is one of:" "an operation that is not there"
for family in fst bam corpus; do
    for question in --help -h; do
        expect 0 "$TRELLIS" "$family" "$question"
        [ "$out" = "$("$TRELLIS" help "$family")" ] || wrong "'$family $question': $out"
    done
done

# Forms of options, and values that are none.
for words in "--threads 2" "--threads=2" "-t 2" "-t2" "-q -t 0" "--"; do
    # shellcheck disable=SC2086
    expect 0 "$TRELLIS" version $words
done
for number in "" 1x 1.5 99999999999999999999 3000000000; do
    expect 2 "$TRELLIS" version --threads "$number"
    contains "$err" "--threads takes a whole number, not '$number'" "--threads '$number'"
done
expect 2 "$TRELLIS" version --threads -3
contains "$err" "from 0 up" "a negative number of threads"
expect 2 "$TRELLIS" version "--$(printf 'x%.0s' $(seq 300))=1"
expect 2 "$TRELLIS" corpus check here --json --all
contains "$err" "--json needs an argument: FILE" "an option where a file should stand"
[ ! -e ./--all ] || wrong "an option was taken for a file name"
expect 2 "$TRELLIS" version -- --quiet
contains "$err" "one argument too many: '--quiet'" "an argument after --"
expect 0 env TRELLIS_CPU=ref "$TRELLIS" version
contains "$out" "instruction set: ref" "TRELLIS_CPU"

# Every line of help fits, and an option's text never touches its name.
expect 0 "$TRELLIS" help help
awk 'length > 100 { bad = 1 } /^  -/ && !/^  (-., )?--[a-z-]+( [A-Z]+)?  *[^ ]/ { bad = 1 } END { exit bad }' <<<"$out" ||
    wrong "help is badly laid out: $out"
expect 0 "$TRELLIS" help --markdown help
contains "$out" "| \`--markdown\` | as Markdown" "a row of options in Markdown"

# A result that can't be written is a failure, on a full disk and on a closed stream.
if [ -c /dev/full ]; then
    expect 3 bash -c "'$TRELLIS' help >/dev/full"
    contains "$err" "writing to standard output failed" "a full disk"
fi
expect 3 bash -c "'$TRELLIS' help >&-"
finish
