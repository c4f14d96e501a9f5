#!/bin/bash
# What the image is built and run with where there is no container engine: buildah, and debootstrap
# for its base. Exit status 1, with the reason, where they cannot be installed.
set -euo pipefail

# One by one: of several names, `command -v` is content with a single one that it finds.
if command -v buildah && command -v debootstrap && command -v ip; then
    exit 0
fi >/dev/null
if ! command -v apt-get >/dev/null; then
    echo "there is no apt-get to install buildah and debootstrap with" >&2
    exit 1
fi
sudo=$([ "$(id -u)" = 0 ] || echo sudo)
apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y"
$apt update >/dev/null
# The keyring: debootstrap checks Debian's signature, and Ubuntu does not have the key.
$apt install --no-install-recommends buildah debootstrap debian-archive-keyring iproute2 >/dev/null
