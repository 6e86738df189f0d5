import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Icon } from './icons.tsx';
import { scrollable } from './scrollable.ts';

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
  rows: readonly T[];
  keyOf: (row: T) => string;
  /** Shown instead of the table when there are no rows at all. */
  empty: ComponentChildren;
  /** Shows a field that filters the rows by the columns with a `text`. */
  hasFilter?: boolean;
  rowsPerPage?: number;
  /** Further fields beside the filter. */
  tools?: ComponentChildren;
  /** Reads more rows from the service; null when there are no more. */
  onMore?: (() => Promise<void>) | null;
}

interface Sorting {
  column: number;
  isDescending: boolean;
}

/** A table that filters, sorts and pages what it was given. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
  hasFilter = true,
  rowsPerPage = 25,
  tools,
  onMore = null,
}: TableProps<T>) {
  const filter = useSignal('');
  const page = useSignal(0);
  const sorting = useSignal<Sorting | null>(null);
  const picked = sortRows(filterRows(rows, columns, filter.value), columns, sorting.value);
  const pages = Math.max(1, Math.ceil(picked.length / rowsPerPage));
  const current = Math.min(page.value, pages - 1);
  const shown = picked.slice(current * rowsPerPage, (current + 1) * rowsPerPage);
  const sort = (column: number) => {
    const isSame = sorting.value?.column === column;
    sorting.value = { column, isDescending: isSame && !sorting.value?.isDescending };
  };
  const type = (text: string) => {
    filter.value = text;
    page.value = 0;
  };
  return (
    <div class="table-box">
      {((hasFilter && rows.length > 0) || tools) && (
        <div class="table-tools">
          {hasFilter && rows.length > 0 && (
            <label class="search">
              <Icon name="search" />
              <span class="visually-hidden">Filter {caption}</span>
              <input type="search" placeholder="Filter" value={filter.value} onInput={(event) => type(event.currentTarget.value)} />
            </label>
          )}
          {tools}
        </div>
      )}
      {rows.length === 0 ? (
        empty
      ) : (
        <div class="table-scroll" {...scrollable(caption)}>
          <table>
            <caption class="visually-hidden">{caption}</caption>
            <Head columns={columns} sorting={sorting.value} onSort={sort} />
            <tbody>
              {shown.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map(({ title, cell, isNumber, isMinor }) => (
                    <td key={title} class={classOf({ isNumber, isMinor })}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {picked.length === 0 && <p class="table-none">Nothing matches “{filter.value}”.</p>}
        </div>
      )}
      <Pager page={current} pages={pages} count={picked.length} onPage={(next) => (page.value = next)} onMore={onMore} />
    </div>
  );
}

const classOf = ({ isNumber, isMinor }: { isNumber: boolean | undefined; isMinor: boolean | undefined }): string =>
  [isNumber && 'number', isMinor && 'minor'].filter(Boolean).join(' ');

interface HeadProps<T> {
  columns: readonly Column<T>[];
  sorting: Sorting | null;
  onSort: (column: number) => void;
}

const Head = <T,>({ columns, sorting, onSort }: HeadProps<T>) => (
  <thead>
    <tr>
      {columns.map(({ title, text, isNumber, isMinor }, index) => (
        <th
          key={title}
          scope="col"
          class={classOf({ isNumber, isMinor })}
          aria-sort={sorting?.column !== index ? undefined : sorting.isDescending ? 'descending' : 'ascending'}
        >
          {text ? (
            <button type="button" class="sort" onClick={() => onSort(index)}>
              {title}
              <span aria-hidden="true">{sorting?.column !== index ? '' : sorting.isDescending ? ' ↓' : ' ↑'}</span>
            </button>
          ) : (
            title
          )}
        </th>
      ))}
    </tr>
  </thead>
);

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

function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], sorting: Sorting | null): readonly T[] {
  const text = sorting && columns[sorting.column]?.text;
  if (!text) return rows;
  const sign = sorting.isDescending ? -1 : 1;
  return [...rows].sort((one, other) => sign * compare(text(one), text(other)));
}

function compare(one: string | number | null, other: string | number | null): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one ?? '').localeCompare(String(other ?? ''), undefined, { numeric: true });
}
