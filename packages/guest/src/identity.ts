/**
 * What makes a copy of a machine a machine of its own.
 *
 * Made fresh, because a page or a site could tell two copies apart by it, or
 * fail to: the kernel's randomness, which all keys, identifiers and random
 * numbers of the browser come from (its own generator mixes the processor's
 * into each answer, and a page's process is started after this); the clock; the
 * machine's and the boot's ids; the host name; the address of eth0.
 *
 * Shared by all copies, and why that does no harm. The layout of the address
 * space, of the kernel and of the browser's first processes: who learns it in
 * one machine knows it in another, but has no way from one to the other, and
 * every page has its own machine's walls around it. The secrets of loopback
 * (sequence numbers, ports, the display's cookie): nobody outside is ever shown
 * them. The agent's own generator: nothing that it says has to be secret. The
 * time since the start: pages do not see it. The profile's ids: the browser
 * reports nothing to its maker.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Identity, IdentityTaken } from '@berth/contract/guest';
import { Generators } from './generators.ts';
import type { Kernel } from './kernel.ts';

/** Files of the running machine. Written in place: other names of theirs are bound to the files, not to these. */
const written = { machineId: '/run/machine-id', bootId: '/run/boot_id', hostname: '/proc/sys/kernel/hostname' };
/** Where everybody reads them. */
const seen = { machineId: '/etc/machine-id', bootId: '/proc/sys/kernel/random/boot_id' };

export class Identities {
  readonly #kernel: Kernel;
  readonly #generators = new Generators();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Rejects when one of them could not be taken on. */
  async take(identity: Identity): Promise<IdentityTaken> {
    await this.#kernel.renew({ entropy: Buffer.from(identity.entropy, 'base64'), timeMs: identity.time_ms });
    this.#generators.renew();
    await Promise.all([
      writeFile(written.machineId, `${identity.machine_id}\n`),
      writeFile(written.bootId, `${identity.boot_id}\n`),
      writeFile(written.hostname, identity.hostname),
    ]);
    const [machineId, bootId] = await Promise.all([readFile(seen.machineId, 'latin1'), readFile(seen.bootId, 'latin1')]);
    return { time_ms: Date.now(), machine_id: machineId.trim(), boot_id: bootId.trim() };
  }

  /** Does once what takes longest the first time. To be called before the machine is saved; no copy keeps what it takes on here. */
  async rehearse(): Promise<void> {
    await this.take({
      entropy: randomBytes(64).toString('base64'),
      time_ms: Date.now(),
      machine_id: randomBytes(16).toString('hex'),
      boot_id: randomUUID(),
      hostname: 'berth',
    });
  }
}
