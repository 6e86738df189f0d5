/**
 * Templates on disk, so that the next start loads what this one has built.
 *
 * Each is a folder named by its key and created atomically: `memory` (sparse),
 * `state`, and `template.json` with the template's inputs and the digests of both
 * files. A template that does not match exactly is not loaded.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createMemory, sealBytes, writeAll, type SealedMemory } from './sealed-memory.ts';
import { templateKey, type Template, type TemplateInfo } from './template.ts';

/** The template on disk is damaged or of another machine. The message says what is wrong. */
export class TemplateUnusableError extends Error {}

/** Blocks of zeros are skipped. Smaller blocks make a longer extent list, larger ones larger files. */
const pieceBytes = 64 * 1024;
const bufferBytes = 4 * 1024 ** 2;
/** Each takes as much disk as a browser takes memory. Templates of other sizes, QEMU versions and processors accumulate. */
const templatesMax = 6;
/** Age of a temporary folder that was left by a worker that died. */
const abandonedMs = 3_600_000;

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const offset = z.number().int().min(0);

const Description = z.object({
  info: z.object({
    kind: z.enum(['headless', 'full_browser']),
    image: z.string(),
    chromium: z.string(),
    qemu: z.string(),
    machine: z.string(),
    processor: z.string().nullable(),
  }),
  created_at: z.string(),
  memory: z.object({ bytes: offset, sha256: digest, extents: z.array(z.tuple([offset, offset])) }),
  state: z.object({ bytes: offset, sha256: digest }),
});
type Description = z.infer<typeof Description>;
/** A range of data. */
type Extent = [offset: number, length: number];

export class TemplateStore {
  readonly #folder: string;

  /** `folder` is created by the first `save`. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns undefined where there is none. @throws TemplateUnusableError */
  async load(info: TemplateInfo, memoryBytes: number): Promise<Template | undefined> {
    const folder = this.#path(info);
    const text = await readFile(join(folder, 'template.json'), 'utf8').catch(() => undefined);
    if (text === undefined && !(await isThere(folder))) return undefined;
    const { info: stored, memory, state } = describe(text ?? '');
    if (templateKey(stored) !== templateKey(info))
      throw new TemplateUnusableError(`it is of another machine: ${differences(stored, info)}`);
    if (memory.bytes !== memoryBytes) throw new TemplateUnusableError(`it has ${memory.bytes} bytes of memory instead of ${memoryBytes}`);
    const loadedState = await loadState(join(folder, 'state'), state);
    try {
      return { info, state: loadedState, memory: await loadMemory(join(folder, 'memory'), memory) };
    } catch (error) {
      await loadedState.close();
      throw error;
    }
  }

