/**
 * The machine's own agent with a real browser, as a process of this host, with
 * the ports at descriptors 3 and 4 as QEMU has them: `node FILE CHROMIUM FOLDER`.
 * It does not change the kernel, which is this host's.
 */
import { chownSync, mkdirSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserExitResult, Identity, IdentityResult } from '@berth/contract/guest';
import { Egress } from '../../../guest/src/agent/egress.ts';
import { Machine, type MachineDeps } from '../../../guest/src/agent/machine.ts';
import { serve } from '../../../guest/src/agent/server.ts';

class HostedMachine extends Machine {
  readonly #egress: Egress;

  constructor(deps: MachineDeps) {
    super(deps);
    this.#egress = deps.egress;
  }

  override async identify({ machine_id, boot_id }: Identity): Promise<IdentityResult> {
    await this.#egress.open();
    return { time_ms: Date.now(), machine_id, boot_id };
  }

  /** This host's kernel counts the kills of its other processes, too, which a machine's own kernel does not have. */
  override async exit(): Promise<BrowserExitResult> {
    return { ...(await super.exit()), out_of_memory: false };
  }
}

const [chromiumPath = '', folder = ''] = process.argv.slice(2);
const uid = 1_900_000_001;
const paths = Object.fromEntries(['downloads', 'uploads', 'display', 'home'].map((name) => [name, join(folder, name)])) as Record<
  'downloads' | 'uploads' | 'display' | 'home',
  string
>;
for (const path of Object.values(paths)) {
  mkdirSync(path);
  chownSync(path, uid, uid);
}
const ports = [3, 4].map((fd) => new Socket({ fd, readable: true, writable: true }).on('error', () => {}));
const [control, egressPort] = ports;
if (!control || !egressPort) throw new Error('no ports');
const egress = new Egress(0);
egress.attachHost(egressPort);
while (egress.port === 0) await sleep(1);
const machine = new HostedMachine({ paths: { chromiumPath, uid, ...paths }, egress, identities: undefined as never });
serve(control, machine, (error) => console.error(error));
