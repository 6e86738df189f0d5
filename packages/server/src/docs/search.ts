/** The search in guides and API reference: an index in memory, made when somebody first searches. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import MiniSearch, { type SearchResult as MiniSearchResult } from 'minisearch';
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import { queryLengthMax } from './search-form.ts';

/** A part of a page that can be found. */
export interface SearchEntry {
  /** Address with fragment. */
  address: string;
  /** Title of the page. */
  page: string;
  /** Heading of the part; empty for the beginning of a page. */
  heading: string;
  text: string;
}

export interface SearchResult extends Omit<SearchEntry, 'text'> {
  excerpt: string;
}

const resultsMax = 20;
/** Characters of the text before and behind what was found. */
const excerptReach = 90;
const boost = { page: 4, heading: 3 };
/** Weight of a part that has the words of the query side by side, as names of commands are. */
const phraseBoost = 5;
/** Parts, the best ones, in which they are looked for. */
const phraseCandidatesMax = 200;
/** Words of a query, the first ones. Each is compared with every word of the index, on the thread that serves all sessions. */
const wordsMax = 10;
/** Characters from which on a word is also found as the beginning of others: a single letter begins thousands. */
const prefixCharsMin = 2;
const tokenize = MiniSearch.getDefault('tokenize') as (text: string) => string[];

export class Search {
  readonly #pages: () => AsyncIterable<readonly SearchEntry[]>;
  #index: Promise<MiniSearch<SearchEntry>> | undefined;

  /** `pages` are read once, with the first search. */
  constructor(pages: () => AsyncIterable<readonly SearchEntry[]>) {
    this.#pages = pages;
  }

  async find(query: string): Promise<SearchResult[]> {
    const text = query.slice(0, queryLengthMax).trim();
    if (text === '') return [];
    const index = await (this.#index ??= this.#build());
    const options = {
      prefix: (word: string) => word.length >= prefixCharsMin,
      fuzzy: 0.15,
      boost,
      tokenize: (words: string) => [...new Set(tokenize(words))].slice(0, wordsMax),
    };
    // Everything is better than nothing, but comes after what has every word.
    const all = index.search(text, { ...options, combineWith: 'AND' });
    const found = all.length > 0 ? all : index.search(text, options);
    return phraseFirst(found.slice(0, phraseCandidatesMax), text)
      .slice(0, resultsMax)
      .map(({ id, terms, page, heading, text: body }) => ({
        address: String(id),
        page: String(page),
        heading: String(heading),
        excerpt: excerptOf(String(body), terms),
      }));
  }

  async #build(): Promise<MiniSearch<SearchEntry>> {
    const index = new MiniSearch<SearchEntry>({
      idField: 'address',
      fields: ['page', 'heading', 'text'],
      storeFields: ['page', 'heading', 'text'],
    });
    for await (const entries of this.#pages()) {
      // In small turns: sessions must not wait for the whole.
      await index.addAllAsync(entries, { chunkSize: 10 });
      await nextTurn();
    }
    return index;
  }
}

/** Single words of a query such as `berth up` are everywhere. */
function phraseFirst(results: readonly MiniSearchResult[], query: string): readonly MiniSearchResult[] {
  const phrase = query.toLowerCase().replaceAll(/\s+/g, ' ');
  if (!phrase.includes(' ')) return results;
  const has = ({ page, heading, text }: MiniSearchResult): boolean => `${page}\n${heading}\n${text}`.toLowerCase().includes(phrase);
  return results
    .map((result) => ({ result, score: has(result) ? result.score * phraseBoost : result.score }))
    .toSorted((one, other) => other.score - one.score)
    .map(({ result }) => result);
}

function excerptOf(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0);
  const place = places.length > 0 ? Math.min(...places) : 0;
  const begin = Math.max(0, place - excerptReach);
  const part = text.slice(begin, place + excerptReach);
  return `${begin > 0 ? '… ' : ''}${part.trim()}${place + excerptReach < text.length ? ' …' : ''}`;
}

export const searchContent = (query: string, results: readonly SearchResult[]): Markup =>
  html`<h1>Search</h1>
    ${query.trim() === '' ? nothing : html`<p>${results.length === 0 ? 'Nothing was found. Try another word.' : `${results.length === resultsMax ? 'The first ' : ''}${results.length} ${results.length === 1 ? 'result' : 'results'}`}</p>`}
    <ul class="results">
      ${results.map(
        ({ address, page, heading, excerpt }) =>
          html`<li>
            <a href="${address}">${heading === '' ? page : `${page}: ${heading}`}</a>
            <p>${excerpt}</p>
          </li> `,
      )}
    </ul>`;
