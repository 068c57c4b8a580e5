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

redis_processes=()
end_redis() {
    [ ${#redis_processes[@]} = 0 ] || kill -9 "${redis_processes[@]}" 2>/dev/null
    wait "${redis_processes[@]}" 2>/dev/null
}

# Until the command's output has the text; fails after a minute.
until_redis() { # PORT TEXT COMMAND …
    local port=$1 text=$2 i
    shift 2
    for ((i = 0; i < 600; i++)); do
        [[ $(ask_redis "$port" "$@" 2>/dev/null) != *"$text"* ]] || return 0
        read -rt 0.1 _ <>"$redis_folder/pause"
    done
    echo "redis on port $port never said $text to $*"
    return 1
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
            --cluster-node-timeout 1500 --cluster-require-full-coverage no --save '' --appendonly no --repl-diskless-sync-delay 0 \
            --logfile "$redis_folder/$i/log" "$@" >/dev/null 2>&1 &
        redis_processes+=($!)
        addresses+=("127.0.0.1:${ports[i]}")
    done
    for ((i = 0; i < count; i++)); do
        until_redis "${ports[i]}" PONG PING || return 1
    done
    redis-cli --no-auth-warning --cluster create "${addresses[@]}" --cluster-replicas "$replicas" --cluster-yes >"$redis_folder/create" 2>&1 || {
        cat "$redis_folder/create"
        return 1
    }
    for ((i = 0; i < count; i++)); do
        until_redis "${ports[i]}" cluster_state:ok CLUSTER INFO || return 1
        [[ $(ask_redis "${ports[i]}" ROLE) != slave* ]] || until_redis "${ports[i]}" master_link_status:up INFO replication || return 1
    done
}
