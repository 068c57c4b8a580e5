#!/usr/bin/env bash
# trellis report: the page says what history and journal say, and nothing in them can break it or get out of it.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
cd "$folder" || exit 1
lacks() { [[ $1 != *"$2"* ]] || wrong "$3: there is '$2'"; }
words_of() { sed '/<style>/,/<\/style>/d; /<svg/,/<\/svg>/d' "$1"; } # a page without style and pictures
make_model() { "$TRELLIS_BUILD_DIR/tests/model_with_history" lexicon "$1" "$2" "$3" || wrong "no model $3"; }

# ---- A story of three iterations ----
# Steps of 10 s in all: 10, 50, 20, 5, 10 and 5 %. Two hours of sound in 2 s: 3,600 hours per hour. 5 of 1000 frames differ.
# shellcheck disable=SC2016
evil='<script>alert(1)</script>&\"'"'"'`touch ran`'
line() { # ITERATION LOG-LIKELIHOOD FAILURES MORE
    printf '{"iteration":%d,"of":3,"components":%d,"gaussians":%d,"log_likelihood":%s,"joint":%s,"frames":720000.0,' "$1" "$1" $((1200 * $1)) "$2" "$2"
    printf '"utterances":1234,"failed":2,"redone":17,"audited":9,"audited_frames":1000.0,"audited_differ":5.0,"dropped":41,"floored":42,'
    printf '"kept_states":43,"sound":7200.0,"worst":[{"id":"%s","log_likelihood":-75.5},{"id":"bad-2","log_likelihood":-71.0}],"failures":[%s]%s}\n' "$evil" "$3" "$4"
}
times=',"seconds":2.0,"load":1.0,"score":5.0,"alpha":2.0,"backtrack":0.5,"accumulate":1.0,"estimate":0.5,"gaussians_scored":6e9,"slowest":[{"id":"slow&slower","seconds":0.25}]'
short='{"id":"u<1>","reason":"too & short"}'
none='{"id":"u2","reason":"no path"}'
printf 'ONE W AH N\nTWO T UW\n' >lexicon
{ line 1 0.0 "$short,$none" ''; line 2 -66.25 "$short" ''; line 3 -64.5 "$none" ''; } >history
{ line 1 0.0 "$short,$none" "$times"; line 2 -66.25 "$short" "$times"; line 3 -64.5 "$none" "$times"; } >journal
make_model history 'made <by> & hand' m.trm
cp journal m.trm.journal

expect 0 "$TRELLIS" report m.trm -o page.html
contains "$err" "3 iterations, 3 with times -> page.html" "the summary"
page=$(words_of page.html)
contains "$page" '<tr><th scope=row>3<td>3<td>3,600<td>−64.5000<td>−64.5000<td>1,234<td>2<td>17<td>9<td>99.500 %<td>41<td>42<td>43' "the table of iterations"
contains "$page" '<tr><th scope=row>1<td>1<td>1,200<td>–<td>–<td>1,234' "a flat start has no likelihood"
contains "$page" '<tr><th scope=row>3<td>2.000<td>10.000<td>3,600<td>1,200<td>10.0<td>50.0<td>20.0<td>5.0<td>10.0<td>5.0' "the table of times"
contains "$page" '<tr><th scope=row>all<td>6.000<td>30.000<td>3,600<td>1,200<td>10.0<td>50.0<td>20.0<td>5.0<td>10.0<td>5.0' "the times of all"
contains "$page" '3 iterations over 2 h 0 min of sound took 6.0 s.' "the first sentence"
contains "$page" '<td class=text>bad-2<td>−71.00<td>2' "the worst utterances"
contains "$page" '<td class=text>slow&amp;slower<td>250.00<td>2' "the slowest utterances"
contains "$page" '<td class=text>u&lt;1&gt;<td class=text>too &amp; short<td>1–2' "failures in a row"
contains "$page" '<td class=text>u2<td class=text>no path<td>1, 3' "failures with a gap"
contains "$page" 'The history names the first ten' "failures that are counted, not named"
contains "$page" '<th scope=row>phones<td>5: W AH N T UW' "the phones"
contains "$page" 'made &lt;by&gt; &amp; hand' "the provenance"
lacks "$page" 'not finished' "a training that is"
lacks "$page" '<h2>Stages' "a training of one stage"
lacks "$page" 'class=stage' "a training of one stage"

# ---- Nothing gets out of its place, nothing is fetched ----
grep -q '<script' page.html && wrong "names of utterances became a script"
# shellcheck disable=SC2016
contains "$page" '&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;`touch ran`' "names of utterances"
mv m.trm 'x<b>.trm'
expect 0 "$TRELLIS" report 'x<b>.trm' -q --journal journal
[ -z "$err" ] || wrong "--quiet said: $err"
contains "$(words_of 'x<b>.trm.html')" '<h1>x&lt;b&gt;.trm</h1>' "the model's name"
mv 'x<b>.trm' m.trm
outside=$(grep -oE '( src|href|url\(|@import)[^ >]*' page.html | grep -vE "^href='#")
[ -z "$outside" ] || wrong "the page asks for: $outside"
expect 0 "$TRELLIS" report m.trm -q -o -
[ "$out" = "$(<page.html)" ] || wrong "standard output and file differ"

