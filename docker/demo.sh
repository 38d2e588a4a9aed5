#!/usr/bin/env bash
# `make demo`: build the image, start the containers, run the federation, copy its run folder to
# outputs/demo (or DEMO_OUT), and stop everything. Keys, state and results stay in volumes until
# `make demo-down`. If the run fails, the containers stay up, so that it can be resumed.
# `docker/demo.sh down` takes everything away; `docker/demo.sh renew` replaces the certificates.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${DEMO_OUT:-outputs/demo}
if ! docker info > /dev/null 2>&1; then
    echo "demo: no Docker engine is running here; without one: tagma run engine=deployment" \
        "engine.local_nodes=6 task.clients=6 task.clusters=2" >&2
    exit 2
fi
. docker/project.sh
if [ -z "$TAGMA_COMPOSE" ]; then
    echo "demo: there is no Docker Compose here, neither \`docker compose\` nor \`docker-compose\`" >&2
    exit 2
fi
case ${1:-} in
    down) exec $TAGMA_COMPOSE down --volumes --remove-orphans --timeout 2 ;;
    renew)
        $TAGMA_COMPOSE run --rm keys tagma keys /keys --renew --owner 10001
        exec $TAGMA_COMPOSE restart --timeout 5 superlink executor proxy
        ;;
esac
$TAGMA_COMPOSE build keys
$TAGMA_COMPOSE up -d
if ! $TAGMA_COMPOSE run --rm run; then
    echo "demo: the run failed; the containers are still up: make demo-down takes them away" >&2
    exit 1
fi
rm -rf "$out"
mkdir -p "$out"
$TAGMA_COMPOSE run --rm --no-deps -T run tar -C /results/run -cf - . | tar -xf - -C "$out"
$TAGMA_COMPOSE stop --timeout 5
echo "the run folder: $out (report: $out/report.html)"
