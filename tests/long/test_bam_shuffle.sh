#!/usr/bin/env bash
# More records than memory: at least 5 GB (TRELLIS_SHUFFLE_MB) go through the external sort and through reducers of 300 MB, killed while mapping and while reducing and started again. The store is that of a run that
# nobody disturbed, and of other shards.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
megabytes=${TRELLIS_SHUFFLE_MB:-5200}
memory=300
[ -z "$TRELLIS_SANITIZE" ] || skip "sanitizers take memory of their own, and too long for gigabytes"
cd "$folder" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q

# The same sounds under many names: an utterance's name decides which of its frames are in a sample, so they count as different.
options=(--order 5 --min-frames 2000 --max-frames 256000 --iterations 1)
expect 0 "$TRELLIS" bam map tones.trm sounds lexicon.txt -o once.bam -q --order 5
copies=$((megabytes * 1050000 / $(stat -c %s once.bam) + 1)) # sizes of records don't count
python3 - "$copies" >corpus.tsv <<'PYTHON'
import pathlib, sys
print("id", "path", "text", "speaker", sep="\t")
for copy in range(int(sys.argv[1])):
    for sound in sorted(pathlib.Path("sounds").glob("*/*.wav")):
        print(f"{copy:06d}-{sound.stem}", sound, sound.with_suffix(".lab").read_text().strip(), f"{copy:06d}-{sound.parent.name}", sep="\t")
PYTHON

# Runs a command and says what it took at most: measured COMMAND …
measured() {
    python3 - "$@" <<'PYTHON'
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, "MB")
sys.exit(code)
PYTHON
}
train=("$TRELLIS" bam train tones.trm corpus.tsv lexicon.txt "${options[@]}" --memory 100)

# Killed when this many runs, then parts, are there.
kill_at() { # PATTERN
    "${train[@]}" -o killed --shards 40 --threads 2 -q &
    local process=$!
    while kill -0 "$process" 2>/dev/null && ! compgen -G "killed.work/$1" >/dev/null; do
        read -rt 0.1 _ <>pause
    done
    kill -9 "$process" 2>/dev/null || wrong "it was too quick to be killed at $1"
    wait "$process" 2>/dev/null
}
mkfifo pause
kill_at "run-$(printf %06d $((megabytes / 100 / 2)))"
kill_at 'part-*-00001*'
expect 0 measured "${train[@]}" -o killed --shards 40 --threads 1
contains "$err" "resumed: " "goes on"
echo "$err"
records=$(sed -n 's/.*records, \([0-9]*\)\.[0-9]* MB,.*/\1/p' <<<"$err")
[ "$records" -ge "$megabytes" ] || wrong "only $records MB of records"
peak=$(sed -n 's/^peak \([0-9]*\) MB$/\1/p' <<<"$out")
[ "$peak" -le "$memory" ] || wrong "a reducer took $peak MB"
expect 0 "${train[@]}" -o whole --shards 7 --threads 2 -q
diff -r whole killed || wrong "another store after kills"
echo "$records MB of records, peak $peak MB"
finish