# ---- The pictures ----
if command -v gnuplot >/dev/null; then
    [ "$(grep -c '<svg' page.html)" = 4 ] || wrong "there are not four pictures"
    twice=$(grep -oE " id=['\"][^'\"]*" page.html | cut -c 6- | sort | uniq -d)
    [ -z "$twice" ] || wrong "ids that are there twice: $twice"
    while read -r id; do
        grep -q "id='$id'" page.html || wrong "there is no $id"
    done < <(grep -oE "href='#[^']*" page.html | cut -c 8- | sort -u)
    # The bars of the first iteration (each group's second polygon; the first is the legend's) are as high as their shares.
    heights=$(awk -F "'" '/id="steps-steps_plot_/ { n = 0 } /<polygon/ && ++n == 2 { split($4, p, /[, ]/); print p[2] - p[6] }' <(sed -n '/steps-steps_plot_1/,$p' page.html))
    awk 'BEGIN { split("10 50 20 5 10 5", share) } { height[NR] = $1; sum += $1 }
        END { if (NR != 6) exit 1; for (i = 1; i <= 6; i++) if ((d = 100 * height[i] / sum - share[i]) > 0.5 || d < -0.5) exit 1 }' <<<"$heights" ||
        wrong "the bars of the steps have heights: $heights"
fi
expect 0 env PATH=/nonexistent "$TRELLIS" report m.trm -o plain.html
contains "$err" "warning: the page has no plots: can't run gnuplot" "no gnuplot"
contains "$(words_of plain.html)" "There are no plots: can&#39;t run gnuplot" "no gnuplot"
contains "$(words_of plain.html)" '<tr><th scope=row>all<td>6.00' "the tables without gnuplot"
grep -q '<svg' plain.html && wrong "a picture without gnuplot"
mkdir broken && printf '#!/bin/sh\necho "it hurts" >&2\nexit 1\n' >broken/gnuplot && chmod +x broken/gnuplot
expect 0 env PATH="$PWD/broken:$PATH" "$TRELLIS" report m.trm -o plain.html
contains "$err" "gnuplot failed: it hurts" "a gnuplot that fails"
contains "$(words_of plain.html)" '<tr><th scope=row>all<td>6.00' "the tables with a gnuplot that fails"

# ---- Times that are missing ----
rm m.trm.journal
expect 0 "$TRELLIS" report m.trm
contains "$(words_of m.trm.html)" "The times are missing" "no journal"
contains "$(words_of m.trm.html)" "m.trm.journal has none" "no journal"
contains "$(words_of m.trm.html)" "3 iterations over 2 h 0 min of sound." "no journal"
lacks "$(words_of m.trm.html)" "alpha %" "no journal"
cp m.trm.html before
expect 3 "$TRELLIS" report m.trm --journal nowhere
contains "$err" "nowhere: can't read it" "a journal that was asked for"
expect 3 "$TRELLIS" report m.trm --journal .
cmp -s m.trm.html before || wrong "a failure touched the old page"
head -n 2 journal >part
expect 0 "$TRELLIS" report m.trm --journal part -o part.html
contains "$err" "3 iterations, 2 with times" "a journal that ends early"
contains "$(words_of part.html)" '<tr><th scope=row>3<td>–<td>–<td>–<td>–' "a journal that ends early"
contains "$(words_of part.html)" '<tr><th scope=row>all<td>4.000<td>20.000<td>3,600' "a journal that ends early"

# ---- A journal with faults: what is good is used, what is not is named ----
{
    head -n 1 journal
    sed -n 2p journal | cut -c 1-100
    echo '[1]'
    printf '{"iteration":3}\0\n'
    echo '{"iteration":9}'
    sed -n 3p journal | sed 's/-64.5,/-64.25,/'
    head -n 1 journal
    echo
    sed -n 3p journal
} >faults
expect 1 "$TRELLIS" report m.trm --journal faults -o faults.html
for line in 'faults:2: not JSON' "faults:3: no iteration's number" 'faults:4: not JSON' 'faults:5: the model' 'faults:6: iteration 3 of another training' \
    'faults:7: iteration 1 a second time'; do
    contains "$err" "$line" "a journal with faults"
    contains "$(words_of faults.html)" "<li>${line//\'/"&#39;"}" "the page of a journal with faults"
done
contains "$err" "3 iterations, 2 with times" "a journal with faults"
yes '{' | head -n 1000 >many
expect 1 "$TRELLIS" report m.trm --journal many -o faults.html
contains "$err" "and 980 more" "many faults"
contains "$(words_of faults.html)" "and 980 more" "many faults"

