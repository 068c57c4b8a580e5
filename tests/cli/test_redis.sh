#!/usr/bin/env bash
# A store served by a Redis Cluster of three masters and three replicas: loaded, found whole, with slots on the move, after a master is killed; and with nobody left for some slots, those alone are lost.
# shellcheck source=tests/cli/script.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/script.bash"
# shellcheck source=tests/cli/redis.bash
source "$TRELLIS_SOURCE_DIR/tests/cli/redis.bash"
command -v redis-server >/dev/null && command -v redis-cli >/dev/null || skip "redis-server is not installed (scripts/setup engines)"
command -v python3 >/dev/null || skip "python3 is not installed"
cd "$folder" || exit 1
trap 'end_redis; rm -rf "$folder"' EXIT
python3 "$TRELLIS_SOURCE_DIR/tests/tone_corpus.py" .
expect 0 "$TRELLIS" train sounds lexicon.txt -o tones.trm -n 1 -q --set deltas=0
expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o store --min-frames 20 -q
expect 0 "$TRELLIS" graph tones.trm lexicon.txt --loop -o tones.trg -q
expect 0 "$TRELLIS" decode tones.trm tones.trg sounds --nbest 4 --lattice-beam 40 --to nbest-jsonl -o nbest.jsonl -q
mphones=$("$TRELLIS" bam export store | grep -c 'Gaussians of')

# ---- What is wrong without any server ----
expect 3 "$TRELLIS" bam load store redis://127.0.0.1:1/bam
contains "$err" "no Redis answers there" "nobody there"
expect 3 "$TRELLIS" bam load store redis://me:word@127.0.0.1:1/bam
contains "$err" "TRELLIS_REDIS_PASSWORD" "a password in the address"
for address in redis://127.0.0.1:1 redis://127.0.0.1:x/bam 'redis://127.0.0.1:1/a{b}' 127.0.0.1:1 redis://,/bam 'redis://[::1/bam'; do
    expect 3 "$TRELLIS" bam load store "$address"
    contains "$err" "redis://" "an address that is none: $address"
done
expect 3 env TRELLIS_REDIS_WAIT=x "$TRELLIS" bam load store redis://127.0.0.1:1/bam
contains "$err" "wait is 'x'" "a setting that is no number"

# ---- Loading ----
export REDISCLI_AUTH=secret
start_redis "$folder/servers" 3 1 --requirepass secret --masterauth secret --user trellis on '>word' '~*' '&*' +@all || {
    wrong "no cluster: $(tail -n 3 servers/*/log)"
    finish
}
where=redis://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:${ports[5]}/bam
expect 3 "$TRELLIS" bam load store "$where"
contains "$err" "NOAUTH" "no password"
expect 3 env TRELLIS_REDIS_PASSWORD=wrong "$TRELLIS" bam load store "$where"
contains "$err" "WRONGPASS" "a wrong password"
printf 'user trellis\npassword word # not a comment\n' >redis.conf
chmod 600 redis.conf
expect 3 env TRELLIS_REDIS_CONFIG=redis.conf "$TRELLIS" bam load store "$where"
contains "$err" "WRONGPASS" "a password with blanks"
printf '# who asks\nuser trellis\npassword word\nwait 10\n' >redis.conf
chmod 640 redis.conf
expect 3 env TRELLIS_REDIS_CONFIG=redis.conf "$TRELLIS" bam load store "$where"
contains "$err" "redis.conf has a password, and others than its owner can read or write it; chmod 600 redis.conf" "a password that others can read"
chmod 600 redis.conf
expect 0 env TRELLIS_REDIS_CONFIG=redis.conf "$TRELLIS" bam load store "$where"
contains "$err" "$mphones M-phones" "summary"
contains "$err" "on 3 servers" "summary"
export TRELLIS_REDIS_PASSWORD=secret
keys=0
for i in 0 1 2; do
    own=$(ask_redis "${ports[i]}" DBSIZE)
    [ "$own" -gt 12 ] || wrong "server $i has but $own keys"
    keys=$((keys + own))
done
[ "$keys" = $((mphones + 32)) ] || wrong "$keys keys for $mphones M-phones"
same_mixture() { # KEY [OPTION]
    expect 0 "$TRELLIS" bam get store "$@"
    local here=$out
    expect 0 "$TRELLIS" bam get "$where" "$@"
    [ "$out" = "$here" ] || wrong "another mixture of $* from servers"
}
key=$("$TRELLIS" bam export store | sed -nE 's/^([^/]+\/ [^ ]+ ___ [^ ]+)\t.*/\1/p' | head -n 1)
same_mixture "$key"
same_mixture "${key/\/ // OO OO } OO OO" --back-off
expect 3 "$TRELLIS" bam get "$where" "EE_1 / EE EE EE ___ EE EE EE"
contains "$err" "has no M-phone" "an M-phone that nobody said"
expect 3 "$TRELLIS" bam info "$where"
contains "$err" "the folder of a store is needed here" "a command that wants a folder"
lookup=("$TRELLIS_BUILD_DIR/tests/lookup_mphones" store)
expect 1 "${lookup[@]}" "${where%bam}other"
contains "$out" "there is no model 'other'" "another name"

# ---- Rescoring: as from the disk ----
rescore() { "$TRELLIS" bam rescore tones.trm sounds lexicon.txt nbest.jsonl "$1" --to lists -o "$2"; }
expect 0 rescore store from-disk
expect 0 rescore "$where" from-servers
cmp from-disk from-servers || wrong "other scores from servers than from the disk"

