#!/usr/bin/env bash
# trellis model show, stat and convert, as a user runs them, on a model that is written out here.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1

# Two units: silence with two states, one of two Gaussians, and a phone with one state.
cat >hmmdefs <<'END'
~o <VecSize> 2 <USER>
~h "sil" <BeginHMM> <NumStates> 4
<State> 2 <NumMixes> 2
<Mixture> 1 0.75 <Mean> 2 1 2 <Variance> 2 0.5 4
<Mixture> 2 0.25 <Mean> 2 -1 -2 <Variance> 2 1 1
<State> 3 <Mean> 2 3 4 <Variance> 2 1 2
<TransP> 4
0 1 0 0  0 0.5 0.5 0  0 0 0.75 0.25  0 0 0 0
<EndHMM>
~h "aa" <BeginHMM> <NumStates> 3
<State> 2 <Mean> 2 0 0.125 <Variance> 2 2 3
<TransP> 3
0 1 0  0 0.625 0.375  0 0 0
<EndHMM>
END
# the value of a key of a JSON object
value() { python3 -c 'import json, sys; print(eval("d" + sys.argv[1], {"d": json.load(sys.stdin)}))' "$1"; }
equal() { [ "$1" = "$2" ] || wrong "$3: '$1' instead of '$2'"; }

# convert: what it says, and what the new file holds
expect 0 "$TRELLIS" model convert hmmdefs -o m.trm
contains "$err" "2 units, 3 tied states, 4 Gaussians" "convert"
expect 0 "$TRELLIS" model convert -q hmmdefs -o again.trm
equal "$out$err" "" "quiet convert"
cmp -s m.trm again.trm || wrong "the same input gives other bytes"

# show
expect 0 "$TRELLIS" model show m.trm
contains "$out" "from a model of HTK" "provenance"
contains "$out" "2 units, 3 tied states, 4 Gaussians, 6 transitions, 2 dimensions" "show"
grep -qE '^sil +silence +2 +3 +0 1$' <<<"$out" || wrong "no line of sil: $out"
grep -qE '^aa +phone +1 +1 +2$' <<<"$out" || wrong "no line of aa: $out"
expect 0 "$TRELLIS" model show m.trm sil
grep -qE '^ +0 +0 +2 +0 0\.5000 \(1\) +1 0\.5000 \(2\)$' <<<"$out" || wrong "state 0 of sil: $out"
grep -qE '^ +1 +1 +1 +1 0\.7500 \(3\) +exit 0\.2500 \(4\)$' <<<"$out" || wrong "state 1 of sil: $out"
expect 0 "$TRELLIS" model show --gaussians m.trm sil
contains "$out" "component 1, weight 0.25" "Gaussians"
contains "$out" "mean     -1 -2" "Gaussians"
contains "$out" "variance 0.5 4" "Gaussians"
"$TRELLIS" model show --json --gaussians m.trm >show.json || wrong "show --json"
equal "$(value '["units"][0]["states"][0]["mixture"][1]["mean"]' <show.json)" "[-1.0, -2.0]" "mean"
equal "$(value '["units"][1]["name"]' <show.json)" aa "name"
equal "$(value '["units"][1]["states"][0]["transitions"][1]["to"]' <show.json)" exit "target"
equal "$(value '["units"][1]["states"][0]["transitions"][1]["id"]' <show.json)" 6 "id"
equal "$("$TRELLIS" model show --json m.trm aa | value '["states"][0]["tied_state"]')" 2 "one unit"

# stat
expect 0 "$TRELLIS" model stat m.trm
contains "$out" "2 (1 phones, 1 silence, 0 noise)" "units"
contains "$out" "variances     0.5 to 4" "variances"
contains "$out" "$(stat -c %s m.trm) bytes" "size"
"$TRELLIS" model stat --json hmmdefs >stat.json || wrong "stat --json"
equal "$(value '["parameters"]' <stat.json)" $((4 * (2 * 2 + 1) + 6)) "parameters"
equal "$(value '["components"]' <stat.json)" "[{'components': 1, 'tied_states': 2}, {'components': 2, 'tied_states': 1}]" "components"
equal "$(value '["weight"]' <stat.json)" "[0.25, 1.0]" "weights"

# to every format, and back to the same numbers
for format in htk htk-binary kaldi kaldi-text; do
    expect 0 "$TRELLIS" model convert m.trm --to "$format" -o "as-$format"
    expect 0 "$TRELLIS" model convert "as-$format" -o back.trm
    "$TRELLIS" model show --json --gaussians back.trm >back.json || wrong "show what was $format"
    python3 - show.json back.json <<'END' || wrong "$format changed something"
