# Sourced by the tests of engines/spark: Spark itself, a small corpus with a model, and the store that `trellis bam train` makes of it. Everything listens on loopback.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
command -v java >/dev/null || skip "java is not installed (scripts/setup engines)"
spark=$TRELLIS_SOURCE_DIR/build/spark/bin
[ -x "$spark/spark-submit" ] || skip "Spark is not installed (scripts/setup engines)"
cd "$folder" || exit 1
export PYSPARK_PYTHON=$spark/python SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS=$folder/spark SPARK_LOCAL_HOSTNAME=127.0.0.1
export JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" # programs that run for seconds
"$spark/python" "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
options=(--order 2 --min-frames 40 --max-frames 300 --seed 7 --partitions 2)
expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o local.store "${options[@]}" -q

# train_on_spark MASTER STORE OPTION …
train_on_spark() {
    local master=$1 store=$2
    shift 2
    "$spark/spark-submit" --master "$master" --driver-memory 512m --conf spark.executor.memory=512m --conf spark.ui.enabled=false \
        --conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1 --conf spark.shuffle.io.maxRetries=1 --conf spark.shuffle.io.retryWait=500ms \
        "$TRELLIS_SOURCE_DIR/engines/spark/train_bam.py" tones.trm sounds lexicon.txt -o "$store" "${options[@]}" "$@"
}

same_store() { # STORE
    diff -r local.store "$1" || wrong "$1 is another store than that of trellis bam train"
    [ -z "$(compgen -G "$1.*")" ] || wrong "working files are left: $(ls -d "$1".*)"
}
