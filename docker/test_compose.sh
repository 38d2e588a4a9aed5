#!/usr/bin/env bash
# `make test-compose`: the demo on a real Docker engine. Installs nothing on this computer; without an
# engine it says so and ends well. PYTHON: an interpreter with Tagma and pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v docker > /dev/null || ! docker info > /dev/null 2>&1; then
    echo "test-compose: SKIPPED: no Docker engine is running here"
    exit 0
fi
. docker/project.sh
if [ -z "$TAGMA_COMPOSE" ]; then
    echo "test-compose: SKIPPED: there is no Docker Compose here"
    exit 0
fi
exec "${PYTHON:-python3}" -m pytest docker/compose_tests --durations=0 -s "$@"
