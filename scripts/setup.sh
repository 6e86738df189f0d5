#!/bin/sh
# Makes a clone ready to run: the locked npm packages, the system's packages, the built service, the pages that people open.
# It runs before anything is installed, so it needs no more than sh and npm, and
# it runs at every start, so it looks at files and at nothing slower. With the
# word `tests` it also installs what only the tests run; with `image` only what
# images of virtual machines are built and tried with; with `packages` only the
# npm packages and the built service; with `package` the pages as well, and nothing of the system; with `dev` no built service, for who serves from the sources;
# with `site` the site of the documentation, in packages/site/dist.
set -eu
purpose=${1:-service}
cd "$(dirname "$0")/.."
. scripts/host-packages.sh

# Runs a command and shows what it said only when it failed.
quietly() {
  output=$(mktemp)
  if "$@" >"$output" 2>&1 </dev/null; then rm -f "$output"; return 0; fi
  cat "$output" >&2
  rm -f "$output"
  return 1
}

has_proxy() {
  [ -n "${https_proxy:-}${http_proxy:-}" ]
}

# apt reads the names in small letters alone.
for name in http_proxy:HTTP_PROXY https_proxy:HTTPS_PROXY; do
  eval "value=\${${name%:*}:-\${${name#*:}:-}}"
  if [ -n "$value" ]; then export "${name%:*}=$value"; fi
done

# What to do where a download fails, after what the program itself said. A proxy is not shown: it may have a password.
explain_download() {
  if has_proxy; then
    echo 'Downloads went through the proxy of HTTPS_PROXY or HTTP_PROXY: is it right, and does it reach the internet?' >&2
  else
    echo 'Where this host reaches the internet through a proxy, set HTTPS_PROXY=http://HOST:PORT and HTTP_PROXY to the same.' >&2
  fi
  echo "$1" >&2
}

# Under `npm start` the PATH begins with node_modules/.bin, which `npm ci` is about to remove.
run_npm() {
  if [ -n "${npm_execpath:-}" ] && [ -n "${npm_node_execpath:-}" ] && [ "${npm_node_execpath#"$PWD"/node_modules/}" = "$npm_node_execpath" ]; then
    "$npm_node_execpath" "$npm_execpath" "$@"
  else
    npm "$@"
  fi
}

# npm on an older one leaves out packages without a word.
require_node() {
  version=$("${npm_node_execpath:-node}" --version)
  minor=${version#v*.}
  case "${version%%.*}" in
    v[0-9] | v1[0-9]) ;;
    v20) if [ "${minor%%.*}" -ge 19 ]; then return 0; fi ;;
    *) return 0 ;;
  esac
  echo "Node $version is too old: install Node 20.19 or newer. That of Debian 12 is older." >&2
  exit 1
}

# The stamp lies in node_modules, so it goes when that goes, and an install that was cut short leaves none.
install_npm_packages() {
  stamp=node_modules/.berth-lockfile
  if [ -x node_modules/.bin/node ] && sha256sum package-lock.json | cmp -s - "$stamp"; then return 0; fi
  echo 'Installing npm packages ...' >&2
  require_node
  # The system's npm may run on an older Node than the packages ask for; they run on the pinned one.
  quietly run_npm ci --ignore-scripts --include=dev --include=optional --loglevel=error --no-audit --no-fund ||
    { explain_download 'For a mirror of npm packages: npm config set registry URL'; exit 1; }
  # npm 9 and 10, which Node 20 and 22 come with, leave out the link to the pinned Node.
  for pinned in node_modules/node-linux-*/bin/node; do
    [ -x node_modules/.bin/node ] || ln -s "../${pinned#node_modules/}" node_modules/.bin/node
  done
  sha256sum package-lock.json >"$stamp"
}

# The clients that the examples connect with. Nothing of the service needs them.
install_example_packages() {
  stamp=examples/node_modules/.berth-lockfile
  if sha256sum examples/package-lock.json | cmp -s - "$stamp"; then return 0; fi
  echo 'Installing the clients of the examples ...' >&2
  quietly run_npm ci --prefix examples --ignore-scripts --loglevel=error --no-audit --no-fund
  sha256sum examples/package-lock.json >"$stamp"
}

