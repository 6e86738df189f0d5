/**
 * The identity of one copy of a machine.
 *
 * Renewed in each copy, as pages or sites could link copies by it: the kernel's
 * randomness, which is the source of all keys, identifiers and random numbers of
 * the browser (page processes start after this); the clock; the machine id and
 * the boot id; the host name; the address of eth0.
 *
 * Shared by all copies, which is harmless. The address space layout of the kernel
 * and of the browser's first processes: knowing it in one machine gives no access
 * to another. Secrets of loopback (sequence numbers, ports, the display's cookie):
 * never visible outside. The agent's own generator: nothing it sends is secret.
 * The uptime: pages do not see it. Ids of the profile: the browser reports nothing
 * to its vendor.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Identity, IdentityResult } from '@berth/contract/guest';
import { RandomGenerators } from './generators.ts';
import type { Kernel } from './kernel.ts';

/** Files of the running machine. Written in place, as bind mounts refer to these inodes. */
const writtenPaths = { machineId: '/run/machine-id', bootId: '/run/boot_id', hostname: '/proc/sys/kernel/hostname' };
/** Paths where programs read them. */
const visiblePaths = { machineId: '/etc/machine-id', bootId: '/proc/sys/kernel/random/boot_id' };

export class Identities {
  readonly #kernel: Kernel;
  readonly #generators = new RandomGenerators();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Applies an identity. Rejects if a part of it could not be applied. */
  async assume(identity: Identity): Promise<IdentityResult> {
    await this.#kernel.renew({ entropy: Buffer.from(identity.entropy, 'base64'), timeMs: identity.time_ms });
    this.#generators.renew();
    await Promise.all([
      writeFile(writtenPaths.machineId, `${identity.machine_id}\n`),
      writeFile(writtenPaths.bootId, `${identity.boot_id}\n`),
      writeFile(writtenPaths.hostname, identity.hostname),
    ]);
    const [machineId, bootId] = await Promise.all([readFile(visiblePaths.machineId, 'latin1'), readFile(visiblePaths.bootId, 'latin1')]);
    return { time_ms: Date.now(), machine_id: machineId.trim(), boot_id: bootId.trim() };
  }

  /** Runs once before the machine is saved, so that the slow first run is not repeated in each copy. Copies get a new identity. */
  async warmUp(): Promise<void> {
    await this.assume({
      entropy: randomBytes(64).toString('base64'),
      time_ms: Date.now(),
      machine_id: randomBytes(16).toString('hex'),
      boot_id: randomUUID(),
      hostname: 'berth',
    });
  }
}
