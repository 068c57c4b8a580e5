# For scripts that compare the models of devices by what they align: phones of the corpus in data, of all utterances.
# Boundaries as a device finds them with a model, without confidences, into a file.
boundaries() { # MODEL DEVICE FILE
    rm -rf aligned
    "$TRELLIS" align "$1" data data/lexicon.txt --device "$2" --threads 2 --to ctm --quiet -o aligned >&2 ||
        wrong "no alignment with $1 on $2"
    cut -d' ' -f1-5 aligned/phones.ctm >"$3"
}

# 99 % of the lines of two such files are the same.
same_boundaries() { # FILE OTHER
    local lines same
    lines=$(wc -l <"$1")
    same=$(diff --unchanged-line-format='x
' --old-line-format= --new-line-format= "$1" "$2" | wc -l)
    [ "$lines" -gt 50 ] || wrong "only $lines lines to compare"
    [ $((1000 * same)) -ge $((990 * lines)) ] || wrong "$2: $same of $lines lines are those of $1"
}
