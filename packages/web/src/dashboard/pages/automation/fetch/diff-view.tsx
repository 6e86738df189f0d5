import { useMemo } from 'preact/hooks';
import { scrollable } from '../../../ui/scrollable.ts';
import { numberText } from '../../../ui/values/texts.ts';
import { diffTexts, type DiffRow } from './text-diff.ts';

interface TextDiffViewProps {
  before: string;
  after: string;
  /** Where the texts come from, such as `plain HTTP`. */
  names: readonly [before: string, after: string];
}

/** The lines in which two texts differ. Signs, not only colours, say which text a line is from. */
export function TextDiffView({ before, after, names }: TextDiffViewProps) {
  const diff = useMemo(() => diffTexts(before, after), [before, after]);
  if (!diff) return <p class="muted">The two differ too much to be compared line by line. Read them side by side.</p>;
  const { rows, added, removed, omitted } = diff;
  if (added + removed === 0) return <p>Both are the same.</p>;
  return (
    <div class="automation-text">
      <p>
        {numberText(removed)} {removed === 1 ? 'line' : 'lines'} only with {names[0]}, {numberText(added)} only with {names[1]}.
      </p>
      <div class="table-scroll automation-diff" {...scrollable('Differences')}>
        <table>
          <tbody>
            {rows.map((row, n) => (
              <DiffLine key={n} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {omitted > 0 && <p class="muted">{numberText(omitted)} further lines are not shown.</p>}
    </div>
  );
}

const signs = { same: ' ', added: '+', removed: '−' } as const;
const signNames = { same: '', added: 'added', removed: 'removed' } as const;

const DiffLine = ({ row }: { row: DiffRow }) =>
  row.kind === 'gap' ? (
    <tr class="automation-gap">
      <td colSpan={3}>{numberText(row.lines)} equal lines</td>
    </tr>
  ) : (
    <tr class={`work-${row.kind}`}>
      <td class="automation-number">{row.line}</td>
      <td>
        <span aria-hidden="true">{signs[row.kind]}</span>
        <span class="visually-hidden">{signNames[row.kind]}</span>
      </td>
      <td class="automation-line-text">{row.text}</td>
    </tr>
  );