  /** Replaces a template with the same key. */
  async save({ info, memory, state }: Template, now: Date): Promise<void> {
    const folder = this.#path(info);
    const aside = `${folder}.${randomUUID()}.new`;
    try {
      await mkdir(aside, { recursive: true, mode: 0o700 });
      const content = await readAll(state);
      const description: Description = {
        info,
        created_at: now.toISOString(),
        memory: { bytes: memory.bytes, ...(await saveMemory(memory, join(aside, 'memory'))) },
        state: { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') },
      };
      await writeFile(join(aside, 'state'), content);
      await writeFile(join(aside, 'template.json'), JSON.stringify(description));
      await rm(folder, { recursive: true, force: true });
      await rename(aside, folder);
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
    await this.#prune(now);
  }

  async remove(info: TemplateInfo): Promise<void> {
    await rm(this.#path(info), { recursive: true, force: true });
  }

  #path(info: TemplateInfo): string {
    return join(this.#folder, templateKey(info));
  }

  async #prune(now: Date): Promise<void> {
    const names = await readdir(this.#folder);
    const entries = await Promise.all(
      names.map(async (name) => ({
        name,
        writtenMs: await stat(join(this.#folder, name)).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      })),
    );
    const aside = entries.filter(({ name }) => name.endsWith('.new'));
    const abandoned = aside.filter(({ writtenMs }) => now.getTime() - writtenMs > abandonedMs);
    const old = entries
      .filter((each) => !aside.includes(each))
      .toSorted((a, b) => b.writtenMs - a.writtenMs)
      .slice(templatesMax);
    for (const { name } of [...abandoned, ...old]) await rm(join(this.#folder, name), { recursive: true, force: true });
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function describe(text: string): Description {
  try {
    return Description.parse(JSON.parse(text));
  } catch (cause) {
    throw new TemplateUnusableError('its template.json is not one', { cause });
  }
}

const differences = (stored: TemplateInfo, wanted: TemplateInfo): string =>
  (Object.keys(wanted) as (keyof TemplateInfo)[])
    .filter((name) => stored[name] !== wanted[name])
    .map((name) => `${name} ${stored[name]} instead of ${wanted[name]}`)
    .join(', ')
    .slice(0, 500);

async function loadState(path: string, { bytes, sha256 }: Description['state']): Promise<SealedMemory> {
  const content = await withFile(path, bytes, (file) => file.readFile());
  if (createHash('sha256').update(content).digest('hex') !== sha256) throw new TemplateUnusableError('its state is damaged');
  return sealBytes(content);
}

async function loadMemory(path: string, description: Description['memory']): Promise<SealedMemory> {
  const { bytes, sha256 } = description;
  const memory = await createMemory(bytes);
  try {
    const digest = await withFile(path, bytes, (file) => copyMemory(file, memory.handle, description));
    if (digest !== sha256) throw new TemplateUnusableError('its memory is damaged');
    return await memory.seal();
  } catch (error) {
    await memory.close();
    throw error;
  }
}

async function withFile<T>(path: string, bytes: number, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path).catch((cause: unknown) => {
    throw new TemplateUnusableError('a file of it is missing', { cause });
  });
  try {
    const { size } = await file.stat();
    if (size !== bytes) throw new TemplateUnusableError(`a file of it has ${size} bytes instead of ${bytes}`);
    return await work(file);
  } finally {
    await file.close();
  }
}

/** Reads the next block while writing and hashing the current one, as half a gigabyte takes a second otherwise. Returns the digest. */
async function copyMemory(from: FileHandle, to: FileHandle, { bytes, extents }: Description['memory']): Promise<string> {
  const hash = createHash('sha256');
  const pieces = extents.flatMap((extent) => piecesOf(extent, bytes));
  const buffers = [Buffer.allocUnsafe(bufferBytes), Buffer.allocUnsafe(bufferBytes)];
  const read = (number: number): Promise<Buffer> => readPiece(from, pieces[number] ?? [0, 0], buffers[number % 2] ?? Buffer.alloc(0));
  let content = await read(0);
  for (const [number, [position]] of pieces.entries()) {
    const moving = Promise.all([read(number + 1), writeAll(to, content, position)]);
    hash.update(content);
    [content] = await moving;
  }
  return hash.digest('hex');
}

function piecesOf([start, length]: Extent, bytes: number): Extent[] {
  if (start + length > bytes) throw new TemplateUnusableError('its template.json points beyond its memory');
  return Array.from({ length: Math.ceil(length / bufferBytes) }, (_, i) => [
    start + i * bufferBytes,
    Math.min(bufferBytes, length - i * bufferBytes),
  ]);
}

async function readPiece(from: FileHandle, [position, length]: Extent, buffer: Buffer): Promise<Buffer> {
  for (let done = 0; done < length;) {
    const { bytesRead } = await from.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) throw new TemplateUnusableError('its memory is cut off');
    done += bytesRead;
  }
  return buffer.subarray(0, length);
}

async function saveMemory(memory: SealedMemory, path: string): Promise<{ sha256: string; extents: Extent[] }> {
  const hash = createHash('sha256');
  const extents: Extent[] = [];
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const { position, bytes } of filledRuns(memory)) {
      hash.update(bytes);
      await writeAll(file, bytes, position);
      const last = extents.at(-1);
      if (last && last[0] + last[1] === position) last[1] += bytes.length;
      else extents.push([position, bytes.length]);
    }
    await file.truncate(memory.bytes);
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), extents };
}

/** Yields the ranges of blocks that are not all zeros, in order. The bytes are valid until the next iteration. */
async function* filledRuns({ handle, bytes }: SealedMemory): AsyncGenerator<{ position: number; bytes: Buffer }> {
  const zeros = Buffer.alloc(pieceBytes);
  const buffer = Buffer.allocUnsafe(bufferBytes);
  for (let start = 0; start < bytes; start += bufferBytes) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(bufferBytes, bytes - start), start);
    if (bytesRead !== Math.min(bufferBytes, bytes - start)) throw new Error('memory was read in part');
    let runStart = -1;
    for (let at = 0; at < bytesRead; at += pieceBytes) {
      const piece = buffer.subarray(at, Math.min(at + pieceBytes, bytesRead));
      const isEmpty = piece.equals(zeros.subarray(0, piece.length));
      if (!isEmpty && runStart < 0) runStart = at;
      if (isEmpty && runStart >= 0) {
        yield { position: start + runStart, bytes: buffer.subarray(runStart, at) };
        runStart = -1;
      }
    }
    if (runStart >= 0) yield { position: start + runStart, bytes: buffer.subarray(runStart, bytesRead) };
  }
}

async function readAll(memory: SealedMemory): Promise<Buffer> {
  const file = await memory.openAgain();
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}
