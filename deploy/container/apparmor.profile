# What a worker in a container may do (docs/kubernetes.md): build jails in user namespaces, and nothing that Docker's own
# profile refuses beside that. Load it on the host: apparmor_parser -r apparmor.profile
abi <abi/3.0>,
#include <tunables/global>

profile berth flags=(attach_disconnected,mediate_deleted) {
  #include <abstractions/base>

  network,
  # The container has none; these are those of a process in a user namespace of its own.
  capability,
  file,

  # The jail: a new root of bind mounts, tmpfs and a /proc of its own.
  mount,
  remount,
  umount,
  pivot_root,

  # `docker stop`: from the runtime, which has a profile of its own on some hosts.
  signal (receive) peer=unconfined,
  signal (receive) peer=runc,
  signal (receive) peer=crun,
  signal (send, receive) peer=berth,
  ptrace (trace, read, tracedby, readby) peer=berth,

  # Of the host, whatever is mounted where.
  deny @{PROC}/sysrq-trigger rwklx,
  deny @{PROC}/kcore rwklx,
  deny @{PROC}/kmem rwklx,
  deny @{PROC}/mem rwklx,
  deny @{PROC}/acpi/** rwklx,
  deny @{PROC}/sys/kernel/[^s][^h][^m]* wklx,
  deny @{PROC}/sys/fs/** wklx,
  deny @{PROC}/sys/vm/** wklx,
  deny /sys/firmware/** rwklx,
  deny /sys/kernel/security/** rwklx,
  deny /sys/fs/bpf/** rwklx,
  deny /sys/[^f]*/** wklx,
  deny /sys/f[^s]*/** wklx,
}
