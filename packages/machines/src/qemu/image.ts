/** The image of virtual machines: a folder built by `npm run image`, with the size and digest of each file. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { guestProtocol } from '@berth/contract/guest';
import { z } from 'zod';

/** There is no usable image. The message says what the operator has to do. */
export class ImageUnusableError extends Error {}

const bytes = z.number().int().positive();
const digest = z.string().regex(/^[0-9a-f]{64}$/);

const Manifest = z.object({
  id: z.string().regex(/^[\w.-]{1,100}$/),
  protocol: z.number().int(),
  architecture: z.string().max(32),
  created_at: z.string().max(64),
  kernel_version: z.string().max(200),
  chromium_version: z.string().max(200),
  node_version: z.string().max(200),
  bytes: z.object({ kernel: bytes, initramfs: bytes, root: bytes, agent: bytes }),
  sha256: z.object({ kernel: digest, initramfs: digest, root: digest, agent: digest }),
});

export interface Image {
  id: string;
  /** Folder of the image and its templates. */
  folder: string;
  /** Debian's version string. A template stores it to identify its browser. */
  chromiumVersion: string;
  /** When it was built, with the packages of that day. */
  createdAt: Date;
  paths: { kernel: string; initramfs: string; root: string; agent: string };
}

const fileNames = { kernel: 'kernel', initramfs: 'initramfs', root: 'root.erofs', agent: 'agent.erofs' } as const;
/** Debian's names of Node's architectures. */
const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Returns the image that `<imagesDir>/current` points to. @throws ImageUnusableError */
export async function findImage(imagesDir: string): Promise<Image> {
  const folder = await realpath(join(imagesDir, 'current')).catch((cause: unknown) => {
    throw new ImageUnusableError(`There is no image for virtual machines in ${imagesDir}. Build it in the sources: npm run image`, {
      cause,
    });
  });
  const manifest = await readManifest(folder);
  const expected = architectures[process.arch];
  if (manifest.protocol !== guestProtocol)
    throw unusable(folder, `its agent speaks version ${manifest.protocol} of the protocol, and this service version ${guestProtocol}`);
  if (manifest.architecture !== expected)
    throw unusable(folder, `it is for ${manifest.architecture}, and this host is ${expected ?? process.arch}`);
  const paths = { kernel: '', initramfs: '', root: '', agent: '' };
  for (const name of ['kernel', 'initramfs', 'root', 'agent'] as const) {
    paths[name] = join(folder, fileNames[name]);
    await checkFile(folder, paths[name], manifest.bytes[name]);
  }
  return { id: manifest.id, folder, chromiumVersion: manifest.chromium_version, createdAt: new Date(manifest.created_at), paths };
}

async function readManifest(folder: string): Promise<z.infer<typeof Manifest>> {
  const text = await readFile(join(folder, 'image.json'), 'utf8').catch((cause: unknown) => {
    throw unusable(folder, 'its image.json cannot be read', cause);
  });
  const parsed = Manifest.safeParse(parse(text));
  if (!parsed.success) throw unusable(folder, `its image.json is not one: ${z.prettifyError(parsed.error)}`);
  if (parsed.data.id !== basename(folder)) throw unusable(folder, `it calls itself ${parsed.data.id}`);
  return parsed.data;
}

/** Checks sizes only: hashing half a gigabyte at each start is too slow. */
async function checkFile(folder: string, path: string, size: number): Promise<void> {
  const file = await stat(path).catch((cause: unknown) => {
    throw unusable(folder, `${basename(path)} is missing`, cause);
  });
  if (file.size !== size) throw unusable(folder, `${basename(path)} has ${file.size} bytes instead of ${size}`);
  if ((file.mode & 0o004) === 0) throw unusable(folder, `${basename(path)} can be read by its owner only, and machines run as other users`);
}

const unusable = (folder: string, why: string, cause?: unknown): ImageUnusableError =>
  new ImageUnusableError(`The image in ${folder} cannot be used: ${why}. Build it again in the sources: npm run image`, { cause });

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