# ---- Values of the wrong kind and size become dashes; the page stays whole ----
printf '{"iteration":1,"worst":5,"failures":{"id":3},"gaussians":"x"}\n{"iteration":2,"gaussians":1e308,"log_likelihood":-1e308,"worst":[7,{"id":8}],"failures":[null,{}],"sound":-1}\n{"iteration":2}\nx\n' >strange
make_model strange '' s.trm
expect 1 "$TRELLIS" report s.trm
contains "$err" "s.trm:3: iteration 2 comes after iteration 2" "a history with faults"
contains "$err" "s.trm:4: not JSON" "a history with faults"
contains "$(words_of s.trm.html)" '<tr><th scope=row>1<td>–<td>–<td>–' "values of the wrong kind"
contains "$(words_of s.trm.html)" '</html>' "values of the wrong kind"

# ---- A story in stages ----
# mono 1 to 3, tri 4 and 5, lda 6 and 7, sat 8. tri was interrupted: the clock starts again in it. Transforms gain in 7 and 8.
ladder() { # TIMES
    step() { # ITERATION LOG-LIKELIHOOD STAGE FIRST LAST TIED-STATES GAIN CLOCK
        line "$1" "$2" '' ",\"stage\":\"$3\",\"first\":$4,\"of\":$5,\"tied_states\":$6,\"transform_gain\":$7${times_of:+$times_of,\"stage_seconds\":$8}"
    }
    local times_of=$1
    step 1 0.0 mono 1 3 15 0.0 2.5
    step 2 -66.25 mono 1 3 15 0.0 5.0
    step 3 -64.5 mono 1 3 15 0.0 7.5
    step 4 -65.0 tri 4 5 441 0.0 20.0
    step 5 -62.0 tri 4 5 441 0.0 4.5
    step 6 -45.0 "${2:-lda}" 6 7 447 0.0 3.0
    step 7 -43.5 "${2:-lda}" 6 7 447 0.92 6.0
    step 8 -41.25 sat 8 8 455 2.5 9.0
}
ladder '' >history
ladder "$times" >l.trm.journal
make_model history '' l.trm
expect 0 "$TRELLIS" report l.trm
page=$(words_of l.trm.html)
contains "$page" '8 iterations in 4 stages over 2 h 0 min of sound took 47.0 s.' "the first sentence of stages"
contains "$page" '<tr><th scope=row>mono<td>1–3<td>15<td>3,600<td>−64.5000<td>7.5' "the first stage"
contains "$page" '<tr><th scope=row>tri<td>4–5<td>441<td>6,000<td>−62.0000<td>24.5' "a stage that was interrupted"
contains "$page" '<tr><th scope=row>sat<td>8<td>455<td>9,600<td>−41.2500<td>9.0' "a stage of one iteration"
[ "$(grep -c '<tr class=stage><th scope=rowgroup colspan=13>' <<<"$page")" = 4 ] || wrong "the iterations are not in four parts"
[ "$(grep -c '<tr class=stage><th scope=rowgroup colspan=11>' <<<"$page")" = 4 ] || wrong "the times are not in four parts"
lacks "$page" 'not finished' "a training in stages"
if command -v gnuplot >/dev/null; then
    [ "$(grep -c '<svg' l.trm.html)" = 5 ] || wrong "there are not five pictures"
    twice=$(grep -oE " id=['\"][^'\"]*" l.trm.html | cut -c 6- | sort | uniq -d)
    [ -z "$twice" ] || wrong "ids that are there twice: $twice"
    # lda has frames of its own: iterations 2 to 5 are one line, 6 to 8 another, and none leads from 5 to 6. (A line is what follows the last M.)
    lines=$(sed -n '/id="likelihood-/,/<\/svg>/p' l.trm.html | tr -d '\n' | grep -oE "rgb\( 63, 127, 202\)' *d='[^']*" | sed 's/.*M//' | awk '{ print gsub(/L/, "") }' | xargs)
    [ "$lines" = "3 2" ] || wrong "lines of the likelihood have so many parts: $lines"
fi
ladder '' "$evil" >history
make_model history '' evil.trm
expect 0 "$TRELLIS" report evil.trm
grep -q '<script' evil.trm.html && wrong "the name of a stage became a script"
head -n 6 history >half
make_model half '' half.trm
expect 0 "$TRELLIS" report half.trm
contains "$(words_of half.trm.html)" 'not finished: this is iteration 6 of 7 at least' "a training in stages that was stopped"

# ---- Models without a history, files that are none, places that are none ----
: >empty
make_model empty '' e.trm
expect 0 "$TRELLIS" report e.trm
contains "$(words_of e.trm.html)" "carries no history" "no history"
contains "$(words_of e.trm.html)" "phones<td>5" "no history"
expect 1 "$TRELLIS" report e.trm --journal journal
contains "$err" "the model's history has no iteration 1" "a journal without a history"
expect 3 "$TRELLIS" report history
expect 3 "$TRELLIS" report nothing.trm
[ ! -e nothing.trm.html ] || wrong "a page of no model"
expect 3 "$TRELLIS" report m.trm -o no/such/page.html
contains "$err" "no/such" "no such folder"
{ line 1 0.0 "" ''; line 2 -66.25 "" ''; } >history
make_model history '' half.trm
expect 0 "$TRELLIS" report half.trm
contains "$(words_of half.trm.html)" 'not finished: this is iteration 2 of 3' "a training that was stopped"
[ ! -e ran ] || wrong "something in the names was run"
finish
