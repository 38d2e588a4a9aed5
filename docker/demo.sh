#!/usr/bin/env bash
# `make demo`: build the image, start the containers, run the federation, copy its run folder to
# outputs/demo (or DEMO_OUT), and stop everything. Keys, state and results stay in volumes until
# `make demo-down`. If the run fails, the containers stay up, so that it can be resumed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${DEMO_OUT:-outputs/demo}
if ! docker info > /dev/null 2>&1; then
    echo "demo: no Docker engine is running here; without one: tagma run engine=deployment" \
        "engine.local_nodes=6 task.clients=6 task.clusters=2" >&2
    exit 2
fi
TAGMA_COMPOSE=$(command -v docker-compose > /dev/null && echo docker-compose || echo docker compose)
export TAGMA_COMPOSE
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
