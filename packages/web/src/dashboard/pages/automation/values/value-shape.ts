/** How a value of an output is shown. Its form is known from a JSON Schema, but its content comes from pages. */

export type ValueShape =
  | { kind: 'text'; text: string }
  | { kind: 'link'; url: string }
  | { kind: 'picture'; contentType: string; tiles: readonly string[]; notes: FileContent['notes'] }
  | { kind: 'file'; file: FileContent }
  | { kind: 'table'; columns: string[]; rows: readonly Record<string, unknown>[] }
  | { kind: 'cells'; tables: readonly CellTable[] }
  | { kind: 'list'; items: readonly string[] }
  | { kind: 'group'; entries: [name: string, value: unknown][] }
  | { kind: 'json'; value: unknown };

/** A table of a page: by position, as two columns may have one name. */
export interface CellTable {
  caption: string | null;
  headers: readonly string[];
  rows: readonly (readonly string[])[];
}

export interface FileContent {
  base64: string;
  contentType: string;
  name: string | null;
  /** What stands beside the bytes, such as width and height. */
  notes: [name: string, value: unknown][];
}

const pictureTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp']);
const columnsMax = 12;

/** Groups are opened this deep; what lies deeper is shown as JSON. */
const depthMax = 2;

export function shapeOf(value: unknown, depth = 0): ValueShape {
  if (typeof value === 'string') return toHref(value) ? { kind: 'link', url: value } : { kind: 'text', text: value };
  if (Array.isArray(value)) return shapeOfList(value);
  if (!isRecord(value))
    return value === null || value === undefined ? { kind: 'json', value: null } : { kind: 'text', text: JSON.stringify(value) };
  if (isCellTable(value)) return { kind: 'cells', tables: [value] };
  const picture = pictureOf(value);
  if (picture) return picture;
  const file = fileOf(value);
  if (file) return { kind: 'file', file };
  return depth < depthMax ? { kind: 'group', entries: Object.entries(value) } : { kind: 'json', value };
}

function shapeOfList(list: readonly unknown[]): ValueShape {
  if (list.length > 0 && list.every(isCellTable)) return { kind: 'cells', tables: list };
  if (list.length > 0 && list.every((item) => typeof item === 'string')) return { kind: 'list', items: list };
  if (list.length === 0 || !list.every(isFlatRecord)) return { kind: 'json', value: list };
  const columns = [...new Set(list.flatMap((item) => Object.keys(item)))];
  return columns.length <= columnsMax ? { kind: 'table', columns, rows: list } : { kind: 'json', value: list };
}

/** A screenshot: one image, or tiles from top to bottom. */
function pictureOf({ content_type: type, data_base64: base64, tiles, ...others }: Record<string, unknown>): ValueShape | null {
  if (typeof type !== 'string' || !pictureTypes.has(type)) return null;
  const images = Array.isArray(tiles) ? tiles.map((tile) => (isRecord(tile) ? tile['data_base64'] : null)) : [base64];
  if (!images.every((image) => typeof image === 'string')) return null;
  return { kind: 'picture', contentType: type, tiles: images, notes: Object.entries(others) };
}

function fileOf(value: Record<string, unknown>): FileContent | null {
  const { data_base64: base64, content_type: type, filename, ...others } = value;
  if (typeof base64 !== 'string') return null;
  const contentType = typeof type === 'string' ? type : 'application/octet-stream';
  return { base64, contentType, name: typeof filename === 'string' ? filename : null, notes: Object.entries(others) };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string');

function isCellTable(value: unknown): value is CellTable {
  if (!isRecord(value)) return false;
  const { caption = null, headers, rows } = value;
  return (caption === null || typeof caption === 'string') && areTexts(headers) && Array.isArray(rows) && rows.every(areTexts);
}

/** A row of a table: no cell has a structure of its own, except a list of texts. */
const isFlatRecord = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && Object.values(value).every((cell) => typeof cell !== 'object' || cell === null);

/** An address that a link may lead to: of the web, not of a script. */
export function toHref(url: string): string | undefined {
  return /^https?:\/\/\S+$/i.test(url) && URL.canParse(url) ? url : undefined;
}

const shortForms: ReadonlySet<string> = new Set(['url', 'html', 'http', 'json', 'id', 'csv', 'pdf', 'lcp', 'cls', 'tbt', 'ttfb', 'dcl']);

/** `final_url` becomes `Final URL`. */
export function titleOf(name: string): string {
  const words = name.split(/[_.-]+/).map((word) => (shortForms.has(word) ? word.toUpperCase() : word));
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
