import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isRoot } from '../../host/users.ts';

/** The KVM device. */
export const kvmPath = '/dev/kvm';

/** Returns why machines cannot open the device, by its permissions; null when they can. */
export async function kvmRefusal(): Promise<string | null> {
  const device = await stat(kvmPath).catch(() => null);
  if (!device?.isCharacterDevice())
    return `there is no ${kvmPath}: the processor has no virtualisation, or the firmware, hypervisor or container runtime hides it`;
  if (isRoot()) return usersRefusal(device);
  return access(kvmPath, constants.R_OK | constants.W_OK).then(
    () => null,
    () => `${kvmPath} cannot be opened by the user of this service: add it to the group that can`,
  );
}

/** Returns the group that machines need to open the device; null where they need none. */
export async function kvmGroup(): Promise<number | null> {
  const device = await stat(kvmPath).catch(() => null);
  return device && isForGroup(device) ? device.gid : null;
}

interface Permissions {
  mode: number;
  gid: number;
}

/** As root, machines run as their own users and can get an extra group, but never root's. */
export function usersRefusal(device: Permissions): string | null {
  if ((device.mode & 0o006) === 0o006 || isForGroup(device)) return null;
  return `only root can open ${kvmPath}, and machines do not run as root: give it to a group (chgrp kvm ${kvmPath}; chmod 660 ${kvmPath})`;
}

const isForGroup = ({ mode, gid }: Permissions): boolean => (mode & 0o060) === 0o060 && gid !== 0;
