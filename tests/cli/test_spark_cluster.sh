#!/usr/bin/env bash
# The Spark driver on a standalone cluster, a master and two workers, of which one is killed while it reduces: the other does its work, and the store is the same.
# shellcheck source=tests/cli/spark.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/spark.bash"

# A process of the cluster in the background, its log beside its name; its number is in $!.
start() { # NAME CLASS ARGUMENT …
    local name=$1
    shift
    SPARK_DAEMON_MEMORY=256m SPARK_LOCAL_DIRS=$folder/files-$name "$spark/spark-class" "org.apache.spark.deploy.$1" --host 127.0.0.1 "${@:2}" >"$name.log" 2>&1 &
}
wait_for() { # PATTERN FILE PROCESS: until the text is there
    until grep -qs "$1" "$2"; do
        kill -0 "$3" 2>/dev/null || skip_or_fail "$2"
        read -rt 0.1 _ <>"$folder/pause"
    done
}
skip_or_fail() {
    wrong "a process of the cluster ended: $(tail -n 5 "$1")"
    finish
}
mkfifo pause held
started=()
end_all() {
    kill -9 "${started[@]}" 2>/dev/null
    wait "${started[@]}" 2>/dev/null
    rm -rf "$folder"
}
trap end_all EXIT

start master master.Master --port 0 --webui-port 0
started+=($!)
wait_for 'Starting Spark master at' master.log $!
master=$(sed -n 's/.*Starting Spark master at \(spark:[^ ]*\).*/\1/p' master.log)
for worker in 1 2; do
    start "worker$worker" worker.Worker --port 0 --webui-port 0 --cores 1 --memory 600m --work-dir "$folder/work$worker" "$master"
    started+=($!)
done
wait_for 'Successfully registered' worker1.log "${started[1]}"
wait_for 'Successfully registered' worker2.log "${started[2]}"

# The first reducer of a worker says who it is, and holds on until it is ended. The driver's own, which reduces nothing to begin with, has no -t.
cat >held-trellis <<SCRIPT
#!/bin/bash
if [ "\$2" = reduce ] && [[ " \$* " == *" -t 1 "* ]] && mkdir "$folder/first" 2>/dev/null; then
    echo \$\$ >"$folder/first/process.new" && mv "$folder/first/process.new" "$folder/first/process"
    read -r <"$folder/held"
fi
exec "$TRELLIS" "\$@"
SCRIPT
chmod +x held-trellis

# Whose process is it? The worker's, some generations up; those in between end too: the executor, and Python.
ancestors() {
    local process=$1 line=()
    while [ "$process" -gt 1 ]; do
        line+=("$process")
        [ "$process" != "${started[1]}" ] && [ "$process" != "${started[2]}" ] || break
        process=$(ps -o ppid= -p "$process" | tr -d ' ')
    done
    echo "${line[@]}"
}
train_on_spark "$master" spark.store --trellis "$folder/held-trellis" --mappers 3 --shards 5 >job.out 2>job.log &
job=$!
started+=("$job")
until [ -e first/process ]; do
    kill -0 "$job" 2>/dev/null || break
    read -rt 0.1 _ <>"$folder/pause"
done
[ -e first/process ] || skip_or_fail job.log
read -ra line <<<"$(ancestors "$(<first/process)")"
lost=${line[-1]}
[ "$lost" = "${started[1]}" ] || [ "$lost" = "${started[2]}" ] || {
    wrong "the reducer is no worker's: ${line[*]}" # whose they are nobody knows: they must not be ended
    finish
}
kill -9 "${line[@]}"
[ "$lost" = "${started[1]}" ] && rm -rf files-worker1 || rm -rf files-worker2 # what it had mapped is gone too
code=0
wait "$job" || code=$?
[ "$code" = 0 ] || wrong "the job ended with $code: $(tail -n 20 job.log)"
grep -qi 'lost executor\|ExecutorLost' job.log || wrong "no worker was lost: $(tail job.log)"
same_store spark.store
finish
