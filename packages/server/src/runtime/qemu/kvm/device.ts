import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isRoot } from '../../host/users.ts';

/** The host's processor, as far as it runs virtual machines. */
export const kvmPath = '/dev/kvm';

/** Why machines cannot open it, as far as its permissions say; null when they can. */
export async function kvmRefusal(): Promise<string | null> {
  const found = await stat(kvmPath).catch(() => null);
  if (!found?.isCharacterDevice())
    return `there is no ${kvmPath}: the processor has no virtualisation, or the firmware, or whoever runs this host as a machine or container, keeps it back`;
  if (isRoot()) return usersRefusal(found);
  return access(kvmPath, constants.R_OK | constants.W_OK).then(
    () => null,
    () => `${kvmPath} cannot be opened by the user of this service: add it to the group that can`,
  );
}

/** The group that machines need to open it, where they are not our own user's. */
export async function kvmGroup(): Promise<number | null> {
  const found = await stat(kvmPath).catch(() => null);
  return found && isForGroup(found) ? found.gid : null;
}

interface Permissions {
  mode: number;
  gid: number;
}

/** Machines of root's run as users of their own, and may be given a group; root's would be too much. */
export function usersRefusal(found: Permissions): string | null {
  if ((found.mode & 0o006) === 0o006 || isForGroup(found)) return null;
  return `${kvmPath} can be opened by root alone, and machines do not run as root: give it to a group (chgrp kvm ${kvmPath}; chmod 660 ${kvmPath})`;
}

const isForGroup = ({ mode, gid }: Permissions): boolean => (mode & 0o060) === 0o060 && gid !== 0;
