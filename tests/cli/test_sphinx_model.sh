#!/usr/bin/env bash
# Models of CMU Sphinx as a user has them: a folder, an installed name, damaged ones. And likelihoods of features.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
equal() { [ "$1" = "$2" ] || wrong "$3: '$1' instead of '$2'"; }
same() { cmp -s "$1" "$2" || wrong "$3: $1 and $2 differ"; }

python3 - <<'END'
import os
import struct


def numbers(name, sizes, values, streams=(), checked=True):
    body = struct.pack("<3i", *sizes) + struct.pack(f"<{len(streams)}i", *streams) + struct.pack("<i", len(values)) + struct.pack(f"<{len(values)}f", *values)
    total = 0
    for (word,) in struct.iter_unpack("<I", body):
        total = ((total << 20 | total >> 12) + word) & 0xFFFFFFFF
    with open(f"installed/small/small/{name}", "wb") as file:
        file.write(b"s3\nversion 1.0\n" + (b"chksum0 yes\n" if checked else b"") + b"endhdr\n" + struct.pack("<I", 0x11223344) + body)
        file.write(struct.pack("<I", total) if checked else b"")


os.makedirs("installed/small/small")
with open("installed/small/small/mdef", "w") as file:
    file.write("0.3\n3 n_base\n2 n_tri\n15 n_state_map\n8 n_tied_state\n6 n_tied_ci_state\n3 n_tied_tmat\n")
    file.write("SIL - - - filler 0 0 1 N\nA - - - n/a 1 2 3 N\nB - - - n/a 2 4 5 N\n")
    file.write("A SIL B b n/a 1 6 3 N\nB A SIL e n/a 2 4 7 N\n")
numbers("means", (1, 3, 2), [0.1 * i for i in range(6)], (1, 1, 1))
numbers("variances", (1, 3, 2), [1.0] * 6, (1, 1, 1))
numbers("mixture_weights", (8, 3, 2), [1 + i % 3 for i in range(48)], checked=False)
numbers("transition_matrices", (3, 2, 3), [3, 1, 0, 0, 2, 5] * 3)
with open("installed/small/small/feat.params", "w") as file:
    file.write("-ncep 1\n-nfilt 3\n-feat 1s_c_d_dd\n-svspec 0/1/2\n-agc none\n-cmn current\n")
END

expect 0 "$TRELLIS" model convert installed/small/small -o small.trm
expect 0 "$TRELLIS" model show small.trm
contains "$out" "1 codebooks of 3 streams x 2 Gaussians" "codebooks"
contains "$out" "denoise = 1" "noise is removed where nothing is said"
expect 0 "$TRELLIS" model stat small.trm
export TRELLIS_MODELS=nowhere:$PWD/installed
expect 0 "$TRELLIS" model convert small -o named.trm
same small.trm named.trm "an installed model"
expect 0 "$TRELLIS" model convert small --top 1 --density-floor 0 -o limited.trm
expect 0 "$TRELLIS" model show limited.trm
contains "$out" "the best 1 count" "--top"
expect 3 "$TRELLIS" model convert small --top 3 -o never.trm
contains "$err" "the best 3 of 2 densities" "more than there are"
expect 3 "$TRELLIS" model convert small --to kaldi -o never
contains "$err" "tied mixtures" "codebooks for Kaldi"

# ---- Contexts: the triphone, its back-off, the phone alone ----
for context in "SIL A_B B_E=6 3" "B_E A_I B_E=2 3" "B_E A_B B_E=6 3" "A_B B_E SIL=4 7" "A_B B_E A_B=4 7" "# A_S #=2 3" "A_B SIL B_B=0 1"; do
    expect 0 "$TRELLIS" model show small --context "${context%=*}"
    equal "$(tail -n 1 <<<"$out" | grep -oE "[0-9]+" | tail -n 2 | tr "\n" " ")" "${context#*=} " "the tied states of ${context%=*}"
done

# ---- Likelihoods ----
printf 'u  [\n  0.5 0.25 -1\n  1 2 3 ]\n' >frames.txt
expect 0 "$TRELLIS" model likelihoods small ark:frames.txt -o ark,t:scores.txt
equal "$(wc -w <scores.txt)" $((2 + 2 * 8 + 1)) "a column for each tied state"
printf 'u  [\n  0.5 0.25 ]\n' >narrow.txt
expect 3 "$TRELLIS" model likelihoods small ark:narrow.txt -o never.ark
contains "$err" "frames of 2 values, the model's have 3" "frames of another size"
expect 2 "$TRELLIS" model likelihoods small ark:frames.txt
contains "$err" "-o PLACE" "nowhere to go"

# ---- Damage: what, where ----
damaged() { # TEXT WHAT COMMAND …: after the command in a copy of the folder, reading fails with the text
    local text=$1 what=$2
    shift 2
    rm -rf bad
    cp -r installed/small/small bad
    (cd bad && "$@")
    expect 3 "$TRELLIS" model convert bad -o never.trm
    contains "$err" "$text" "$what"
}
damaged "means" "no means" rm means
damaged "means" "means that are cut off" truncate -s -9 means
damaged "checksum" "a changed byte" bash -c 'printf "\x40" | dd of=variances bs=1 seek=70 conv=notrunc status=none'
damaged "transition_matrices" "transitions of another model" sed -i 's/^3 n_tied_tmat/4 n_tied_tmat/' mdef
damaged "mdef:8:" "a tied state that is not there" sed -i 's/0 0 1 N/0 0 9 N/' mdef
damaged "mdef" "phones that are missing" sed -i '$d' mdef
damaged "mixture_weights" "weights of another model" sed -i 's/^8 n_tied_state/9 n_tied_state/' mdef
damaged "-agc max" "features that are not known" sed -i 's/-agc none/-agc max/' feat.params
damaged "-cmn foo" "a normalisation that is not known" sed -i 's/-cmn .*/-cmn foo/' feat.params
damaged "more than 0" "no frames per second" sh -c 'echo "-frate 0" >>feat.params'
damaged "there are 1s_c" "deltas that are not known" sed -i 's/1s_c_d_dd/7s/' feat.params
damaged "-svspec" "streams that are not there" sed -i 's|0/1/2|0/1/7|' feat.params
damaged "features of 2 values" "other features than means" sed -i 's/1s_c_d_dd/1s_c_d/; s|0/1/2|0/1|' feat.params
mkdir empty
expect 3 "$TRELLIS" model convert empty -o never.trm
contains "$err" "Sphinx's mdef" "a folder without a model"
[ -e never.trm ] && wrong "a failure leaves a file"
finish
