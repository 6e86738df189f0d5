/**
 * The folder of images. An image is made aside and moved in as a whole, and
 * `current` is turned to it last, so that whoever looks finds one that is whole
 * or none. Files do not change any more once they are here: two images that have
 * a file in common share it.
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

/** Kept beside the current one: machines and templates of it may be there yet. */
const olderKept = 1;

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

  /** Where images are made. What is there at the start of a build was left by one that was cut short. */
  get asidePath(): string {
    return join(this.path, '.building');
  }

  async clearAside(): Promise<void> {
    const remove = (): void => rmSync(this.asidePath, { recursive: true, force: true });
    try {
      remove();
    } catch {
      // Without root, packages are installed as users that only a user namespace has. What is ours, these cannot remove.
      const helper = ['--unshare-helper', 'rm', '--recursive', '--force', '--', this.asidePath];
      await run('mmdebstrap', helper, { signal: new AbortController().signal }).catch(() => undefined);
      remove();
    }
  }

  /** The one that new machines start from. */
  current(): StoredImage | null {
    const id = this.#currentId();
    return id === null ? null : this.#read(id);
  }

  /** All that are whole, the newest first. */
  images(): StoredImage[] {
    const folders = readdirSync(this.path, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
    return folders
      .flatMap(({ name }) => this.#read(name) ?? [])
      .toSorted((a, b) => (a.manifest.created_at < b.manifest.created_at ? 1 : -1));
  }

  /** Moves a finished image in and turns `current` to it. */
  publish(finished: string, id: string): void {
    const folder = join(this.path, id);
    if (this.#read(id)) {
      // The same was built before, and machines may be reading it. What it was made from this time is news all the same.
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
      .slice(olderKept);
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

  /** Null where it is none of ours, or where a file of it is not what it was. */
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

/** Gives a file that will not change a second name: half a gigabyte is not copied. */
export const share = (from: string, to: string): void => linkSync(from, to);
