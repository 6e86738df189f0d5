import { isRoot } from './users.ts';

/**
 * Arguments of bubblewrap for a jail's namespaces. As root the user is changed inside the jail; otherwise a user
 * namespace gives the capabilities to build one. `capabilities` are those that setpriv drops after it has used them,
 * beside those to change the user.
 */
export function namespaces(capabilities: readonly string[] = []): string[] {
  const powers = [...capabilities, 'CAP_SETPCAP', ...(isRoot() ? ['CAP_SETUID', 'CAP_SETGID'] : [])];
  const unshared = ['pid', 'net', 'ipc', 'uts', 'cgroup-try'].map((name) => `--unshare-${name}`);
  return [
    ...(isRoot() ? [] : ['--unshare-user']),
    ...unshared,
    ...['--die-with-parent', '--hostname', 'berth'],
    ...['--cap-drop', 'ALL', ...powers.flatMap((power) => ['--cap-add', power])],
  ];
}
