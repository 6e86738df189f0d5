/** The field of the search, on the pages that have it. */
import { html, type Markup } from '@berth/lib/text/html.ts';

/** Longer texts are cut before they are searched for. */
export const queryLengthMax = 200;

export const searchForm = (query: string): Markup =>
  html`<form class="search" role="search" action="/docs/search">
    <input
      type="search"
      name="q"
      value="${query}"
      maxlength="${String(queryLengthMax)}"
      aria-label="Search guides and API reference"
      placeholder="Search"
    />
    <button type="submit">Search</button>
  </form>`;
