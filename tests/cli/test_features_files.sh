#!/usr/bin/env bash
# trellis features copy and show, as a user runs them; a full disk and a kill leave the old file.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE TEXT command …: the exit code, and the text somewhere in the output
expect() {
    local code=$1 text=$2
    shift 2
    "$@" >out.log 2>&1
    local got=$?
    [ $got -eq "$code" ] || fail "exit $got, not $code: $*"
    grep -qF -- "$text" out.log || fail "no '$text' in the output of: $* ($(cat out.log))"
}

printf 'a  [\n  1 2.5\n  -3 1e-20 ]\nb  [\n  7 8 ]\n' >in.txt

# what would be passed over is refused
expect 2 "leave out the ID" "$TRELLIS" features show --json ark:in.txt a
expect 3 "frame shift of 0 ms" "$TRELLIS" features copy --shift 0 ark:in.txt htk:zero

# every writable format, and back to the same text
"$TRELLIS" features copy -q ark:in.txt ark,t:first.txt || fail "copy to text"
for place in x.trf x.ark ark,scp:y.ark,y.scp htk:folder npy:arrays ark,t,scp:z.ark,z.scp; do
    "$TRELLIS" features copy -q ark:in.txt "$place" || fail "copy to $place"
done
for place in x.trf x.ark y.scp y.ark htk:folder npy:arrays z.scp; do
    "$TRELLIS" features copy -q "$place" ark,t:again.txt || fail "copy from $place"
    cmp -s first.txt again.txt || fail "$place differs"
done
expect 0 "7 8 ]" "$TRELLIS" features show npy:arrays b
expect 0 "2.5" "$TRELLIS" features show arrays/a.npy a
[ "$(head -c 6 arrays/a.npy | tail -c 5)" = NUMPY ] || fail "arrays/a.npy is no NumPy file"
[ "$(stat -c %s arrays/b.npy)" = $((128 + 8)) ] || fail "arrays/b.npy has a wrong size"
grep -qx "a y.ark:2" y.scp || fail "y.scp: $(cat y.scp)"

# streams: a pipe on both sides
cat x.ark | "$TRELLIS" features copy -q ark:- ark:- | "$TRELLIS" features copy -q - ark,t:- >piped.txt || fail "pipe"
cmp -s first.txt piped.txt || fail "the pipe changed something"

# show
expect 0 "a 2 x 2" "$TRELLIS" features show x.trf
expect 0 "2 utterances, 3 frames, 2 dimensions" "$TRELLIS" features show x.ark
expect 0 "features copy" "$TRELLIS" features show x.trf
expect 0 "-3 1e-20 ]" "$TRELLIS" features show x.trf a
expect 0 "7 8 ]" "$TRELLIS" features show x.ark b
expect 3 "there is no utterance c" "$TRELLIS" features show x.ark c
expect 3 "there is no utterance c" "$TRELLIS" features show x.trf c
expect 0 '"utterances": 2' "$TRELLIS" features show --json y.scp
expect 0 '"dimension_most": 2' "$TRELLIS" features show --json x.trf
expect 0 '"provenance": "trellis' "$TRELLIS" features show --json x.trf

# what goes wrong says where
expect 3 "does not tell the format" "$TRELLIS" features show what
expect 3 "none.trf: can't open: No such file" "$TRELLIS" features show none.trf
head -c 30 x.ark >cut.ark
expect 3 "cut.ark: at byte 17: 16 more bytes should follow, but there are only 13" "$TRELLIS" features show cut.ark
head -c 30 x.ark >cut.bin
expect 3 "standard input: at byte 17: 16 more bytes" bash -c "cat cut.bin | '$TRELLIS' features show -"
# a pipe that promises 4 GiB and ends: the memory grows with what comes, not with the promise
if [ -z "${TRELLIS_SANITIZE:-}" ]; then
    printf 'a \0BFM \4\0\0\0\100\4\1\0\0\0....' >promise.bin
    expect 3 "4294967296 more bytes should follow, but there are only 4" \
        bash -c "ulimit -v 300000; cat promise.bin | '$TRELLIS' features show -"
fi
head -c 300 x.trf >cut.trf
expect 3 "cut.trf: at byte 40" "$TRELLIS" features show cut.trf
printf 'a touch %s/was-run |\n' "$work" >evil.scp
expect 3 "evil.scp:1: utterance a is a command" "$TRELLIS" features show evil.scp
[ -e was-run ] && fail "a command in a script was run"
printf 'a [ 1 nan ]\n' >nan.ark
expect 3 "'nan' in frame 0, column 1" "$TRELLIS" features copy nan.ark nan.trf
[ -e nan.trf ] && fail "nan.trf was made"

# a full disk (here: a limit on file sizes) leaves the old files, and nothing else
mkdir full
awk 'BEGIN { for (u = 0; u < 200; u++) { printf "u%d  [", u; for (r = 0; r < 40; r++) { printf "\n "; for (c = 0; c < 20; c++) printf " %d", r * c + u; } print " ]" } }' >big.txt
for place in packed:full/f.trf ark:full/f.ark ark,t:full/f.txt ark,scp:full/g.ark,full/g.scp; do
    for file in f.trf f.ark f.txt g.ark g.scp; do
        echo "old" >full/$file
    done
    (
        ulimit -f 100
        trap '' XFSZ
        expect 3 "File too large" "$TRELLIS" features copy ark:big.txt "$place"
        exit $failures
    ) || failures=$((failures + 1))
    [ "$(cat full/*)" = "$(printf 'old\nold\nold\nold\nold')" ] || fail "a full disk changed the old files ($place)"
    [ "$(ls -A full | wc -l)" = 5 ] || fail "debris after a full disk ($place): $(ls -A full)"
done

# a kill in the middle of writing leaves the old file, and nothing else
mkdir killed
for place in packed:killed/f.trf ark:killed/f.ark; do
    rm -f killed/* feed
    mkfifo feed
    echo "old" >"${place#*:}"
    "$TRELLIS" features copy -q ark:feed "$place" &
    writer=$!
    exec 9>feed
    cat big.txt >&9 # returns when all but the pipe's last 64 KiB is read
    kill -KILL $writer
    wait $writer 2>/dev/null
    exec 9>&-
    [ "$(cat killed/*)" = old ] || fail "a kill changed the old file ($place)"
    [ "$(ls -A killed | wc -l)" = 1 ] || fail "debris after a kill ($place): $(ls -A killed)"
done

[ $failures -eq 0 ] && echo "all well"
exit $((failures > 0))
