#!/bin/sh
# Installs what is missing, then serves. Who only asks for help waits for no install, unless there is nothing to run yet.
set -eu
cd "$(dirname "$0")/.."
case " $* " in
  *' --help '* | *' -h '*) if [ -x node_modules/.bin/node ]; then exec sh scripts/serve.sh --help; fi ;;
esac
sh scripts/setup.sh
exec sh scripts/serve.sh "$@"
