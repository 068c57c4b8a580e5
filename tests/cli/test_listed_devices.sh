#!/usr/bin/env bash
# A list of sounds or features that names a pipe or a device, which may never end or never begin: that utterance is left out, with the same words everywhere.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o loop.trg -q
mkfifo pipe.wav
mkdir set
for kind in kaldi tsv; do
    corpus="set"
    [ $kind = kaldi ] || corpus=set.tsv
    for sound in sounds/anna/*.wav; do
        id=$(basename "$sound" .wav)
        printf '%s\t%s\t%s\n' "$id" "$PWD/$sound" "$(<"${sound%.wav}.lab")"
    done >lines
    printf 'zz1\t/dev/zero\tAA\nzz2\t%s\tAA\n' "$PWD/pipe.wav" >>lines
    if [ $kind = kaldi ]; then
        cut -f 1,2 lines | tr '\t' ' ' >set/wav.scp
        cut -f 1,3 lines | tr '\t' ' ' >set/text
    else
        { printf 'id\tpath\ttext\n' && cat lines; } >set.tsv
    fi
    for command in "features $corpus -o f.ark --skip-bad" "decode tones.trm loop.trg $corpus -o words.txt --skip-bad" \
        "train $corpus lexicon.txt -o new.trm -n 1 --set deltas=0 --skip-bad" "align tones.trm $corpus lexicon.txt -o aligned --skip-bad" \
        "corpus check $corpus --lexicon lexicon.txt"; do
        # shellcheck disable=SC2086
        expect 1 timeout 20 "$TRELLIS" $command
        [ "$(grep -c "zz[12].*not a regular file" <<<"$out$err")" = 2 ] ||
            wrong "$command does not say what can't be read: $out$err"
    done
done
printf 'a pipe.wav\n' >f.scp
expect 3 timeout 20 "$TRELLIS" features copy scp:f.scp copy.ark
contains "$err" "pipe.wav: not a regular file" "features of a pipe"
finish