import json, math, sys
def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a if k not in ("provenance", "frontend", "lexicon"))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return math.isclose(a, b, rel_tol=1e-6) if isinstance(a, float) else a == b
sys.exit(not same(*(json.load(open(name)) for name in sys.argv[1:])))
END
done
expect 0 "$TRELLIS" model stat as-kaldi/final.mdl
contains "$out" "tied states   3" "Kaldi's file"

# a front end for a model that has none; one of another dimension is refused
printf 'kind = mfcc\nnum_ceps = 2\n' >two.conf
expect 0 "$TRELLIS" model convert hmmdefs --frontend two.conf -o front.trm
expect 0 "$TRELLIS" model show front.trm
contains "$out" "num_ceps = 2" "front end"
printf 'kind = mfcc\nnum_ceps = 3\n' >three.conf
expect 3 "$TRELLIS" model convert hmmdefs --frontend three.conf -o wrong.trm
contains "$err" "frames of 3 dimensions, the model has 2" "front end"
[ -e wrong.trm ] && wrong "a refused model was written"

# Kaldi's transform beside its model, text or binary, comes behind the splicing; what does not fit is refused
printf 'kind = mfcc\nnum_ceps = 1\nsplice_left = 1\nsplice_right = 1\n' >spliced.conf
printf ' [\n 0.5 -1 2\n 3 0.25 0 ]\n' >as-kaldi/final.mat
expect 0 "$TRELLIS" model convert as-kaldi --frontend spliced.conf -o text.trm
expect 0 "$TRELLIS" model show text.trm
contains "$out" "transform = 2 3 0.5 -1 2 3 0.25 0" "final.mat"
python3 -c 'import struct; open("as-kaldi/final.mat", "wb").write(b"\0BFM \4" + struct.pack("<ici6f", 2, b"\4", 3, 0.5, -1, 2, 3, 0.25, 0))'
expect 0 "$TRELLIS" model convert as-kaldi/final.mdl --frontend spliced.conf -o binary.trm
cmp -s text.trm binary.trm || wrong "a binary final.mat is another one"
printf ' [ 1 2 ]\n' >as-kaldi/final.mat
expect 3 "$TRELLIS" model convert as-kaldi --frontend spliced.conf -o wrong.trm
printf ' [ 1 2\n' >as-kaldi/final.mat
expect 3 "$TRELLIS" model convert as-kaldi --frontend spliced.conf -o wrong.trm
contains "$err" "final.mat" "a damaged transform"
[ -e wrong.trm ] && wrong "a refused model was written"

# a model with context in Kaldi's form: p2's first state asks about the phone to the left
mkdir tri
cat >tri/final.mdl <<'END'
<TransitionModel> <Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones>
<State> 0 <PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State>
<State> 1 <PdfClass> 1 <Transition> 1 0.75 <Transition> 2 0.25 </State> <State> 2 </State> </TopologyEntry> </Topology>
<Triples> 5
1 0 0
1 1 1
2 0 2
2 0 4
2 1 3
</Triples> <LogProbs>
[ 0 -0.287682 -1.386294 -0.287682 -1.386294 -0.287682 -1.386294 -0.287682 -1.386294 -0.287682 -1.386294 ]
</LogProbs> </TransitionModel> <DIMENSION> 1 <NUMPDFS> 5
END
for _ in 0 1 2 3 4; do
    printf '<DiagGMM> <WEIGHTS> [ 0.5 0.5 ]\n<MEANS_INVVARS> [\n 0\n 1 ]\n<INV_VARS> [\n 1\n 1 ]\n</DiagGMM>\n'
done >>tri/final.mdl
cat >tri/tree <<'END'
ContextDependency 3 1 ToPdf SE 1 [ 1 ]
{ TE -1 2 ( CE 0 CE 1 ) TE -1 2 ( SE 0 [ 0 2 ]
{ CE 4 CE 2 } CE 3 ) } EndContextDependency
END
printf '<eps> 0\nsil 1\nb"b 2\n' >tri/phones.txt
expect 0 "$TRELLIS" model convert tri -o tri.trm
expect 0 "$TRELLIS" model show tri.trm
contains "$out" "tree: looks at 1 to the left and 1 to the right, 4 roots, 1 questions about 1 sets of units, depth up to 1" "tree"
grep -qE '^b"b +phone +2 +6 +2 4 3$' <<<"$out" || wrong "the tied states of b\"b: $out"
expect 0 "$TRELLIS" model show tri.trm --context '# b"b sil' --context '  b"b b"b  #' --context 'sil b"b b"b' --context 'sil sil sil'
equal "$out" '# b"b sil: 4 3
  b"b b"b  #: 4 3
