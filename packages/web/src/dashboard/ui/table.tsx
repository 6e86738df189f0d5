import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Live } from '../live.ts';
import { Icon } from './icons.tsx';
import { useListState, type ListState } from './list-state.ts';
import { scrollable } from './scrollable.ts';
import type { Selection } from './selection.tsx';
import { Search } from './search.tsx';
import { ErrorNote } from './states.tsx';

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** What the filter finds, and what the column is sorted by. Default: the column is neither. */
  text?: (row: T) => string | number | null;
  /** Numbers stand at the end of the column. */
  isNumber?: boolean;
  /** Hidden on a phone. */
  isMinor?: boolean;
}

interface TableProps<T> {
  /** What it lists, for screen readers. */
  caption: string;
  columns: readonly Column<T>[];
  /** Undefined while they are loaded: then the table has the shape that it will have. */
  rows: readonly T[] | undefined;
  keyOf: (row: T) => string;
  /** Shown instead of the table when there are no rows at all. */
  empty: ComponentChildren;
  /** Keeps filter, order and page in the address; `main` for the list that a page is about. Default: they are lost on a reload. */
  name?: string;
  /** Shows a field that filters the rows by the columns with a `text`. */
  hasFilter?: boolean;
  rowsPerPage?: number;
  /** Further fields beside the filter. */
  tools?: ComponentChildren;
  /** Reads more rows from the service; null when there are no more. */
  onMore?: (() => Promise<void>) | null;
  /** Shows a box before each row that can be chosen. */
  selection?: { of: Selection; canChoose: (row: T) => boolean; nameOf: (row: T) => string } | undefined;
}

/** Rows of a table that is loaded. */
const skeletonRows = 6;

type ListProps<T> = Omit<TableProps<T>, 'rows'> & {
  live: Live<unknown>;
  /** Default: what `live` read. */
  rows?: readonly T[] | undefined;
};

/** A list of the API: its rows, their shape while they are loaded, and why they could not be. What was read stays below an error. */
export function List<T>({ live, rows = live.data as readonly T[] | undefined, ...table }: ListProps<T>) {
  return (
    <>
      {live.error && <ErrorNote error={live.error} onRetry={() => void live.reload()} />}
      {(rows !== undefined || !live.error) && <Table {...table} rows={rows} />}
    </>
  );
}

/** A table that filters, sorts and pages what it was given. */
export function Table<T>(props: TableProps<T>) {
  const { caption, columns, rows = [], empty, name, hasFilter = true, rowsPerPage = 25, tools, onMore = null } = props;
  const state = useListState(name);
  const isLoading = props.rows === undefined;
  const hasSearch = hasFilter && (rows.length > 0 || isLoading);
  const picked = sortRows(filterRows(rows, columns, state.filter), columns, state);
  const pages = Math.max(1, Math.ceil(picked.length / rowsPerPage));
  const current = Math.min(state.page, pages - 1);
  const shown = picked.slice(current * rowsPerPage, (current + 1) * rowsPerPage);
  return (
    <div class="table-box" aria-busy={isLoading}>
      {isLoading && (
        <p class="visually-hidden" role="status">
          Loading {caption}
        </p>
      )}
      {(hasSearch || tools) && (
        <div class="table-tools">
          {hasSearch && <Search caption={caption} value={state.filter} onInput={(filter) => state.set({ filter, page: 0 })} />}
          {tools}
        </div>
      )}
      {rows.length === 0 && !isLoading ? (
        empty
      ) : (
        <div class="table-scroll" {...scrollable(caption)}>
          <table>
            <caption class="visually-hidden">{caption}</caption>
            <Head {...props} shown={shown} state={state} onSort={(sort, isDescending) => state.set({ sort, isDescending })} />
            <tbody>{isLoading ? <Skeleton {...props} /> : shown.map((row) => <Row key={props.keyOf(row)} {...props} row={row} />)}</tbody>
          </table>
          {picked.length === 0 && !isLoading && <p class="table-none">Nothing matches “{state.filter}”.</p>}
        </div>
      )}
      <Pager page={current} pages={pages} count={picked.length} onPage={(page) => state.set({ page })} onMore={onMore} />
    </div>
  );
}

