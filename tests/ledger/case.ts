/** What is judged. */
import type { Books, Entry } from './books.ts';
import type { Deed, History } from './history.ts';
import type { Schedule } from './schedule.ts';

export interface Case {
  schedule: Schedule;
  history: History;
  books: Books;
  /** The life that was ended in an orderly way: all that it has counted is written down. */
  lastLife: number;
}

/** What each entry came from, where the clients know. */
export type Origins = Map<Entry, Deed>;
