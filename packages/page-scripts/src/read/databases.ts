/** Reads and writes the databases (IndexedDB) of an origin as JSON. Sent as text, see `page-scripts.ts`: so each function is exported. */

/** A value as JSON: primitives as they are, everything else as a list whose first item is its type. */
export type EncodedValue = null | boolean | number | string | readonly [type: string, ...rest: unknown[]];

interface StoredIndex {
  name: string;
  keyPath: string | string[];
  unique: boolean;
  multiEntry: boolean;
}

interface StoredStore {
  name: string;
  keyPath: string | string[] | null;
  autoIncrement: boolean;
  indexes: StoredIndex[];
  records: { key: EncodedValue; value: EncodedValue }[];
}

export interface StoredDatabase {
  name: string;
  version: number;
  stores: StoredStore[];
}

export interface ReadDatabases {
  /** null: together they have more than `charsMax` characters as JSON. */
  databases: StoredDatabase[] | null;
  /** Records with what JSON cannot hold, such as files and keys of WebCrypto. */
  omitted: number;
}

/** Reads the databases of the document's origin. */
export async function readDatabases(charsMax: number): Promise<ReadDatabases> {
  const result: ReadDatabases & { databases: StoredDatabase[] } = { databases: [], omitted: 0 };
  let charsLeft = charsMax;
  for (const { name = '' } of await indexedDB.databases()) {
    const database = await settled(indexedDB.open(name));
    const stored: StoredDatabase = { name, version: database.version, stores: [] };
    result.databases.push(stored);
    try {
      for (const storeName of database.objectStoreNames) {
        const store = database.transaction(storeName, 'readonly').objectStore(storeName);
        const { records, omitted, chars } = await readRecords(store, charsLeft);
        charsLeft -= chars;
        if (charsLeft < 0) return { databases: null, omitted: 0 };
        stored.stores.push({ ...describeStore(store), records });
        result.omitted += omitted;
      }
    } finally {
      database.close();
    }
  }
  return result;
}

/** Into an origin that has none of these. A record that the browser refuses is left out. */
export async function writeDatabases(json: string): Promise<void> {
  for (const { name, version, stores } of JSON.parse(json) as StoredDatabase[]) {
    const request = indexedDB.open(name, version);
    request.addEventListener('upgradeneeded', () => {
      for (const stored of stores) {
        const store = request.result.createObjectStore(stored.name, { keyPath: stored.keyPath, autoIncrement: stored.autoIncrement });
        for (const { name: indexName, keyPath, unique, multiEntry } of stored.indexes)
          store.createIndex(indexName, keyPath, { unique, multiEntry });
        for (const record of stored.records) putRecord(store, record);
      }
    });
    (await settled(request)).close();
  }
}

export function putRecord(store: IDBObjectStore, { key, value }: StoredStore['records'][number]): void {
  try {
    const request = store.keyPath === null ? store.put(decodeValue(value), decodeValue(key) as IDBValidKey) : store.put(decodeValue(value));
    // The transaction goes on without this record.
    request.addEventListener('error', (event) => {
      event.preventDefault();
      event.stopPropagation();
    });
  } catch {
    // A key that is none.
  }
}

export function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('The database did not answer.')));
  });
}

export function describeStore(store: IDBObjectStore): Omit<StoredStore, 'records'> {
  const indexes = [...store.indexNames].map((indexName) => {
    const { name, keyPath, unique, multiEntry } = store.index(indexName);
    return { name, keyPath, unique, multiEntry };
  });
  return { name: store.name, keyPath: store.keyPath, autoIncrement: store.autoIncrement, indexes };
}

/** Reads records in batches, so that a large store is given up before it fills the memory. */
export async function readRecords(
  store: IDBObjectStore,
  charsMax: number,
): Promise<Pick<StoredStore, 'records'> & { omitted: number; chars: number }> {
  const batchSize = 200;
  const records: StoredStore['records'] = [];
  let [omitted, chars] = [0, 0];
  let range: IDBKeyRange | null = null;
  for (;;) {
    const [keys, values]: [IDBValidKey[], unknown[]] = await Promise.all([
      settled(store.getAllKeys(range, batchSize)),
      settled(store.getAll(range, batchSize)),
    ]);
    for (const [index, key] of keys.entries()) {
      const record = encodeRecord(key, values[index]);
      if (!record) omitted += 1;
      else records.push(record);
      chars += record ? JSON.stringify(record).length : 0;
    }
    const last = keys.at(-1);
    if (last === undefined || keys.length < batchSize || chars > charsMax) return { records, omitted, chars };
    range = IDBKeyRange.lowerBound(last, true);
  }
}

