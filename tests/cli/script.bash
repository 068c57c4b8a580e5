# Sourced by the test scripts: a temporary folder that goes away, and a count of what went wrong.
# A script ends with `finish`; it fails when `wrong` was called.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

wrong() {
    echo "WRONG: $*"
    faults=$((faults + 1))
}

skip() {
    echo "skipped: $*"
    exit 77
}

# Runs a command, its output in $out and $err, and compares the exit code: expect CODE COMMAND …
expect() {
    local wanted=$1 code=0
    shift
    "$@" >"$folder/out" 2>"$folder/err" || code=$?
    out=$(<"$folder/out")
    err=$(<"$folder/err")
    [ "$code" = "$wanted" ] || wrong "exit code $code instead of $wanted: $*"$'\n'"$out"$'\n'"$err"
}

# Is the text in the other? contains TEXT PART WHAT
contains() { [[ $1 == *"$2"* ]] || wrong "$3: no '$2' in: $1"; }

# The functions that a public header declares, one per line.
declared_in() {
    awk '/^TRL_API/ { text = ""; on = 1 }
        on { text = text $0 }
        on && /;/ { match(text, /trl_[a-z0-9_]*\(/); print substr(text, RSTART, RLENGTH - 1); on = 0 }' "$1"
}

finish() {
    [ "$faults" = 0 ] || exit 1
    exit 0
}
