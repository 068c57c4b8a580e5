#!/usr/bin/env bash
# The shape of the tree: lower layers never include higher ones, file names are unique, functions are short.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$TRELLIS_SOURCE_DIR" || exit 1
longest=60 # lines of a function's body

declare -A rank=([base]=0 [audio]=1 [fst]=1 [corpus]=2 [lm]=2 [feat]=3 [model]=4 [backend]=5 [adapt]=5 [align]=6 [transduce]=6
    [train]=7 [decode]=7 [bam]=8 [cluster]=8)

# The layer of a public header is the folder where its first function is defined; none: it is only declarations.
layer_of_header() {
    local name
    name=$(declared_in "$1" | head -n 1)
    [ -z "$name" ] || grep -lE "^[a-z].*\b$name\(" src/*/*.c src/*/*/*.c 2>/dev/null | head -n 1 | cut -d / -f 2
}
declare -A public
for header in include/trellis/*.h; do
    public[$(basename "$header")]=$(layer_of_header "$header")
done
[ "${public[pool.h]}" = base ] || wrong "pool.h is not found to be of the base layer"

for layer in src/*/; do
    layer=$(basename "$layer")
    [ -n "${rank[$layer]:-}" ] || { wrong "src/$layer has no place in the order of layers" && continue; }
    while IFS=: read -r file line include; do
        used=$(sed -E 's/.*"([a-z_]+)\/.*/\1/; s/.*<trellis\/(.*)>.*/\1/' <<<"$include")
        [[ $used != *.h ]] || used=${public[$used]:-base}
        [ "$used" = "$layer" ] || [ "${rank[$used]:-9}" -lt "${rank[$layer]}" ] || wrong "$file:$line: $layer may not include $used: $include"
    done < <(grep -rnE '^ *# *include *("[a-z_]+/|<trellis/)' "src/$layer")
done

# The command and the examples stand on the public headers only.
while IFS=: read -r file line include; do
    name=$(sed -E 's/.*"(.*)".*/\1/' <<<"$include")
    [ -f "programs/$name" ] || wrong "$file:$line: programs use public headers only: $include"
done < <(grep -rnE '^ *# *include *"' programs examples)

# A name says which file is meant. Build files and read-me files have the names that tools look for.
twice=$(find include src programs tests bench examples scripts docs cmake -path tests/fuzz/corpus -prune -o -path tests/golden -prune -o -type f -print |
    sed 's/.*\///' | grep -vxE 'CMakeLists.txt|README.md' | sort | uniq -d)
[ -z "$twice" ] || wrong "more than one file is called: $twice"

# A function's braces stand in the first column (clang-format sees to that).
long=$(find src programs bench -name '*.[ch]' -exec awk -v most=$longest '
    FNR == 1 { start = 0 }
    /^\{/ { start = FNR }
    /^\}/ { if (start && FNR - start - 1 > most) print FILENAME ":" start ": " FNR - start - 1 " lines"; start = 0 }' {} +)
[ -z "$long" ] || wrong "functions of more than $longest lines:"$'\n'"$long"
finish