function Row<T>({ columns, selection, keyOf, row }: TableProps<T> & { row: T }) {
  const id = keyOf(row);
  return (
    <tr>
      {selection && (
        <td class="choice">
          {selection.canChoose(row) && (
            <input
              type="checkbox"
              aria-label={`Choose ${selection.nameOf(row)}`}
              checked={selection.of.ids.has(id)}
              onChange={(event) => selection.of.set([id], event.currentTarget.checked)}
            />
          )}
        </td>
      )}
      {columns.map(({ title, cell, isNumber, isMinor }) => (
        <td key={title} class={classOf({ isNumber, isMinor })}>
          {cell(row)}
        </td>
      ))}
    </tr>
  );
}

const Skeleton = <T,>({ columns, selection }: TableProps<T>) => (
  <>
    {Array.from({ length: skeletonRows }, (_, row) => (
      <tr key={row} aria-hidden="true">
        {selection && <td class="choice">&nbsp;</td>}
        {columns.map(({ title, isNumber, isMinor }) => (
          <td key={title} class={classOf({ isNumber, isMinor })}>
            <span class="skeleton">&nbsp;</span>
          </td>
        ))}
      </tr>
    ))}
  </>
);

const classOf = ({ isNumber, isMinor }: { isNumber: boolean | undefined; isMinor: boolean | undefined }): string =>
  [isNumber && 'number', isMinor && 'minor'].filter(Boolean).join(' ');

interface HeadProps<T> extends TableProps<T> {
  /** Rows of the current page: what the box of the head chooses. */
  shown: readonly T[];
  state: ListState;
  onSort: (column: string, isDescending: boolean) => void;
}

const Head = <T,>({ caption, columns, keyOf, selection, shown, state: { sort, isDescending }, onSort }: HeadProps<T>) => {
  const choices = selection ? shown.filter(selection.canChoose).map(keyOf) : [];
  return (
    <thead>
      <tr>
        {selection && (
          <th class="choice">
            <input
              type="checkbox"
              aria-label={`Choose all of this page: ${caption}`}
              disabled={choices.length === 0}
              checked={choices.length > 0 && choices.every((id) => selection.of.ids.has(id))}
              onChange={(event) => selection.of.set(choices, event.currentTarget.checked)}
            />
          </th>
        )}
        {columns.map(({ title, text, isNumber, isMinor }) => {
          const isSorted = text !== undefined && sort === title;
          return (
            <th
              key={title}
              scope="col"
              class={classOf({ isNumber, isMinor })}
              aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
            >
              {text ? (
                <button type="button" class="sort" onClick={() => onSort(title, isSorted && !isDescending)}>
                  {title}
                  <span aria-hidden="true">{isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
                </button>
              ) : (
                title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
};

interface PagerProps {
  page: number;
  pages: number;
  count: number;
  onPage: (page: number) => void;
  onMore: (() => Promise<void>) | null;
}

function Pager({ page, pages, count, onPage, onMore }: PagerProps) {
  const isReading = useSignal(false);
  if (pages <= 1 && !onMore) return null;
  const more = async (): Promise<void> => {
    isReading.value = true;
    await onMore?.();
    isReading.value = false;
  };
  return (
    <nav class="pager" aria-label="Pages of the table">
      <button type="button" class="icon-button" aria-label="Previous page" disabled={page === 0} onClick={() => onPage(page - 1)}>
        <Icon name="back" />
      </button>
      <span role="status">
        Page {page + 1} of {pages}, {count} {count === 1 ? 'row' : 'rows'}
      </span>
      <button type="button" class="icon-button" aria-label="Next page" disabled={page >= pages - 1} onClick={() => onPage(page + 1)}>
        <Icon name="forward" />
      </button>
      {onMore && (
        <button type="button" class="button" disabled={isReading.value} onClick={() => void more()}>
          {isReading.value ? 'Loading' : 'Load more'}
        </button>
      )}
    </nav>
  );
}

function filterRows<T>(rows: readonly T[], columns: readonly Column<T>[], filter: string): readonly T[] {
  const wanted = filter.trim().toLowerCase();
  if (!wanted) return rows;
  return rows.filter((row) =>
    columns.some(({ text }) =>
      String(text?.(row) ?? '')
        .toLowerCase()
        .includes(wanted),
    ),
  );
}

function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], { sort, isDescending }: ListState): readonly T[] {
  const text = columns.find(({ title }) => title === sort)?.text;
  if (!text) return rows;
  const sign = isDescending ? -1 : 1;
  return [...rows].sort((one, other) => sign * compare(text(one), text(other)));
}

function compare(one: string | number | null, other: string | number | null): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one ?? '').localeCompare(String(other ?? ''), undefined, { numeric: true });
}
