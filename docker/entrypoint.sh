#!/bin/sh
# Arguments as the redis image takes them: options, or a configuration file, are for the server
# (`docker run IMAGE --port 7000`); anything else is a command (`docker run IMAGE rillway --help`).
# What was written for that image may name its server: `redis-server --port 7000` starts ours.
set -e

case "${1-}" in
    -* | *.conf) set -- rillway serve "$@" ;;
    redis-server) shift && set -- rillway serve "$@" ;;
esac

# In place of this shell, so that the server itself gets the SIGTERM with which a container stops.
exec "$@"
