#!/bin/sh
# Runs the service on the pinned Node, in the place of this shell, so that signals reach it.
set -eu
cd "$(dirname "$0")/.."
# Most of what a request leaves behind is dead at once: a small nursery is collected often and keeps
# the process some 40 MB smaller, for as long as it runs.
# What was compiled at one start need not be at the next. A folder that cannot be written is not used.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/node_modules/.cache/berth}"
exec node_modules/.bin/node --max-semi-space-size=4 packages/server/src/main.ts "$@"
