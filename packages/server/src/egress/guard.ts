/** Decides whether a host and port may be dialled, and pins the addresses that were looked at. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopbackAddress, isLoopbackName, isPublicAddress, isWebPort, parseHost, sameFamily } from './addresses.ts';
import type { AllowList } from './allow-list.ts';
import { EgressFailure } from './policy.ts';
import type { Names } from './resolve.ts';

/** What may be dialled: the addresses that were checked, and no other. */
export interface PinnedTarget {
  host: string;
  port: number;
  addresses: readonly string[];
}

export interface OwnAddress {
  host: string;
  port: number;
}

export interface Guard {
  /** The addresses of a host that a page or a caller named. Throws {@link EgressFailure}. */
  check(host: string, port: number, signal: AbortSignal): Promise<PinnedTarget>;
  /** The addresses of a host that the operator named: wherever it stands. Throws {@link EgressFailure}. */
  trust(host: string, port: number, signal: AbortSignal): Promise<PinnedTarget>;
}

export function createGuard(names: Names, allow: AllowList, ownAddresses: () => readonly OwnAddress[]): Guard {
  const mayDial = (host: string, address: string, port: number): boolean =>
    allow.allows(host, address, port) || (isPublicAddress(address) && isWebPort(port));

  const check = async (host: string, port: number, signal: AbortSignal): Promise<PinnedTarget> => {
    const answers = (await names.addressesOf(host, signal)).map(sameFamily);
    // A machine listens on one of its two loopback addresses as a rule, and the operator allows that one.
    const allowed = isLoopbackName(host) ? answers.filter((address) => mayDial(host, address, port)) : answers;
    const addresses = allowed.length > 0 ? allowed : answers;
    const refused = addresses.find((address) => !mayDial(host, address, port));
    if (refused !== undefined)
      throw new EgressFailure(
        'blocked_by_policy',
        `${host} port ${port} is ${refused}: ${isPublicAddress(refused) ? 'a port that is refused' : 'not a public address'}`,
      );
    const own = ownAddresses().filter((each) => each.port === port);
    for (const address of own.length > 0 ? addresses : [])
      if ((await isOwn(own, { host, address }, signal)) && !allow.names(host, address, port))
        throw new EgressFailure('blocked_by_policy', `${host} port ${port} is ${address}: this service itself`);
    return { host, port, addresses };
  };

  const isOwn = async (own: readonly OwnAddress[], target: { host: string; address: string }, signal: AbortSignal): Promise<boolean> => {
    const here = isLoopbackAddress(target.address) || interfaceAddresses().has(target.address);
    for (const { host } of own) {
      const name = parseHost(host) ?? host;
      if (name === target.host) return true;
      const stands = isIP(name) !== 0 ? [name] : await names.addressesOf(name, signal).catch(() => []);
      if (
        stands.some(
          (address) =>
            sameFamily(address) === target.address || (here && (isLoopbackAddress(address) || interfaceAddresses().has(address))),
        )
      )
        return true;
    }
    return false;
  };

  return {
    check,
    trust: async (host, port, signal) => ({ host, port, addresses: (await names.addressesOf(host, signal)).map(sameFamily) }),
  };
}

/** Asked each time: interfaces come and go, and it is only asked for the service's own ports. */
function interfaceAddresses(): Set<string> {
  return new Set(
    Object.values(networkInterfaces())
      .flat()
      .map((each) => each?.address ?? ''),
  );
}
