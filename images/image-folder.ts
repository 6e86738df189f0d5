/**
 * The folder of images. An image is built in a temporary folder and moved into
 * place, and the link `current` is changed last, so that readers see complete
 * images only. Published files never change; images share common files by hard
 * links.
 */
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { run } from './command.ts';
import type { ImageManifest, Layer, Layers } from './layers.ts';

/** Number of older images to keep, as machines and templates may still use them. */
const olderImagesMax = 1;

export const manifestName = 'image.json';
export const layersName = 'layers.json';
export const sbomName = 'sbom.json';

export interface StoredImage {
  folder: string;
  manifest: ImageManifest;
  layers: Layers;
}

export class ImageFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
    mkdirSync(path, { recursive: true, mode: 0o755 });
  }

  get lockPath(): string {
    return join(this.path, '.lock');
  }

  /** Lists and archives of packages, from one build to the next. */
  get cachePath(): string {
    return join(this.path, '.cache');
  }

  /** Temporary folder of builds. Content at the start of a build is left from an aborted one. */
  get asidePath(): string {
    return join(this.path, '.building');
  }

  async clearAside(): Promise<void> {
    const remove = (): void => rmSync(this.asidePath, { recursive: true, force: true });
    try {
      remove();
    } catch {
      // Without root, package files belong to users of a user namespace, and only there they can be removed.
      const helper = ['--unshare-helper', 'rm', '--recursive', '--force', '--', this.asidePath];
      await run('mmdebstrap', helper, { signal: new AbortController().signal }).catch(() => undefined);
      remove();
    }
  }

  /** The image that new machines start from. */
  current(): StoredImage | null {
    const id = this.#currentId();
    return id === null ? null : this.#read(id);
  }

  /** All complete images, newest first. */
  images(): StoredImage[] {
    const folders = readdirSync(this.path, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
    return folders
      .flatMap(({ name }) => this.#read(name) ?? [])
      .toSorted((a, b) => (a.manifest.created_at < b.manifest.created_at ? 1 : -1));
  }

  /** Moves a finished image into place and points `current` to it. */
  publish(finished: string, id: string): void {
    const folder = join(this.path, id);
    if (this.#read(id)) {
      // The same image exists and may be in use: only its build metadata is replaced.
      for (const name of [layersName, sbomName]) renameSync(join(finished, name), join(folder, name));
      rmSync(finished, { recursive: true });
    } else {
      rmSync(folder, { recursive: true, force: true });
      for (const name of readdirSync(finished)) chmodSync(join(finished, name), 0o644);
      chmodSync(finished, 0o755);
      renameSync(finished, folder);
    }
    const link = join(this.path, '.current');
    rmSync(link, { force: true });
    symlinkSync(id, link);
    renameSync(link, join(this.path, 'current'));
  }

  /** Removes what is older than the current image and the one before it. Returns their ids. */
  prune(): string[] {
    const currentId = this.#currentId();
    const old = this.images()
      .filter(({ manifest }) => manifest.id !== currentId)
      .slice(olderImagesMax);
    for (const { folder } of old) rmSync(folder, { recursive: true, force: true });
    return old.map(({ folder }) => basename(folder));
  }

  #currentId(): string | null {
    try {
      return readlinkSync(join(this.path, 'current'));
    } catch {
      return null;
    }
  }

  /** Returns null for a folder that is not an image, or whose files have another size. */
  #read(id: string): StoredImage | null {
    const folder = join(this.path, id);
    const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
    if (!existsSync(join(folder, layersName))) return null;
    try {
      const [manifest, layers] = [read(manifestName) as ImageManifest, read(layersName) as Layers];
      const files = Object.values<Layer>({ ...layers }).flatMap((layer) => Object.entries(layer.files));
      const isWhole = files.every(([name, { bytes }]) => lstatSync(join(folder, name)).size === bytes);
      return isWhole && manifest.id === id ? { folder, manifest, layers } : null;
    } catch {
      return null;
    }
  }
}

/** Hard-links an immutable file instead of copying half a gigabyte. */
export const linkFile = (from: string, to: string): void => linkSync(from, to);
