#!/bin/bash
# make docker-test, as root: build the image without a container engine, then try it.
#
# Usage: tests/docker/run.sh PYTHON [PYTEST-ARGUMENT ...]
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHON=$1
export PYTHONDONTWRITEBYTECODE=1 # root leaves no files in somebody's checkout
shift

tests/docker/install.sh || { echo "docker-test needs buildah and debootstrap" >&2; exit 1; }
"$PYTHON" -m tests.docker.build_image

# A network and process numbers of their own: the server gets its usual port whatever runs on this
# machine, and nothing outlives the checks. 192.0.2.1 plays a client that is not on the loopback
# interface; the address is reserved for examples.
checks() {
    ip link set lo up
    ip address add 192.0.2.1/32 dev lo
    exec "$PYTHON" -m pytest -rP -p no:cacheprovider tests/docker/image_checks.py "$@"
}
export -f checks
exec unshare --net --pid --fork --kill-child --mount-proc bash -euc 'checks "$@"' checks "$@"
