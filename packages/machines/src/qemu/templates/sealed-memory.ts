/**
 * Memory that machines are cloned from: a memfd that is filled once and then
 * sealed. After that the kernel refuses every write, every shared writable
 * mapping, and every change of its size or seals, by anybody. It is freed with the
 * last descriptor.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** System call numbers of `memfd_create`. */
const memfdCreateNumbers: Partial<Record<NodeJS.Architecture, number>> = { x64: 319, arm64: 279 };
/** F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE. */
const allSeals = '15';

/** Memory that is not sealed yet and can be written. */
export class OpenMemory {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly #maker: SealingHelper;

  constructor(maker: SealingHelper, handle: FileHandle, bytes: number) {
    this.#maker = maker;
    this.handle = handle;
    this.bytes = bytes;
  }

  /** Throws while a writable mapping exists. */
  async seal(): Promise<SealedMemory> {
    const seals = await this.#maker.ask('seal');
    if (seals !== allSeals) throw new Error(`memory has the seals ${seals} instead of ${allSeals}`);
    await this.#maker.end();
    return new SealedMemory(this.handle, this.bytes);
  }

  /** Frees the memory instead of sealing it. */
  async close(): Promise<void> {
    await this.#maker.end();
    await this.handle.close();
  }
}

export class SealedMemory {
  readonly handle: FileHandle;
  readonly bytes: number;

  constructor(handle: FileHandle, bytes: number) {
    this.handle = handle;
    this.bytes = bytes;
  }

  /** Returns a descriptor with its own read position. */
  openAgain(): Promise<FileHandle> {
    return open(`/proc/self/fd/${this.handle.fd}`, 'r');
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

/** Allocates memory of zeros. Pages are allocated on the first write. */
export async function createMemory(bytes: number): Promise<OpenMemory> {
  const maker = new SealingHelper(bytes);
  try {
    const descriptor = Number(await maker.line());
    return new OpenMemory(maker, await open(`/proc/${maker.pid}/fd/${descriptor}`, 'r+'), bytes);
  } catch (cause) {
    await maker.end();
    throw new Error('no memory that can be sealed', { cause });
  }
}

/** Returns sealed memory with this content. */
export async function sealBytes(content: Buffer): Promise<SealedMemory> {
  const memory = await createMemory(content.length);
  try {
    await writeAll(memory.handle, content, 0);
    return await memory.seal();
  } catch (error) {
    await memory.close();
    throw error;
  }
}

/** Loops, as one write is limited to 2 GiB and may be short. */
export async function writeAll(handle: FileHandle, content: Buffer, position: number): Promise<void> {
  for (let done = 0; done < content.length;)
    done += (await handle.write(content, done, content.length - done, position + done)).bytesWritten;
}

/** The helper process that created the memory and seals it. */
class SealingHelper {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;
  #problems = '';

  constructor(bytes: number) {
    const script = readFileSync(new URL('./sealed-memory.pl', import.meta.url), 'utf8');
    const number = memfdCreateNumbers[process.arch];
    if (number === undefined) throw new Error(`the number of memfd_create is not known for ${process.arch}`);
    const child = spawn('perl', ['-e', script, String(number), String(bytes)], { env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdio: 'pipe' });
    child.on('error', (error) => (this.#problems += error.message));
    child.stdin.on('error', () => {});
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#problems = (this.#problems + text).slice(-500)));
    this.#child = child;
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    this.#closed = once(child, 'close').catch(() => {});
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (!done) return value;
    await this.#closed;
    throw new Error(this.#problems.trim() || 'the helper exited without output');
  }

  ask(word: string): Promise<string> {
    this.#child.stdin?.write(`${word}\n`);
    return this.line();
  }

  /** Resolves when the process has exited. */
  async end(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}
