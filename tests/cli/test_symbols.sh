#!/usr/bin/env bash
# What the libraries export: the public interface and nothing else.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
[ -z "$TRELLIS_SANITIZE" ] || skip "sanitizers add symbols of their own"

version=$(sed -n 's/^#define TRL_VERSION "\(.*\)"/\1/p' "$TRELLIS_SOURCE_DIR/include/trellis/version.h")
shared=$TRELLIS_BUILD_DIR/src/libtrellis.so static=$TRELLIS_BUILD_DIR/src/libtrellis.a

nm -D --defined-only "$shared" | awk '{ print $NF }' | sort -u >"$folder/shared"
grep -q '^trl_version$' "$folder/shared" || wrong "trl_version is not exported"
foreign=$(grep -v '^trl_[a-z]' "$folder/shared")
[ -z "$foreign" ] || wrong "libtrellis.so exports what is not public: $foreign"

nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | sort -u >"$folder/static"
grep -q '^trl_version$' "$folder/static" || wrong "trl_version is not in the static library"
foreign=$(grep -v '^trl_' "$folder/static")
[ -z "$foreign" ] || wrong "libtrellis.a has global names that are not ours: $foreign"

# Declared and exported are the same thing. A header may come before its code: whole headers without any are let pass.
for header in "$TRELLIS_SOURCE_DIR"/include/trellis/*.h; do
    declared_in "$header" | sort -u >"$folder/declared"
    [ -n "$(comm -12 "$folder/declared" "$folder/static")" ] || continue
    lacking=$(comm -23 "$folder/declared" "$folder/shared")
    [ -z "$lacking" ] || wrong "$(basename "$header") declares what the library does not export: $lacking"
done

soname=$(readelf -d "$shared" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = "libtrellis.so.${version%.*}" ] || wrong "soname $soname, for version $version"
[ "$(readlink -f "$shared")" = "$(readlink -f "$shared.$version")" ] || wrong "libtrellis.so is not libtrellis.so.$version"
finish
