import { scrollable } from '../../../ui/scrollable.ts';
import type { CellTable } from './value-shape.ts';

const rowsMax = 500;

/** Tables of a page, one below the other. */
export const CellTables = ({ tables }: { tables: readonly CellTable[] }) => (
  <div class="automation-stack">
    {tables.map((table, n) => (
      <CellTableView key={n} table={table} label={table.caption || `Table ${n + 1}`} />
    ))}
  </div>
);

function CellTableView({ table: { headers, rows }, label }: { table: CellTable; label: string }) {
  const width = Math.max(headers.length, ...rows.map((row) => row.length));
  const columns = Array.from({ length: width }, (_, column) => headers[column] || `Column ${column + 1}`);
  return (
    <figure class="automation-figure">
      <figcaption class="muted automation-foreign">{label}</figcaption>
      <div class="table-scroll" {...scrollable(label)}>
        <table>
          <thead>
            <tr>
              {columns.map((column, n) => (
                <th scope="col" key={n}>
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, rowsMax).map((row, n) => (
              <tr key={n}>
                {columns.map((_, column) => (
                  <td key={column}>{row[column] ?? ''}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > rowsMax && <figcaption class="muted">The first {rowsMax} rows are shown. The JSON of the result has all.</figcaption>}
    </figure>
  );
}
