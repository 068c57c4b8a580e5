#!/usr/bin/env bash
# Runs every command of docs/tutorial.md, in order, in an empty folder; each must do what the page says.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
for program in espeak-ng flite sox gnuplot python3; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
cd "$folder" || exit 1
PATH=$(dirname "$TRELLIS"):$PATH

# `command && exit 1` on the page means: this command must fail. It must fail with the code for findings or, for a corpus that
# stops a command, 3; a crash has another code.
sed -n '/^```sh$/,/^```$/{/^```/!p}' "$TRELLIS_SOURCE_DIR/docs/tutorial.md" |
    sed 's/^\(trellis .*\) && exit 1$/code=0; \1 || code=$?; [ $code = 1 ] || [ $code = 3 ] || exit 1/' >tutorial
[ "$(grep -c '^trellis\|^code=0; trellis' tutorial)" -ge 24 ] || wrong "the page has lost its commands"
expect 0 bash -eu -o pipefail tutorial

contains "$(<findings.json)" '"unknown-word"' "the misspelt word"
contains "$(<findings.json)" LEFFT "the misspelt word"
contains "$(<findings.json)" '"no-sound"' "the missing file"
contains "$(<findings.json)" '"empty-sound"' "the empty file"
expect 0 trellis features show --json broken.trf
[ "$(grep -o '"id"' <<<"$out" | wc -l)" = 78 ] || wrong "not 80 - 2 utterances in broken.trf: $out"
[ "$(head -c 4 utterance.png | od -An -tx1 | tr -d ' ')" = 89504e47 ] || wrong "utterance.png is no PNG file"
[ "$(ls aligned/*.TextGrid | wc -l)" = 80 ] || wrong "not 80 TextGrids"
[ "$(wc -l <aligned/words.ctm)" -ge 80 ] || wrong "words.ctm has fewer words than there are utterances"
contains "$(<report.html)" "<svg" "the report's pictures"
[ "$(wc -l <words.found)" = "$(wc -l <test/text)" ] || wrong "not a line of words for each utterance"
for name in words phrases; do # of 123 words
    expect 0 trellis score test/text $name.found
    errors=$(sed -n 's/^ *\([0-9]*\) errors in .*/\1/p' <<<"$out")
    [ "${errors:-99}" -lt 45 ] || wrong "$errors wrong words of voices that were not heard: $out"
done
contains "$(<better.html)" "<h2>Stages" "the report of a training in stages"
contains "$(<ao.dot)" "digraph" "the tree of AO"
[ "$(wc -l <better-aligned/words.ctm)" = "$(wc -l <aligned/words.ctm)" ] || wrong "the better model aligns other words"
expect 0 trellis model stat tri.trm
contains "$out" "tree  " "a model with context from one without"
finish