# The site of the documentation has a lockfile of its own, too: its modules are larger than those of the service.
build_site() {
  stamp=packages/site/node_modules/.berth-lockfile
  if ! sha256sum packages/site/package-lock.json | cmp -s - "$stamp"; then
    echo 'Installing the packages of the site ...' >&2
    quietly run_npm ci --prefix packages/site --workspaces=false --ignore-scripts --loglevel=error --no-audit --no-fund
    sha256sum packages/site/package-lock.json >"$stamp"
  fi
  echo 'Building the site ...' >&2
  # Astro would report that it runs.
  export ASTRO_TELEMETRY_DISABLED=1
  node=$PWD/node_modules/.bin/node
  (cd packages/site && quietly "$node" node_modules/astro/bin/astro.mjs build)
}

# What virtual machines run in. An operator who names a QEMU has one.
list_emulator_packages() {
  [ -n "${BERTH_QEMU:-}" ] || [ -x /usr/bin/qemu-system-x86_64 ] || echo qemu-system-x86
}

# What images of virtual machines are built with. Without root that takes users of its own.
list_image_packages() {
  command -v mmdebstrap >/dev/null || echo mmdebstrap
  command -v mkfs.erofs >/dev/null || [ -x /usr/sbin/mkfs.erofs ] || echo erofs-utils
  [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
  [ "$(id -u)" -eq 0 ] || command -v newuidmap >/dev/null || echo uidmap
}

# What only tests run: certificates, the commands of the documentation, the proxy of a fleet, environments of Python, and what Selenium drives browsers with.
list_test_packages() {
  for command in openssl curl jq; do command -v "$command" >/dev/null || echo "$command"; done
  command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ] || echo haproxy
  python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
  command -v chromedriver >/dev/null || echo chromium-driver
}

# Programs that tests run, each the only file taken of its Debian package: the rest would start a server. promtool checks metrics
# and alert rules; Caddy and nginx run the files of docs/tls.md.
fetch_test_programs() {
  fetch_program prometheus usr/bin/promtool
  fetch_program caddy usr/bin/caddy
  fetch_program nginx usr/sbin/nginx
}

fetch_program() {
  name=${2##*/}
  fetched=node_modules/.berth-$name
  if [ -x "$fetched" ] || command -v "$name" >/dev/null; then return 0; fi
  echo "Fetching $name ..." >&2
  aside=$(mktemp -d)
  if ! quietly download_program "$aside" "$1" "$2"; then
    rm -rf "$aside"
    echo "$name could not be fetched from the Debian package $1. Install $name as Debian 12 has it, or newer." >&2
    exit 1
  fi
  mv "$aside/$2" "$fetched"
  rm -rf "$aside"
}

download_program() (
  cd "$1"
  chmod 755 .
  apt-get download "$2" || { run_as_root apt-get update && apt-get download "$2"; }
  dpkg-deb --fsys-tarfile "$2"_*.deb | tar -x "./$3"
)

run_as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

wants_virtual_machines() {
  case ${BERTH_RUNTIME:-auto} in
    qemu) return 0 ;;
    auto) [ -e "${BERTH_IMAGES_DIR:-${BERTH_DATA_DIR:-data}/images}/current" ] ;;
    *) return 1 ;;
  esac
}

list_missing_system_packages() {
  list_jail_packages
  if [ "$purpose" != image ]; then list_browser_packages; fi
  if [ "$purpose" != service ]; then list_image_packages; fi
  if [ "$purpose" != service ] || wants_virtual_machines; then list_emulator_packages; fi
  if [ "$purpose" = tests ]; then list_test_packages; fi
}

