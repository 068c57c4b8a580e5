#!/usr/bin/env bash
# Transcripts from an HTK master label file: the words of a corpus that has none of its own.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
command -v sox >/dev/null || skip "sox is not installed"

mkdir -p set/anna set/bert
for name in anna/001 bert/001 bert/002; do
    sox -n -r 16000 -b 16 "set/$name.wav" synth 2 sine 300 gain -12
done
cat >words.mlf <<'END'
#!MLF!#
"*/anna/001.lab"
HELLO
WORLD
.
"*/bert/001.rec"
0 5000000 h -10.5 GOOD
5000000 9000000 u
9000000 12000000 d -3 MORNING
.
"*/nobody.lab"
NOTHING
.
END
cat >lexicon.txt <<'END'
HELLO h e l o
WORLD w o l d
GOOD g u d
END

# The one without an entry is the only fault, and the lexicon is asked about the words of the file.
expect 1 "$TRELLIS" corpus check set --mlf words.mlf --lexicon lexicon.txt
contains "$out" 'set/bert/002.wav: 002: there is no transcript for this sound' 'an utterance without an entry'
contains "$out" "words.mlf:6: bert-001: MORNING" 'an unknown word, at its entry'
contains "$out" '4 words, 4 distinct; 1 not in the lexicon' 'the words of two utterances'

sed -i '$d' words.mlf
expect 3 "$TRELLIS" corpus check set --mlf words.mlf
contains "$err" 'words.mlf:' 'a broken file names itself'
contains "$err" 'full stop' 'and says what is missing'
expect 3 "$TRELLIS" corpus check set --mlf missing.mlf
contains "$err" 'missing.mlf' 'a file that is not there'
finish
