import { randomInt } from 'node:crypto';

/**
 * Users that no system hands out: above those of containers, below those that
 * systemd keeps for foreign file systems. Picked at random, two machines of one
 * host meet once in millions, and then share no more than the right to signal.
 */
const firstUid = 1_900_000_000;
const uidCount = 200_000_000;

export const newUid = (): number => firstUid + randomInt(uidCount);

export const isRoot = (): boolean => process.getuid?.() === 0;

/** For setpriv: another user, where we may change it. */
export const asUser = (uid: number): string[] => (isRoot() ? ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'] : []);

/** For setpriv: nothing that a program could win powers by, and no life after its parent's. */
export const withoutPowers = ['--no-new-privs', '--pdeathsig=KILL', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'];
