# Sourced, from the checkout's root: which Compose there is, and this checkout's own project.
#
# The name stands in .env, where Compose looks for it, so that two checkouts' containers, volumes and
# images do not mix, and `docker compose ...` by hand means the same project as `make demo`.
if docker compose version > /dev/null 2>&1; then
    TAGMA_COMPOSE="docker compose"
elif command -v docker-compose > /dev/null; then
    TAGMA_COMPOSE=docker-compose
else
    TAGMA_COMPOSE=
fi
export TAGMA_COMPOSE
if ! grep -qs '^COMPOSE_PROJECT_NAME=' .env; then
    if [ -s .env ] && [ -n "$(tail -c 1 .env)" ]; then echo >> .env; fi
    name=tagma-$(pwd -P | sha256sum | cut -c 1-8)
    printf 'COMPOSE_PROJECT_NAME=%s\nTAGMA_IMAGE=%s\n' "$name" "$name" >> .env
fi
