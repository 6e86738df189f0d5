/**
 * The random generators of programs that run when a machine is saved. The
 * kernel's is renewed by its own means; those in a program's memory would go on
 * alike in all copies, and with them keys of TLS, tokens and identifiers.
 *
 * The browser's library draws afresh from the kernel when its process has been
 * forked. It sees that by a page of memory that the kernel wipes in the child:
 * nobody else has such a page (`wf` among the flags of a mapping). So that page
 * is wiped here.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { pids } from './processes.ts';

const mapping = /^([0-9a-f]+)-[0-9a-f]+ rw/;
const wipedOnFork = /^VmFlags:.* wf\b/;

export class Generators {
  /** Addresses by process, of all that were ever looked at. To look takes long: the kernel goes through all memory of a process. */
  readonly #pages = new Map<string, number[]>();

  readonly #pids: () => string[];

  /** `among`: the processes that this is about, by default all of the machine's. */
  constructor(among: () => string[] = pids) {
    this.#pids = among;
  }

  /** To be called when the kernel has been renewed: every program draws from it before its next random number. */
  renew(): void {
    for (const pid of this.#pids()) if (!this.#pages.has(pid)) this.#pages.set(pid, findPages(pid));
    for (const [pid, pages] of this.#pages) for (const address of pages) wipe(pid, address);
  }
}

function findPages(pid: string): number[] {
  const found: number[] = [];
  let address = 0;
  for (const line of readSmaps(pid).split('\n')) {
    const start = mapping.exec(line)?.[1];
    if (start !== undefined) address = Number.parseInt(start, 16);
    else if (wipedOnFork.test(line)) found.push(address);
  }
  return found;
}

function readSmaps(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/smaps`, 'latin1');
  } catch {
    // It has ended.
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
    // It has ended.
  }
}
