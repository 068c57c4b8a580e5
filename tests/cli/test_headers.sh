#!/usr/bin/env bash
# Every public header compiles alone, as C11 and as C++11, without a warning, and trellis.h includes them all.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$TRELLIS_SOURCE_DIR" || exit 1
warnings=(-pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude)

has_cxx=1
command -v g++ >/dev/null || { has_cxx=0 && echo "no g++: the headers are not tried as C++"; }
for header in include/trellis/*.h; do
    name=trellis/$(basename "$header")
    # Twice: the guard must hold.
    printf '#include <%s>\n' "$name" "$name" >"$folder/alone.c"
    echo 'int main(void) { return 0; }' >>"$folder/alone.c"
    "${CC:-cc}" -std=c11 "${warnings[@]}" "$folder/alone.c" || wrong "$name does not compile alone as C11"
    [ "$has_cxx" = 0 ] || g++ -x c++ -std=c++11 "${warnings[@]}" "$folder/alone.c" || wrong "$name does not compile alone as C++11"
    [ "$name" = trellis/trellis.h ] || grep -qx "#include <$name>" include/trellis/trellis.h || wrong "trellis.h does not include $name"
    grep -q '^TRL_API' "$header" && ! grep -q '^TRL_BEGIN_DECLS' "$header" && wrong "$name lacks TRL_BEGIN_DECLS: C++ would not link"
done
finish
