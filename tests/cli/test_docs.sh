#!/usr/bin/env bash
# The documentation tells the truth where a machine can see it: command pages, links, file names.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$TRELLIS_SOURCE_DIR" || exit 1

expect 0 scripts/make-pages markdown "$TRELLIS" "$folder/commands"
diff -r "$folder/commands" docs/commands || wrong "docs/commands is not what the command says; \`make docs\` writes it anew"

# Links to other files of the project.
mapfile -t pages < <(find . -path ./build -prune -o -name '*.md' -print)
for page in "${pages[@]}"; do
    while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || wrong "$page: dead link: $link"
    done < <(sed '/^```/,/^```/d' "$page" | grep -oE '\]\([^)#]+' | cut -c 3- | grep -vE '^[a-z]+:')
done

for command in "make demo" "make test"; do
    grep -q "$command" README.md || wrong "README.md does not name \`$command\`"
done
# Makefile targets that the documentation names exist.
while read -r target; do
    grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" Makefile || wrong "the documentation names \`make $target\`, which does not exist"
done < <(grep -ohE '`make [a-z-]+' "${pages[@]}" | cut -d ' ' -f 2 | sort -u)
finish