# ---- Looking up, by one client through everything ----
begin() { # SECONDS: a client that waits so long for another server
    coproc client { TRELLIS_REDIS_TIMEOUT=10 TRELLIS_REDIS_WAIT=$1 "${lookup[@]}" "$where"; }
    # shellcheck disable=SC2154
    client_process=$client_PID client_input=${client[1]}
}
end() {
    exec {client_input}>&-
    wait "$client_process" || wrong "the client ended with $?"
}
begin 20
looks() { # WHAT FOUND LOST
    echo >&"${client[1]}"
    read -r answer <&"${client[0]}"
    [[ $answer == "found $2 missing $3 wrong 0" ]] || wrong "$1: $answer"
}
looks "as loaded" "$mphones" "$mphones lost 0"

# Another model in its place: the client that has the old one open is told, and its keys are gone.
expect 0 "$TRELLIS" bam train tones.trm sounds lexicon.txt -o another --min-frames 60 -q
expect 0 "$TRELLIS" bam load another "$where" -q
echo >&"${client[1]}"
read -r answer <&"${client[0]}"
contains "$answer" "another model has been loaded" "a model that was replaced"
wait "$client_process"
expect 0 "$TRELLIS" bam load store "$where" -q
keys=0
for i in 0 1 2; do
    keys=$((keys + $(ask_redis "${ports[i]}" DBSIZE)))
done
[ "$keys" = $((mphones + 32)) ] || wrong "$keys keys after the model was replaced twice"
begin 20
looks "as loaded again" "$mphones" "$mphones lost 0"

# A slot on its way from the first server to the second: one of its keys is there already (ASK), then all are (MOVED).
key=$(ask_redis "${ports[0]}" --scan --pattern 'bam:*:{*' | head -n 1)
slot=$(ask_redis "${ports[0]}" CLUSTER KEYSLOT "$key")
from=$(ask_redis "${ports[0]}" CLUSTER MYID) to=$(ask_redis "${ports[1]}" CLUSTER MYID)
ask_redis "${ports[1]}" CLUSTER SETSLOT "$slot" IMPORTING "$from" >/dev/null
ask_redis "${ports[0]}" CLUSTER SETSLOT "$slot" MIGRATING "$to" >/dev/null
move() { ask_redis "${ports[0]}" MIGRATE 127.0.0.1 "${ports[1]}" '' 0 5000 AUTH secret KEYS "$@" >/dev/null; }
move "$key"
looks "a slot half moved" "$mphones" "$mphones lost 0"
# The rights that docs/bam-serving.md names are enough, and that of ASKING is needed.
for i in 0 1 2; do
    ask_redis "${ports[i]}" ACL SETUSER reader on '>read' '~bam:*' resetchannels -@all +get +asking '+cluster|slots' >/dev/null
    ask_redis "${ports[i]}" ACL SETUSER shy on '>read' '~bam:*' resetchannels -@all +get '+cluster|slots' >/dev/null
done
for user in reader shy; do
    expect "$([ "$user" = shy ] && echo 1 || echo 0)" env TRELLIS_REDIS_USER="$user" TRELLIS_REDIS_PASSWORD=read "${lookup[@]}" "$where" <<<""
    contains "$out" "$([ "$user" = shy ] && echo NOPERM || echo "found $mphones missing $mphones lost 0 wrong 0")" "rights of $user"
done
readarray -t rest < <(ask_redis "${ports[0]}" CLUSTER GETKEYSINSLOT "$slot" 1000)
[ ${#rest[@]} = 0 ] || move "${rest[@]}"
for i in 1 0 2; do
    ask_redis "${ports[i]}" CLUSTER SETSLOT "$slot" NODE "$to" >/dev/null
done
looks "a slot moved" "$mphones" "$mphones lost 0"

# A master is killed: its replica takes over. Then that one too, and nobody is left.
replica=
for i in 3 4 5; do
    [[ $(ask_redis "${ports[i]}" ROLE) != *"${ports[2]}"* ]] || replica=$i
done
until_replicated "${ports[2]}" "${ports[replica]}" || wrong "the replica lags: $(tail -n 3 "servers/$replica/log")"
die_after 1500 "${ports[@]:0:6}"
kill -9 "${redis_processes[2]}"
looks "a master killed" "$mphones" "$mphones lost 0"
[[ $(ask_redis "${ports[replica]}" ROLE) == master* ]] || wrong "the replica is no master"
lost=$(ask_redis "${ports[replica]}" --scan --pattern 'bam:*:{*' | wc -l)
end
begin 1
looks "before the second is killed" "$mphones" "$mphones lost 0"
kill -9 "${redis_processes[replica]}"
for again in 1 2; do
    echo >&"${client[1]}"
    read -r answer <&"${client[0]}"
    [[ $answer == "found $((mphones - lost)) missing "*" wrong 0" ]] || wrong "a server and its replica killed, $again: $answer, $lost of $mphones are there"
    [[ $answer != *" lost 0 "* ]] || wrong "nothing is lost: $answer"
done
# Nor is the lost server needed to begin with.
end
begin 1
echo >&"${client[1]}"
read -r answer <&"${client[0]}"
[[ $answer == "found $((mphones - lost)) missing "*" wrong 0" ]] || wrong "opened with a server gone: $answer"
export TRELLIS_REDIS_WAIT=1
expect 1 rescore "$where" with-losses
contains "$err" "because a server did not answer" "how much is lost"
grep -q '"lost": *[1-9]' with-losses || wrong "the lists don't say what is lost: $(head -n 1 with-losses)"
expect 3 "$TRELLIS" bam load store "$where"
contains "$err" "not all could be stored" "loading with a server gone"
end
finish
