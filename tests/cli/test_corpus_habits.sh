#!/usr/bin/env bash
# Corpora as users of Kaldi and Montreal Forced Aligner have them, with the slips that happen there.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
command -v sox >/dev/null || skip "sox is not installed"

run() { # CODE ARGUMENTS …
    local code=$1
    shift
    expect "$code" "$TRELLIS" corpus check "$@"
}
shows() { grep -qxF -- "$1" out || wrong "missing: $1"$'\n'"$out"; }
tone() { sox -n -r 16000 -b 16 "$1" synth "${2:-1}" sine 300 gain -12; }

# ---- An id that is used twice: the first line counts ----
mkdir twice
tone twice/a.wav
tone twice/b.wav
printf 'a a.wav\nb b.wav\na b.wav\n' >twice/wav.scp
printf 'a one\nb two\na three\n' >twice/text
run 1 twice
shows 'twice/wav.scp:3: a: line 1 has the same id; this one is left out'
shows 'twice/text:3: a: line 1 has a transcript for the same id; this one is left out'
shows '2 utterances (0 unusable) of 2 speakers in 2 recordings, 2.00 s of usable sound at 16000 Hz'
expect 1 "$TRELLIS" features -q twice -o ark,t:twice.txt --skip-bad
[ "$(grep -c '\[' twice.txt)" = 2 ] || wrong "--skip-bad leaves out both utterances of an id"

# ---- A folder where a sound should be: said once, and the count goes to its end ----
mkdir -p set/dir.wav
tone set/a.wav
printf 'a a.wav\nb dir.wav\n' >set/wav.scp
printf 'a one\nb two\n' >set/text
run 1 set
shows 'set/wav.scp:2: b: dir.wav is a folder, not a sound file'
shows '1 finding: 1 error, 0 warnings'
contains "$err" '100%  2/2' "progress"

# ---- Lexicons: odd phones, other files, other encodings ----
printf 'one W AH N\ntwo 0.5 T UW\nTHREE TH R IY/IY\n' >lexicon.txt
printf 'a One three "one" three\nb two four\n' >twice/text
printf 'a a.wav\nb b.wav\n' >twice/wav.scp
run 1 twice --lexicon lexicon.txt --as-is
shows 'lexicon.txt:2: 0.5, a number, is taken as a phone'
shows 'lexicon.txt:3: IY/IY, with a slash, is taken as a phone'
shows 'lexicon: 3 words, 9 phones'
[ "$(sed -n 's/^twice.*: \(.*\) is not in the lexicon \(.*\)/\1 \2/p' out)" = \
    $'three (2 times, first here); it has THREE; --fold-case takes it\n"one" (once); it has one\nOne (once); it has one; --fold-case takes it\nfour (once)' ] ||
    wrong "unknown words: $out"
run 3 twice --lexicon twice/a.wav
contains "$err" 'twice/a.wav: not a lexicon: this is not text' "a sound as lexicon"
printf 'one W AH N\n\xe9t\xe9 E T E\n' >latin.txt
run 3 twice --lexicon latin.txt
contains "$err" 'latin.txt:2: not valid UTF-8 (byte e9)' "a lexicon in Latin-1"

# ---- TextGrids: alignments of Montreal Forced Aligner, intervals that overlap ----
mkdir -p grids/anna
for name in one two three four; do tone grids/anna/$name.wav 2; done
cat >grids/anna/one.TextGrid <<'END'
"ooTextFile" "TextGrid" 0 2 <exists> 2
"IntervalTier" "Words" 0 2 4
0 0.2 ""
0.2 0.4 "good"
0.4 0.6 "morning"
0.6 2 ""
"IntervalTier" "Phones" 0 2 3
0 0.2 ""
0.2 0.6 "g"
0.6 2 "sil"
END
cat >grids/anna/two.TextGrid <<'END'
"ooTextFile" "TextGrid" 0 2 <exists> 5
"IntervalTier" "bert - words" 0 2 2
0.1 0.5 "yes"
0.6 0.9 "indeed"
"IntervalTier" "bert - phones" 0 2 1
0.1 0.5 "y"
"IntervalTier" "carl - words" 0 2 1
1 1.5 "no"
"IntervalTier" "carl - phones" 0 2 1
1 1.5 "n"
"IntervalTier" "dora" 0 2 1
1.5 1.9 "quiet please"
END
cat >grids/anna/three.TextGrid <<'END'
"ooTextFile" "TextGrid" 0 2 <exists> 2
"IntervalTier" "words" 0 2 1
0 1 ""
"IntervalTier" "phones" 0 2 1
0 1 "x"
END
cat >grids/anna/four.TextGrid <<'END'
"ooTextFile" "TextGrid" 0 2 <exists> 1
"IntervalTier" "words" 0 2 3
0 1 "this is a"
0.5 1.5 "speaker"
1.5 2 "called words"
END
run 1 grids
shows "grids/anna/one.TextGrid: tier 'Words' stands beside one of phones, so these are no speakers: the words are taken \
as one transcript, the phones are passed over"
contains "$out" "grids/anna/two.TextGrid: tier 'bert - words' stands" "two alignments in one file"
shows 'grids/anna/three.TextGrid: three: no interval has text'
shows 'grids/anna/four.TextGrid:4: four-words-00000500-00001500: tier words: starts at 0.5 s, but an interval before it ends at 1 s'
shows '8 utterances (2 unusable) of 4 speakers in 4 recordings, 5.20 s of usable sound at 16000 Hz'
shows '13 words, 13 distinct'
shows '4 findings: 2 errors, 2 warnings'

# ---- A transcript of several lines ----
mkdir lines
tone lines/a.wav 2
printf 'one\ntwo four\n' >lines/a.lab
tone lines/b.wav
printf 'four\n' >lines/b.lab
run 1 lines --lexicon lexicon.txt
shows 'lines/a.lab: a: four is not in the lexicon (2 times, first here)'

# ---- The folder above the corpora ----
mkdir -p above/wav above/train above/test above/cv/more
tone above/wav/a.wav
tone above/wav/b.wav
printf 'a wav/a.wav\n' | tee above/train/wav.scp >above/test/wav.scp
run 1 above
shows 'above: none of the 2 utterances has a transcript; did you mean above/test or above/train?'
run 0 above --text-optional
rm above/wav/*.wav
printf 'sentence\tpath\r\nyes\ta.wav\n' >above/cv/validated.tsv
printf 'path of nothing\tduration\n' >above/cv/times.tsv
run 3 above/cv
contains "$err" 'in this folder; did you mean above/cv/validated.tsv?' "a manifest in the folder"
run 3 above
contains "$err" 'did you mean above/cv/validated.tsv, above/test or above/train?' "three corpora"
run 3 above/cv/more
[ "${err#*did you mean}" = "$err" ] || wrong "a hint where there is nothing: $err"

# ---- An id that is not UTF-8 ----
mkdir bytes
tone bytes/a.wav
printf 'a a.wav\n' >bytes/wav.scp
printf 'a one\nb\377 two\n' >bytes/text
run 1 bytes
shows 'bytes/text:2: this line is not valid UTF-8; it is left out'

finish
