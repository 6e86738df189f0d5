/** Writes a cpio archive ("newc"), as used for an initramfs. Reproducible: the same entries give the same bytes. */

export interface CpioEntry {
  /** Without a leading slash. Folders come before their content. */
  path: string;
  /** Kind and permissions, as `stat` has them. */
  mode: number;
  data: Buffer;
}

export const folderMode = 0o040755;
export const fileMode = 0o100644;
export const programMode = 0o100755;

const trailer: CpioEntry = { path: 'TRAILER!!!', mode: 0, data: Buffer.alloc(0) };
const alignment = 4;

export function cpioArchive(entries: CpioEntry[]): Buffer {
  return Buffer.concat([...entries, trailer].flatMap((entry, i) => writeEntry(entry, i + 1)));
}

/** A header of thirteen hexadecimal numbers; owner and time are 0. */
function writeEntry({ path, mode, data }: CpioEntry, inode: number): Buffer[] {
  const name = Buffer.from(`${path}\0`);
  const [links, none] = [1, 0];
  const numbers = [inode, mode, none, none, links, none, data.length, none, none, none, none, name.length, none];
  const head = Buffer.concat([Buffer.from(`070701${numbers.map((value) => value.toString(16).padStart(8, '0')).join('')}`), name]);
  return [padded(head), padded(data)];
}

function padded(bytes: Buffer): Buffer {
  const rest = bytes.length % alignment;
  return rest === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(alignment - rest)]);
}