sil b"b b"b: 2 3
sil sil sil: 0 1' "contexts"
equal "$(printf 'sil b"b #\n# sil #\n' | "$TRELLIS" model show tri.trm --context -)" 'sil b"b #: 2 3
# sil #: 0 1' "contexts from standard input"
equal "$("$TRELLIS" model show tri.trm --json --context 'sil b"b #' | value '[0]["tied_states"]')" "[2, 3]" "contexts as JSON"
equal "$("$TRELLIS" model show m.trm --context sil)" "sil: 0 1" "no context"
expect 3 "$TRELLIS" model show tri.trm --context 'sil b"b'
contains "$err" "looks at 3 units" "short context"
expect 3 "$TRELLIS" model show tri.trm --context 'sil xx sil'
contains "$err" "no unit 'xx'" "context of an unknown unit"
expect 2 "$TRELLIS" model show tri.trm sil --context 'sil sil sil'
expect 0 "$TRELLIS" model stat tri.trm
contains "$out" "tree          3 units wide, 4 roots, 1 questions about 1 sets, depth up to 1" "stat of a tree"
equal "$("$TRELLIS" model stat tri.trm --json | value '["tree"]["questions"]')" 1 "tree as JSON"
expect 0 "$TRELLIS" model draw tri.trm --unit 'b"b' --state 0
contains "$out" 'left in\nb\"b (nothing)"' "question"
contains "$out" 'tied state 4\n2 Gaussians' "leaf"
contains "$out" 'state 0 of\nb\"b"' "root"
equal "$(grep -c -- '->' <<<"$out")" 3 "edges"
expect 0 "$TRELLIS" model draw tri -o all.dot
equal "$(grep -c 'tied state' all.dot)" 5 "all leaves"
if command -v dot >/dev/null; then
    dot -Tsvg all.dot >all.svg || wrong "Graphviz does not read the drawing"
    contains "$(cat all.svg)" "tied state 4" "picture"
fi
expect 3 "$TRELLIS" model draw m.trm
contains "$err" "has no tree" "draw without a tree"
expect 3 "$TRELLIS" model draw tri.trm --unit xx -o none.dot
contains "$err" "no unit 'xx'" "draw of an unknown unit"
[ -e none.dot ] && wrong "a drawing of nothing was written"
expect 2 "$TRELLIS" model draw tri.trm --state -2
mv tri/tree tri/elsewhere
expect 0 "$TRELLIS" model show tri
expect 3 "$TRELLIS" model show tri --context 'b"b'
contains "$err" "must lie beside it" "no tree"
expect 3 "$TRELLIS" model convert tri --to kaldi -o again
sed 's/CE 4/CE 1/' tri/elsewhere >tri/tree
expect 3 "$TRELLIS" model show tri
contains "$err" "tree" "a tree of another model"

# what goes wrong says what and where
expect 2 "$TRELLIS" model convert m.trm
contains "$err" "-o OUT is missing" "no output"
expect 2 "$TRELLIS" model convert m.trm -o x --to sphinx
contains "$err" "htk-binary, kaldi or kaldi-text, not 'sphinx'" "unknown format"
expect 2 "$TRELLIS" model show --gaussians m.trm
expect 3 "$TRELLIS" model show m.trm xx
contains "$err" "no unit 'xx'" "unknown unit"
expect 3 "$TRELLIS" model show absent.trm
contains "$err" "absent.trm" "absent file"
echo "some text" >text
expect 3 "$TRELLIS" model stat text
contains "$err" "not a model of trellis, HTK" "foreign file"
head -c 1000 m.trm >cut.trm
expect 3 "$TRELLIS" model stat cut.trm
contains "$err" "cut.trm" "cut file"
contains "$err" "cut off or damaged" "cut file"
python3 - <<'END'
b = bytearray(open("m.trm", "rb").read())
b[1200] ^= 1
open("flipped.trm", "wb").write(b)
END
expect 3 "$TRELLIS" model show flipped.trm
contains "$err" "is damaged" "flipped byte"
finish
