#!/usr/bin/env bash
# The command line that all commands share: options, help in its forms, exit codes, lost output.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect CODE WORDS... : runs trellis, keeps its output, and complains about another exit code.
expect() {
    local wanted=$1
    shift
    "$TRELLIS" "$@" >"$folder/out" 2>"$folder/err"
    local got=$?
    [ "$got" -eq "$wanted" ] || complain "trellis $* gave $got, not $wanted"
}
says() { # says out|err TEXT : the last run's output has this text
    grep -qF -- "$2" "$folder/$1" || complain "no '$2' in: $(cat "$folder/$1")"
}
silent() { # silent out|err
    [ ! -s "$folder/$1" ] || complain "unexpected: $(cat "$folder/$1")"
}
complain() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

expect 2
says err "usage: trellis COMMAND"
silent out
expect 2 no-such-command
says err "there is no command 'no-such-command'"
silent out
for words in help --help -h; do
    expect 0 $words
    says out "usage: trellis COMMAND"
    silent err
done
for words in version --version; do
    expect 0 $words
    says out "trellis "
    silent err
done
TRELLIS_CPU=ref expect 0 version
says out "instruction set: ref"

for words in "help version" "version --help" "version -h" "--help version"; do
    expect 0 $words
    says out "usage: trellis version"
    says out "-t, --threads N"
    says out "Exit codes:"
    silent err
done
expect 2 help no such
says err "there is no command 'no such'"

expect 2 version surplus
says err "one argument too many: 'surplus'"
expect 2 version --quiett
says err "there is no option --quiett; did you mean --quiet?"
expect 2 version --nothing-like-it
says err "there is no option --nothing-like-it"
expect 2 version "--$(printf 'x%.0s' $(seq 300))=1"
expect 2 version -x
says err "there is no option -x"
expect 2 version --threads
says err "--threads needs an argument: N"
expect 2 version --quiet=1
says err "--quiet takes no argument"
for number in x "" 1x 1.5 99999999999999999999 3000000000; do
    expect 2 version --threads "$number"
    says err "--threads takes a whole number, not '$number'"
done
for words in "--threads 2" "--threads=2" "-t 2" "-t2" "-q -t -3" "--"; do
    expect 0 version $words
done
expect 2 version -- --quiet
says err "one argument too many: '--quiet'"

# Every line of help fits, and an option's text never touches its name.
expect 0 help help
awk 'length > 100 { bad = 1 } /^  -/ && !/^  (-., )?--[a-z-]+( [A-Z]+)?  *[^ ]/ { bad = 1 } END { exit bad }' "$folder/out" ||
    complain "help is badly laid out: $(cat "$folder/out")"

# The manual pages are roff without complaints; Markdown has one row per option.
for words in "help --man" "help --man version" "help --man help"; do
    expect 0 $words
    says out ".SH EXIT STATUS"
    if command -v groff >/dev/null; then
        groff -man -ww -Tutf8 -K utf8 "$folder/out" 2>&1 >/dev/null | grep . && complain "groff complains about $words"
    fi
done
says out '.B \-t, \-\-threads N'
expect 0 help --markdown help
says out "| \`--markdown\` | as Markdown"
says out "| \`-t, --threads N\` |"

# Results that can't be written are a failure, on a full disk and on a closed stream.
"$TRELLIS" help >/dev/full 2>"$folder/err"
[ $? -eq 3 ] || complain "a full disk went unnoticed"
says err "writing to standard output failed"
"$TRELLIS" help >&- 2>"$folder/err"
[ $? -eq 3 ] || complain "a closed output went unnoticed"

exit $((failures > 0))