export function encodeRecord(key: IDBValidKey, value: unknown): StoredStore['records'][number] | null {
  try {
    return { key: encodeValue(key, []), value: encodeValue(value, []) };
  } catch {
    return null;
  }
}

/** `seen`: the objects so far, in order, which are referred to by their positions. @throws Error for what JSON cannot hold */
export function encodeValue(value: unknown, seen: object[]): EncodedValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (value === undefined) return ['undefined'];
  if (typeof value === 'bigint') return ['bigint', String(value)];
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? value : ['number', Object.is(value, -0) ? '-0' : String(value)];
  if (typeof value !== 'object') throw new Error('not storable');
  const known = seen.indexOf(value);
  if (known >= 0) return ['seen', known];
  seen.push(value);
  const inner = (item: unknown): EncodedValue => encodeValue(item, seen);
  const type = Object.prototype.toString.call(value).slice(8, -1);
  if (Array.isArray(value)) return ['Array', ...value.map(inner)];
  if (type === 'Object') return ['Object', ...Object.entries(value).map(([name, item]) => [name, inner(item)])];
  if (value instanceof Date) return ['Date', Number.isNaN(value.getTime()) ? null : value.getTime()];
  if (value instanceof RegExp) return ['RegExp', value.source, value.flags];
  if (value instanceof Map) return ['Map', ...[...value].map(([key, item]) => [inner(key), inner(item)])];
  if (value instanceof Set) return ['Set', ...[...value].map(inner)];
  if (value instanceof ArrayBuffer) return ['Bytes', type, toBase64(new Uint8Array(value))];
  if (ArrayBuffer.isView(value)) return ['Bytes', type, toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))];
  throw new Error('not storable');
}

export function decodeValue(encoded: EncodedValue, seen: unknown[] = []): unknown {
  if (!Array.isArray(encoded)) return encoded;
  const [type, ...rest] = encoded as [string, ...unknown[]];
  if (type === 'undefined') return undefined;
  if (type === 'bigint') return BigInt(rest[0] as string);
  if (type === 'number') return Number(rest[0]);
  if (type === 'seen') return seen[rest[0] as number];
  const inner = (item: unknown): unknown => decodeValue(item as EncodedValue, seen);
  const add = <T>(value: T): T => {
    seen.push(value);
    return value;
  };
  if (type === 'Array') {
    const list = add<unknown[]>([]);
    for (const item of rest) list.push(inner(item));
    return list;
  }
  if (type === 'Object') {
    const object = add({});
    // A plain assignment would set the prototype by the name `__proto__`.
    for (const [name, item] of rest as [string, unknown][])
      Object.defineProperty(object, name, { value: inner(item), enumerable: true, configurable: true, writable: true });
    return object;
  }
  if (type === 'Map') {
    const map = add(new Map());
    for (const [key, item] of rest as [unknown, unknown][]) map.set(inner(key), inner(item));
    return map;
  }
  if (type === 'Set') {
    const set = add(new Set());
    for (const item of rest) set.add(inner(item));
    return set;
  }
  if (type === 'Date') return add(new Date(rest[0] === null ? Number.NaN : (rest[0] as number)));
  if (type === 'RegExp') return add(new RegExp(rest[0] as string, rest[1] as string));
  return add(toView(rest[0] as string, rest[1] as string));
}

export function toView(type: string, base64: string): ArrayBuffer | ArrayBufferView {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  if (type === 'ArrayBuffer') return bytes.buffer;
  const constructors = globalThis as unknown as Record<string, new (buffer: ArrayBuffer) => ArrayBufferView>;
  const View = constructors[type];
  if (!View) throw new Error('not storable');
  return new View(bytes.buffer);
}

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  // More arguments than this overflow the stack.
  for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(text);
}
