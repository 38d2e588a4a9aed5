#!/usr/bin/env bash
# `make demo`: build the image, start the containers, run the federation, copy its run folder to
# outputs/demo, and stop everything. Keys, state and results stay in volumes until `make demo-down`.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! docker info > /dev/null 2>&1; then
    echo "demo: no Docker engine is running here; without one: tagma run engine=deployment" \
        "engine.local_nodes=6 task.machines=6 task.clusters=2" >&2
    exit 2
fi
compose() {
    if command -v docker-compose > /dev/null; then docker-compose "$@"; else docker compose "$@"; fi
}
compose build keys
trap 'compose stop --timeout 5' EXIT
compose up -d
outcome=0
compose run --rm run || outcome=$?
rm -rf outputs/demo
mkdir -p outputs/demo
compose run --rm -T run tar -C /results/run -cf - . | tar -xf - -C outputs/demo
if [ "$outcome" = 0 ]; then
    echo "the run folder: outputs/demo (report: outputs/demo/report.html)"
fi
exit "$outcome"
