#!/bin/sh
# Runs the built service on the pinned Node, in the place of this shell, so that signals reach it.
set -eu
# `berth up` runs it from the installed package: on a Node that is elsewhere, with paths of the caller's folder.
root=$(cd "$(dirname "$0")/.." && pwd)
cd "${SERVICE_FOLDER:-$root}"
# `npm run dev` serves from the sources.
main=${SERVICE_MAIN:-$root/packages/server/dist/server.main.js}
if [ ! -e "$main" ]; then echo 'The service is not built: run sh scripts/setup.sh packages' >&2; exit 1; fi
# What was compiled at one start need not be at the next. A folder that cannot be written is not used.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$root/node_modules/.cache/berth}"
# glibc's own thresholds grow with every large buffer that is freed, until buffers of megabytes lie between
# small ones and are never given back. Set, they stay. The browser and the database do not inherit them.
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-131072}" MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_:-1048576}"
# Threads come and go: each of up to sixteen arenas keeps what its thread needed most. Two hold less, and are busy enough.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
# Most of what a request leaves behind is dead at once: a small nursery is collected often and keeps
# the process some 40 MB smaller, for as long as it runs.
# Stack traces name the sources.
exec "${SERVICE_NODE:-$root/node_modules/.bin/node}" --enable-source-maps --max-semi-space-size=4 "$main" "$@"
