import { randomInt } from 'node:crypto';

/**
 * Uids that no system assigns: above those of containers, below those that
 * systemd reserves for foreign file systems. Picked at random, two machines
 * collide once in millions, and then can only signal each other.
 */
const firstUid = 1_900_000_000;
const uidCount = 200_000_000;

export const newUid = (): number => firstUid + randomInt(uidCount);

export const isRoot = (): boolean => process.getuid?.() === 0;

/** Arguments of setpriv that change the user, where we may. */
export const asUser = (uid: number): string[] => (isRoot() ? ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'] : []);

/** Arguments of setpriv that drop all capabilities and end the program with its parent. */
export const withoutPrivileges = ['--no-new-privs', '--pdeathsig=KILL', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'];
