/** Decides whether a host and port may be dialled, and pins the checked addresses. */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopbackAddress, isLoopbackName, isPublicAddress, isWebPort, parseHost, sameFamily } from '../names/addresses.ts';
import type { AllowList } from '../names/allow-list.ts';
import { refuse } from './refusal.ts';
import type { Names } from '../names/resolve.ts';

/** The checked addresses of a host: only these may be dialled. */
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
  /** Resolves and checks a host that a page or a caller named. @throws EgressError */
  check(host: string, port: number, signal: AbortSignal): Promise<PinnedTarget>;
  /** Resolves a host that the operator named; private addresses are allowed. @throws EgressError */
  resolveTrusted(host: string, port: number, signal: AbortSignal): Promise<PinnedTarget>;
}

export interface GuardDeps {
  /** Names that pages and callers choose. */
  names: Names;
  /** Names that the operator chooses. */
  operatorNames: Names;
  allowList: AllowList;
  ownAddresses: () => readonly OwnAddress[];
}

export function createGuard({ names, operatorNames, allowList, ownAddresses }: GuardDeps): Guard {
  const canDial = (host: string, address: string, port: number): boolean =>
    allowList.allows(host, address, port) || (isPublicAddress(address) && isWebPort(port));

  const check = async (host: string, port: number, signal: AbortSignal): Promise<PinnedTarget> => {
    const answers = (await names.resolve(host, signal)).map(sameFamily);
    // Servers usually listen on one of the two loopback addresses, and the operator allows that one.
    const allowed = isLoopbackName(host) ? answers.filter((address) => canDial(host, address, port)) : answers;
    const addresses = allowed.length > 0 ? allowed : answers;
    const refused = addresses.find((address) => !canDial(host, address, port));
    if (refused !== undefined) throw refuse(isPublicAddress(refused) ? 'port' : 'not_public', { host, port }, refused);
    const ownOnPort = ownAddresses().filter((each) => each.port === port);
    for (const address of ownOnPort.length > 0 ? addresses : [])
      if ((await isOwn(ownOnPort, { host, address }, signal)) && !allowList.hasPort(host, address, port))
        // That an internal address is the service's own is for the log.
        throw refuse(isPublicAddress(address) ? 'own_address' : 'not_public', { host, port }, `${address}: this service itself`);
    return { host, port, addresses };
  };

  const isOwn = async (
    ownOnPort: readonly OwnAddress[],
    target: { host: string; address: string },
    signal: AbortSignal,
  ): Promise<boolean> => {
    const isLocal = isLoopbackAddress(target.address) || interfaceAddresses().has(target.address);
    for (const { host } of ownOnPort) {
      const name = parseHost(host) ?? host;
      if (name === target.host) return true;
      const ownIps = isIP(name) !== 0 ? [name] : await operatorNames.resolve(name, signal).catch(() => []);
      if (
        ownIps.some(
          (address) =>
            sameFamily(address) === target.address || (isLocal && (isLoopbackAddress(address) || interfaceAddresses().has(address))),
        )
      )
        return true;
    }
    return false;
  };

  return {
    check,
    resolveTrusted: async (host, port, signal) => ({ host, port, addresses: (await operatorNames.resolve(host, signal)).map(sameFamily) }),
  };
}

/** The addresses of this machine. Not cached: interfaces change, and only connections to the service's own ports need them. */
function interfaceAddresses(): Set<string> {
  return new Set(
    Object.values(networkInterfaces())
      .flat()
      .map((each) => each?.address ?? ''),
  );
}
