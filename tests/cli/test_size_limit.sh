#!/usr/bin/env bash
# A limit on the size of files (ulimit -f) fails the write, as a full disk does: with its name and the reason, exit code 3, and nothing left behind.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v python3 >/dev/null || skip "python3 is not installed"
mkdir "$folder/here"
cd "$folder/here" || exit 1
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
echo old >f.ark
before=$(find . | sort)
limited() { (ulimit -f 8 && "$TRELLIS" "$@"); }
for command in "features sounds -o f.ark -q" "features sounds -o new.trf -q"; do
    # shellcheck disable=SC2086
    expect 3 limited $command
    contains "$err" "File too large" "$command"
done
[ "$(<f.ark)" = old ] || wrong "the file that was there has changed"
[ "$before" = "$(find . | sort)" ] || wrong "left behind: $(find . | sort)"
finish
