#!/usr/bin/env bash
# `make install`, then life outside the tree: the example builds against the installed library in every way we promise.
# The installed tree is moved first: nothing in it may know where it was put.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
[ -z "$TRELLIS_SANITIZE" ] || skip "the example would need the sanitizer's libraries"

version=$(sed -n 's/^#define TRL_VERSION "\(.*\)"/\1/p' "$TRELLIS_SOURCE_DIR/include/trellis/version.h")
cc=${CC:-cc}
expect 0 cmake --install "$TRELLIS_BUILD_DIR" --prefix "$folder/first"
mv "$folder/first" "$folder/prefix"
prefix=$folder/prefix
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
library=$prefix/lib
if [ ! -d "$library/pkgconfig" ]; then
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name trellis.pc)")
    library=$(dirname "$PKG_CONFIG_PATH")
fi

# The command and its manual pages.
expect 0 "$prefix/bin/trellis" version
contains "$out" "trellis $version" "installed trellis version"
expect 0 "$prefix/bin/trellis" help --names
pages=$(tr ' ' '-' <<<"$out" | sed 's/^/trellis-/')
command -v groff >/dev/null || echo "no groff: the manual pages are not rendered"
for page in trellis $pages; do
    [ -f "$prefix/share/man/man1/$page.1" ] || { wrong "no manual page $page.1" && continue; }
    command -v groff >/dev/null || continue
    expect 0 groff -K utf8 -man -Tutf8 -P-bcu -ww "$prefix/share/man/man1/$page.1"
    [ -z "$err" ] || wrong "$page.1: groff warns: $err"
    contains "$out" "NAME" "$page.1"
done

mkdir "$folder/outside"
cp "$TRELLIS_SOURCE_DIR/examples/hello.c" "$folder/outside"
cd "$folder/outside" || exit 1
says_hello() { # HOW COMMAND …
    local how=$1
    shift
    expect 0 "$@"
    contains "$out" "trellis $version, " "$how"
}

# pkg-config, shared and static. The linker prefers a shared library, so for the second it may not see one. All of the
# static library is linked in: then everything that it needs must be named.
[ "$(pkg-config --modversion trellis)" = "$version" ] || wrong "pkg-config gives another version than $version"
read -ra flags < <(pkg-config --cflags --libs trellis)
expect 0 "$cc" -std=c11 -Wall -Werror hello.c -o hello "${flags[@]}"
says_hello "shared, pkg-config" env LD_LIBRARY_PATH="$library" ./hello
contains "$(readelf -d hello)" "libtrellis.so.${version%.*}" "what hello needs"
mkdir hidden && mv "$library"/libtrellis.so* hidden
read -ra flags < <(pkg-config --static --cflags --libs trellis)
expect 0 "$cc" -std=c11 -Wall -Werror hello.c -o hello-static -Wl,--whole-archive "$library/libtrellis.a" -Wl,--no-whole-archive "${flags[@]}"
mv hidden/* "$library"
says_hello "static, pkg-config" ./hello-static
[[ $(readelf -d hello-static) != *libtrellis* ]] || wrong "the static hello needs libtrellis.so"

# find_package.
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(hello LANGUAGES C)
find_package(trellis REQUIRED COMPONENTS static)
add_executable(hello-shared hello.c)
target_link_libraries(hello-shared trellis::trellis)
add_executable(hello-static hello.c)
target_link_libraries(hello-static $<LINK_LIBRARY:WHOLE_ARCHIVE,trellis::static>)
END
expect 0 cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc"
expect 0 cmake --build build
says_hello "shared, find_package" build/hello-shared
says_hello "static, find_package" build/hello-static
[[ $(readelf -d build/hello-static) != *libtrellis* ]] || wrong "trellis::static leads to libtrellis.so"
sed -i 's/find_package(trellis/find_package(trellis 99/' CMakeLists.txt
expect 1 cmake -S . -B build-other -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc"
contains "$err" "compatible" "a version that is not there"
finish