install_system_packages() {
  missing=$(list_missing_system_packages | paste -s -d ' ' -)
  if [ -z "$missing" ]; then return 0; fi
  command="apt-get update && apt-get install -y --no-install-recommends $missing"
  if ! command -v apt-get >/dev/null; then
    echo "Berth needs these packages of Debian 12, or the same by another name: $missing" >&2
    exit 1
  fi
  as_root=''
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      printf 'Berth needs system packages that are missing, and may not install them. As root, run:\n\n    %s\n\n' "$command" >&2
      exit 1
    fi
    as_root='sudo -n'
    # sudo passes them on only where it is told to. The names, never the values, which others see among the processes.
    if has_proxy; then as_root='sudo -n --preserve-env=http_proxy,https_proxy'; fi
  fi
  echo "Installing system packages: $missing ..." >&2
  if ! quietly $as_root env DEBIAN_FRONTEND=noninteractive sh -c "$command"; then
    printf 'The system packages could not be installed. As root, run:\n\n    %s\n\n' "$command" >&2
    explain_download 'For a mirror of Debian packages: change the addresses in /etc/apt/sources.list or /etc/apt/sources.list.d.'
    exit 1
  fi
}

# Returns whether the built folder lacks the stamp of these sources.
is_stale() {
  ! { [ -f "$1/.sources" ] && printf '%s\n' "$2" | cmp -s - "$1/.sources"; }
}

# All that the service is made of. Which modules are entries of their own depends on what tests and benches import.
list_service_sources() {
  echo package-lock.json
  echo scripts/build.ts
  find packages -name node_modules -prune -o -name dist -prune -o -type f -name '*.ts' ! -path 'packages/web/*' ! -path 'packages/cli/*' ! -name '*.test.ts' ! -name '*.microvm.ts' -print
}

list_service_entries() {
  find tests bench -name '*.ts' -exec grep -hoE "(packages/|@berth/)[a-z0-9/.-]+'" {} + 2>/dev/null | LC_ALL=C sort -u | sha256sum
}

# Built aside and moved into place as a whole, with the stamp, so a build that was cut short leaves no half of one.
build_service() {
  sources=$(list_service_sources | LC_ALL=C sort | xargs sha256sum; list_service_entries)
  if ! is_stale packages/server/dist "$sources"; then return 0; fi
  echo 'Building the service ...' >&2
  # Beside the place where it will be: its files name the sources by a relative path.
  aside=packages/server/dist.$$
  trap 'rm -rf "$aside"' EXIT
  quietly node_modules/.bin/node --disable-warning=ExperimentalWarning scripts/build.ts "$aside"
  printf '%s\n' "$sources" >"$aside/.sources"
  rm -rf packages/server/dist
  mv "$aside" packages/server/dist
}

# All that the pages are made of.
list_page_sources() {
  echo package-lock.json
  find packages/contract/src packages/sdk/src -type f ! -name '*.test.ts' -print
  find packages/web \( -path packages/web/dist -o -name node_modules \) -prune -o -type f ! -name '*.test.ts' -print
}

# As the service is.
build_pages() {
  sources=$(list_page_sources | LC_ALL=C sort | xargs sha256sum)
  if ! is_stale packages/web/dist "$sources"; then return 0; fi
  echo 'Building the pages ...' >&2
  aside=node_modules/.berth-pages.$$
  trap 'rm -rf "$aside"' EXIT
  # The native loader reads the configuration without writing a copy of it beside.
  quietly node_modules/.bin/node node_modules/vite/bin/vite.js build packages/web --configLoader native --outDir "$PWD/$aside" --emptyOutDir
  printf '%s\n' "$sources" >"$aside/.sources"
  rm -rf packages/web/dist
  mv "$aside" packages/web/dist
}

install_npm_packages
if [ "$purpose" = site ]; then build_site; exit 0; fi
if [ "$purpose" != dev ]; then build_service; fi
if [ "$purpose" = packages ]; then exit 0; fi
if [ "$purpose" = tests ]; then install_example_packages & fi
if [ "$purpose" != package ]; then install_system_packages; fi
if [ "$purpose" = tests ]; then fetch_test_programs; fi
if [ "$purpose" != image ]; then build_pages; fi
if [ "$purpose" = tests ]; then wait $!; fi
