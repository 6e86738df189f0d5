/** What a browser keeps of the sites that it visited. */
import type { StorageState } from '@berth/contract';
import type { StoredDatabase } from '@berth/page-scripts/read/databases.ts';

export interface OriginState {
  origin: string;
  localStorage: { name: string; value: string }[];
  databases: StoredDatabase[];
}

export interface BrowserState {
  cookies: StorageState['cookies'];
  origins: OriginState[];
}

/** The state of the origins that could be read, in the order in which they were asked for. */
export interface ReadBrowserState extends BrowserState {
  /** Origins whose pages did not answer in time. */
  unread: string[];
  /** Origins whose databases are too large, and records with files or keys that cannot be read. */
  omitted: { databases: number; records: number };
}
