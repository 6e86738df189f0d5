/** Compresses the built files once, as much as possible: they are served as they are, to browsers that accept it. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const compressible = /^static\/.*\.(?:js|css|svg|json|wasm)$/;
/** Smaller files fit into one packet anyway. */
const bytesMin = 1024;

const encoders: Readonly<Record<string, (data: Buffer) => Promise<Buffer>>> = {
  '.br': (data) => promisify(brotliCompress)(data, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: data.length } }),
  '.gz': (data) => promisify(gzip)(data, { level: constants.Z_BEST_COMPRESSION }),
};

async function compressFile(path: string): Promise<void> {
  const data = await readFile(path);
  if (data.length < bytesMin) return;
  await Promise.all(Object.entries(encoders).map(async ([suffix, encode]) => writeFile(path + suffix, await encode(data))));
}

/** A Vite plugin. */
export const compress = () => ({
  name: 'compress',
  async writeBundle({ dir = '' }: { dir?: string }, bundle: Readonly<Record<string, unknown>>) {
    await Promise.all(
      Object.keys(bundle)
        .filter((name) => compressible.test(name))
        .map((name) => compressFile(join(dir, name))),
    );
  },
});
