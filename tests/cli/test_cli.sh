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
while read -ra words; do
    contains "$overview" "  ${words[*]} " "overview"
    expect 0 "$TRELLIS" "${words[@]}" --help
    help=$out
    contains "$help" "usage: trellis ${words[*]}" "help of ${words[*]}"
    contains "$help" "--quiet" "help of ${words[*]}"
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

# A result that can't be written is a failure.
[ ! -c /dev/full ] || expect 3 bash -c "'$TRELLIS' help >/dev/full"
finish
