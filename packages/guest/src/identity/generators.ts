/**
 * Reseeds the random generators of programs that run when a machine is saved.
 * The kernel's is reseeded separately; those in a program's memory would produce
 * the same TLS keys, tokens and identifiers in all copies.
 *
 * BoringSSL reseeds from the kernel after a fork. It detects one by a page that
 * the kernel wipes in the child (MADV_WIPEONFORK, flag `wf` of a mapping), and
 * nothing else has such a page. Wiping that page here has the same effect.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { pids } from '../browser/processes.ts';

const mapping = /^([0-9a-f]+)-[0-9a-f]+ rw/;
const wipedOnFork = /^VmFlags:.* wf\b/;

export class RandomGenerators {
  /** Addresses by pid. Cached, as reading smaps is slow: the kernel walks all memory of a process. */
  readonly #pageAddresses = new Map<string, number[]>();

  readonly #pids: () => string[];

  /** `listPids` defaults to all processes of the machine. */
  constructor(listPids: () => string[] = pids) {
    this.#pids = listPids;
  }

  /** Makes every program reseed from the kernel before its next random number. Call it after the kernel has been reseeded. */
  renew(): void {
    for (const pid of this.#pids()) if (!this.#pageAddresses.has(pid)) this.#pageAddresses.set(pid, findPages(pid));
    for (const [pid, pages] of this.#pageAddresses) for (const address of pages) wipe(pid, address);
  }
}

function findPages(pid: string): number[] {
  const addresses: number[] = [];
  let address = 0;
  for (const line of readSmaps(pid).split('\n')) {
    const start = mapping.exec(line)?.[1];
    if (start !== undefined) address = Number.parseInt(start, 16);
    else if (wipedOnFork.test(line)) addresses.push(address);
  }
  return addresses;
}

function readSmaps(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/smaps`, 'latin1');
  } catch {
    // The process has exited.
    return '';
  }
}

function wipe(pid: string, address: number): void {
  try {
    const memory = openSync(`/proc/${pid}/mem`, 'r+');
    try {
      writeSync(memory, Buffer.alloc(1), 0, 1, address);
    } finally {
      closeSync(memory);
    }
  } catch {
    // The process has exited.
  }
}
