# What browsers need of a host, as the packages of its distribution. Sourced by `scripts/setup.sh`; `berth up` runs it:
#   sh host-packages.sh missing   prints the packages that are missing, one a line
#   sh host-packages.sh command   prints the command that installs them, empty where nothing is missing
#   sh host-packages.sh refusal   prints why the service cannot run here, empty where it can

# debian, ubuntu, fedora or unknown. The lists below have Debian's names.
read_distribution() {
  os_release=${OS_RELEASE:-/etc/os-release}
  distribution=unknown
  if [ ! -r "$os_release" ]; then return 0; fi
  family=$(. "$os_release"; echo " ${ID:-} ${ID_LIKE:-} ")
  case $family in
    *' ubuntu '*) distribution=ubuntu ;;
    *' debian '*) distribution=debian ;;
    *' fedora '* | *' rhel '*) distribution=fedora ;;
  esac
}

# A name of Debian as that of this distribution; empty where it has no such package.
translate() {
  case $distribution:$1 in
    # There, `chromium` starts a program that installs the snap, which runs in no jail.
    ubuntu:chromium | ubuntu:chromium-headless-shell) ;;
    fedora:chromium-headless-shell) echo chromium-headless ;;
    fedora:iproute2) echo iproute ;;
    fedora:tigervnc-standalone-server) echo tigervnc-server-minimal ;;
    fedora:x11-xkb-utils) echo xkbcomp ;;
    fedora:ffmpeg) echo ffmpeg-free ;;
    fedora:fonts-noto-cjk) echo google-noto-sans-cjk-fonts ;;
    fedora:fonts-noto-color-emoji) echo google-noto-color-emoji-fonts ;;
    fedora:fonts-noto-ui-core) echo google-noto-sans-devanagari-fonts ;;
    fedora:fonts-dejavu-core) echo dejavu-sans-fonts ;;
    fedora:fonts-liberation) echo liberation-fonts ;;
    *) echo "$1" ;;
  esac
}

# Whether one of these is there; a pattern that matches nothing stands for itself, and is not.
any_file() {
  for path in "$@"; do if [ -e "$path" ]; then return 0; fi; done
  return 1
}

# What browsers run on, and are shown and recorded by.
list_browser_packages() {
  # The service looks in the same places.
  any_file /usr/lib/chromium/chromium /usr/lib64/chromium-browser/chromium-browser /opt/google/chrome/chrome || echo chromium
  any_file /usr/lib/chromium/chromium-headless-shell /usr/lib64/chromium-browser/headless_shell || echo chromium-headless-shell
  command -v ip >/dev/null || [ -x /usr/sbin/ip ] || [ -x /sbin/ip ] || echo iproute2
  command -v Xtigervnc >/dev/null || echo tigervnc-standalone-server
  command -v xkbcomp >/dev/null || echo x11-xkb-utils
  command -v openbox >/dev/null || echo openbox
  command -v ffmpeg >/dev/null || echo ffmpeg
  any_file /usr/share/fonts/*/*/NotoSansCJK* /usr/share/fonts/*/NotoSansCJK* || echo fonts-noto-cjk
  any_file /usr/share/fonts/*/*/NotoColorEmoji* /usr/share/fonts/*/NotoColorEmoji* || echo fonts-noto-color-emoji
  # Arabic and what is written in South and Southeast Asia: 5 MB, of which fonts-noto-core takes 42.
  any_file /usr/share/fonts/*/*/NotoSansDevanagari* /usr/share/fonts/*/NotoSansDevanagari* || echo fonts-noto-ui-core
  # Hebrew, Armenian, Georgian and signs.
  any_file /usr/share/fonts/*/*/DejaVuSans.ttf /usr/share/fonts/*/DejaVuSans.ttf || echo fonts-dejavu-core
  # For all other letters any font will do.
  any_file /usr/share/fonts/truetype/[!n]*/*.[to]t[fc] /usr/share/fonts/*/*/NotoSans-R* /usr/local/share/fonts/* || echo fonts-liberation
}

# What every machine is fenced in with.
list_jail_packages() {
  { command -v unshare && command -v setpriv && command -v nsenter; } >/dev/null || echo util-linux
  command -v bwrap >/dev/null || echo bubblewrap
}

list_host_packages() {
  { list_jail_packages; list_browser_packages; } | while read -r name; do translate "$name"; done
}

print_install_command() {
  missing=$(list_host_packages | paste -s -d ' ' -)
  if [ -z "$missing" ]; then return 0; fi
  as_root=''
  [ "$(id -u)" -eq 0 ] || as_root='sudo '
  case $distribution in
    debian | ubuntu) echo "${as_root}apt-get update && ${as_root}apt-get install -y --no-install-recommends $missing" ;;
    fedora) echo "${as_root}dnf install -y --setopt=install_weak_deps=False $missing" ;;
  esac
}

# The Node, the PostgreSQL and the browsers that the service runs are built for glibc on x86-64 and arm64.
print_refusal() {
  case $(uname -s):$(uname -m) in
    Linux:x86_64 | Linux:aarch64) ;;
    *) echo "The service runs on Linux on x86-64 or arm64, and this is $(uname -s) on $(uname -m). Run the container instead." ;;
  esac
  if any_file /lib/ld-musl-* && ! any_file /lib*/ld-linux-* /lib/*/ld-linux-*; then
    echo 'The service needs glibc, and this system has musl (as Alpine does). Run the container instead, or another distribution.'
  fi
}

read_distribution
case ${0##*/}:${1:-} in
  host-packages.sh:missing) list_host_packages ;;
  host-packages.sh:command) print_install_command ;;
  host-packages.sh:refusal) print_refusal ;;
esac
