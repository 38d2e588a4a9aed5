#!/usr/bin/env bash
# `make demo`: build the image, start the containers, run a federation slowly enough to be watched on
# its page, copy its run folder to outputs/demo (or DEMO_OUT), and stop everything. Keys, state and
# results stay in volumes until `make demo-down`. If the run fails, the containers stay up, so that it
# can be resumed. What `docker/demo.sh WORD` does while it runs stands at the end.
#
# NODES  how many, one of which is started by `make demo-join` (8)
# TASK   mixture_regression, or rotated_digits: a neural network, each node with its own images
# ARGS   settings of `tagma run` and options of `tagma compose`
set -euo pipefail
cd "$(dirname "$0")/.."
out=${DEMO_OUT:-outputs/demo}
page=http://127.0.0.1:${TAGMA_PAGE_PORT:-8700}/
file=docker-compose.demo.yml

fail() {
    echo "demo: $*" >&2
    exit 2
}

if ! docker info > /dev/null 2>&1; then
    fail "no Docker engine is running here; without one: tagma run engine=deployment" \
        "engine.local_nodes=6 task.clients=6 task.clusters=2 live=true pause=2"
fi
. docker/project.sh
[ -n "$TAGMA_COMPOSE" ] || fail "there is no Docker Compose here, neither \`docker compose\` nor \`docker-compose\`"
[ -f "$file" ] || case ${1:-up} in
    up) ;;
    down | renew) file=docker-compose.yml ;;
    *) fail "nothing was started yet: make demo" ;;
esac
compose=$TAGMA_COMPOSE
export TAGMA_COMPOSE="$compose -f $file"

# The container of a node, running or not.
node() {
    case ${NODE:-} in '' | *[!0-9]*) fail "say which node: NODE=5" ;; esac
    local found
    found=$($TAGMA_COMPOSE ps -a -q "node-$NODE" 2> /dev/null || $TAGMA_COMPOSE ps -q "node-$NODE" 2> /dev/null) || true
    [ -n "$found" ] || fail "NODE=$NODE: there is no such node (the late one comes with: make demo-join)"
    echo "$found"
}

# Write what a node does from its next message on to the file that it reads.
turn() {
    local container
    container=$(node)
    docker exec -i "$container" sh -c 'cat > /tmp/attack' <<< "$1" 2> /dev/null \
        || fail "NODE=$NODE: it is not running (make demo-back NODE=$NODE)"
}

fleet=${COMPOSE_PROJECT_NAME:-$(sed -n 's/^COMPOSE_PROJECT_NAME=//p' .env | tail -n 1)}_fleet

up() {
    $compose -f docker-compose.yml build keys
    local image=${TAGMA_IMAGE:-$(sed -n 's/^TAGMA_IMAGE=//p' .env | tail -n 1)}
    local task=()
    [ "${TASK:-mixture_regression}" = mixture_regression ] || task=("task=$TASK" task.clusters=2 task.samples=200)
    docker run --rm --network none "$image" tagma compose --demo --nodes "${NODES:-8}" "${task[@]}" ${ARGS:-} > "$file"
    $TAGMA_COMPOSE up -d
    cat << WORDS

Watch it: $page
Turn a node:      make demo-attack NODE=5 ATTACK=sign_flip    and back: make demo-honest NODE=5
Take one away:    make demo-kill NODE=3, demo-cut NODE=2      and back: make demo-back NODE=3
One that is late: make demo-join

WORDS
    if [ -t 1 ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open > /dev/null; then
        xdg-open "$page" > /dev/null 2>&1 || true
    fi
    if ! $TAGMA_COMPOSE run --rm ${NO_TTY:+-T} run; then
        echo "demo: the run failed; the containers are still up: make demo-down takes them away" >&2
        exit 1
    fi
    rm -rf "$out"
    mkdir -p "$out"
    $TAGMA_COMPOSE run --rm --no-deps -T run tar -C /results/run -cf - . | tar -xf - -C "$out"
    $TAGMA_COMPOSE --profile late stop --timeout 5
    echo "the run folder: $out (report: $out/report.html)"
}

case ${1:-up} in
    up) up ;;
    down) exec $TAGMA_COMPOSE --profile late --profile run down --volumes --remove-orphans --timeout 2 ;;
    renew)
        $TAGMA_COMPOSE run --rm keys tagma keys /keys --renew --owner 10001
        exec $TAGMA_COMPOSE restart --timeout 5 superlink executor proxy
        ;;
    attack)
        attack=${ATTACK:-sign_flip}
        case $attack in *[!a-z_]*) fail "ATTACK=$attack: is no name of an attack" ;; esac
        grep -qs '^_target_: tagma\.attacks\.local\.' "conf/attack/$attack.yaml" \
            || fail "ATTACK=$attack: is no attack that a node runs by itself; try sign_flip, inflate, gaussian_noise, lazy"
        turn "$attack"
        echo "node $NODE runs $attack from the next round on"
        ;;
    honest)
        turn none
        echo "node $NODE is honest from the next round on"
        ;;
    kill)
        container=$(node)
        docker kill "$container" > /dev/null
        echo "node $NODE is dead"
        ;;
    cut)
        container=$(node)
        docker network disconnect "$fleet" "$container"
        echo "node $NODE is cut off"
        ;;
    back)
        container=$(node)
        docker network connect --alias "node-$NODE" "$fleet" "$container" 2> /dev/null || true
        docker start "$container" > /dev/null
        echo "node $NODE is on its way back"
        ;;
    join)
        $TAGMA_COMPOSE --profile late up -d --no-deps --no-recreate \
            "$(sed -n '/^  node-/h; /profiles: \[late\]/{x;s/[ :]//gp;}' "$file")"
        echo "the late node is on its way"
        ;;
    *) fail "$1: there is no such word" ;;
esac
