# Sourced by whoever needs a Redis Cluster on loopback: servers of this shell, in a folder of theirs, ended by end_redis.
#
#     start_redis FOLDER MASTERS REPLICAS [SETTING …]     # ports[i], redis_processes[i]; each master has so many replicas

# As many numbers of ports that nobody has now, below those that the system gives to outgoing connections: nobody takes one unasked
# before its server does.
free_ports() { # COUNT
    python3 -c '
import random, socket, sys
sockets = []
while len(sockets) < int(sys.argv[1]):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", random.randint(12000, 32000)))
        sockets.append(s)
    except OSError:
        s.close()
print(*[s.getsockname()[1] for s in sockets])' "$1"
}

ask_redis() { # PORT COMMAND …
    local port=$1
    shift
    redis-cli --no-auth-warning -h 127.0.0.1 -p "$port" "$@"
}

# Who is silent for so long is taken for dead. Until a test wants that, nobody is: a disk that is busy must not look like a server that is gone.
die_after() { # MILLISECONDS PORT …
    local port
    for port in "${@:2}"; do
        ask_redis "$port" CONFIG SET cluster-node-timeout "$1" >/dev/null
    done
}

redis_processes=()
end_redis() {
    [ ${#redis_processes[@]} = 0 ] || kill -9 "${redis_processes[@]}" 2>/dev/null
    wait "${redis_processes[@]}" 2>/dev/null
}

# Until the command succeeds, a tenth of a second between two times; fails after a minute.
until_true() { # COMMAND …
    local i
    for ((i = 0; i < 600; i++)); do
        ! "$@" || return 0
        read -rt 0.1 _ <>"$redis_folder/pause"
    done
    echo "never true: $*"
    return 1
}

says() { # PORT TEXT COMMAND …: is the text in the answer?
    [[ $(ask_redis "$1" "${@:3}" 2>/dev/null) == *"$2"* ]]
}

# Of the sections of INFO replication, a number.
replication() { # PORT NAME
    ask_redis "$1" INFO replication | tr -d '\r' | sed -n "s/^$2://p"
}

has_offset() { # PORT OFFSET: has this replica all that its master had written then?
    says "$1" master_link_status:up INFO replication && [ "$(replication "$1" slave_repl_offset)" -ge "$2" ]
}

# Replicas are behind their masters. Until this one has all that was written up to now.
until_replicated() { # MASTER-PORT REPLICA-PORT
    until_true has_offset "$2" "$(replication "$1" master_repl_offset)"
}

start_redis() {
    local masters=$2 replicas=$3 count i addresses=()
    redis_folder=$1
    count=$((masters * (1 + replicas)))
    shift 3
    mkdir -p "$redis_folder"
    mkfifo "$redis_folder/pause"
    read -ra ports <<<"$(free_ports $((2 * count)))"
    for ((i = 0; i < count; i++)); do
        mkdir "$redis_folder/$i"
        redis-server --bind 127.0.0.1 --port "${ports[i]}" --cluster-port "${ports[i + count]}" --dir "$redis_folder/$i" --cluster-enabled yes \
            --cluster-node-timeout 30000 --cluster-require-full-coverage no --save '' --appendonly no --repl-diskless-sync-delay 0 \
            --logfile "$redis_folder/$i/log" "$@" >/dev/null 2>&1 &
        redis_processes+=($!)
        addresses+=("127.0.0.1:${ports[i]}")
    done
    for ((i = 0; i < count; i++)); do
        until_true says "${ports[i]}" PONG PING || return 1
    done
    redis-cli --no-auth-warning --cluster create "${addresses[@]}" --cluster-replicas "$replicas" --cluster-yes >"$redis_folder/create" 2>&1 || {
        cat "$redis_folder/create"
        return 1
    }
    for ((i = 0; i < count; i++)); do
        until_true says "${ports[i]}" cluster_state:ok CLUSTER INFO || return 1
    done
}
