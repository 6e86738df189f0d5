/** Shows what came from pages of others. It is text, images of three types, and links to the web; it is never HTML. */
import { CopyButton } from '../../../ui/values/copy.tsx';
import { ForeignLink } from '../../../ui/values/foreign-link.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { scrollable } from '../../../ui/scrollable.ts';
import { numberText, sizeText } from '../../../ui/values/texts.ts';
import { CellTables } from './cell-tables.tsx';
import { fromBase64, saveForeign } from './save-foreign.ts';
import { shapeOf, titleOf, toHref, type FileContent, type ValueShape } from './value-shape.ts';

/** A browser takes seconds to lay out megabytes of text. */
const charsMax = 200_000;
const rowsMax = 500;

interface TextBlockProps {
  text: string;
  /** What the text is, such as `Markdown`. */
  label: string;
  fileName: string;
}

/** A long text in a fixed face, to read, copy and save. */
export function TextBlock({ text, label, fileName }: TextBlockProps) {
  return (
    <div class="automation-text">
      <div class="row">
        <span class="muted">{numberText(text.length)} characters</span>
        <CopyButton text={text} what={label} />
        <SaveButton label={label} onSave={() => saveForeign(fileName, text)} />
      </div>
      <pre {...scrollable(label)}>{text.slice(0, charsMax)}</pre>
      {text.length > charsMax && (
        <p class="muted">The first {numberText(charsMax)} characters are shown. Save the file to read all of it.</p>
      )}
    </div>
  );
}

export const SaveButton = ({ label, onSave }: { label: string; onSave: () => void }) => (
  <button type="button" class="icon-button" title={`Save ${label}`} aria-label={`Save ${label}`} onClick={onSave}>
    <Icon name="download" />
  </button>
);

interface ValueViewProps {
  value: unknown;
  /** What the value is, for those who cannot see where it stands. */
  label: string;
  depth?: number;
}

/** Any value of an output, in the form that suits it. */
export function ValueView({ value, label, depth = 0 }: ValueViewProps) {
  const shape = shapeOf(value, depth);
  switch (shape.kind) {
    case 'link':
      return <ForeignLink to={shape.url} />;
    case 'text':
      return isLong(shape.text) ? (
        <TextBlock text={shape.text} label={label} fileName={`${label}.txt`} />
      ) : (
        <span class="automation-value">{shape.text}</span>
      );
    case 'cells':
      return <CellTables tables={shape.tables} />;
    case 'list':
      return <TextList items={shape.items} />;
    case 'picture':
      return <PictureView {...shape} label={label} />;
    case 'file':
      return <FileView file={shape.file} label={label} />;
    case 'table':
      return <RowsView columns={shape.columns} rows={shape.rows} label={label} />;
    case 'group':
      return (
        <dl class="automation-group">
          {shape.entries.map(([name, entry]) => (
            <div key={name}>
              <dt>{titleOf(name)}</dt>
              <dd>
                <ValueView value={entry} label={name} depth={depth + 1} />
              </dd>
            </div>
          ))}
        </dl>
      );
    case 'json':
      return <JsonView value={shape.value} label={label} />;
  }
}

const isLong = (text: string): boolean => text.length > 200 || text.includes('\n');

function JsonView({ value, label }: { value: unknown; label: string }) {
  if (value === null || (Array.isArray(value) && value.length === 0)) return <span class="muted">None</span>;
  return <TextBlock text={JSON.stringify(value, null, 2)} label={label} fileName={`${label}.json`} />;
}

const TextList = ({ items }: { items: readonly string[] }) => (
  <>
    <ul class="automation-list">
      {items.slice(0, rowsMax).map((item, n) => (
        <li key={n}>
          <TextOrLink text={item} />
        </li>
      ))}
    </ul>
    <Others count={items.length - rowsMax} />
  </>
);

const Others = ({ count }: { count: number }) =>
  count > 0 ? <p class="muted">And {numberText(count)} more, which the JSON of the result has.</p> : null;

function PictureView({ contentType, tiles, notes, label }: Extract<ValueShape, { kind: 'picture' }> & { label: string }) {
  const type = contentType.replace('image/', '');
  return (
    <figure class="automation-picture">
      <div class="automation-frame" {...scrollable(label)}>
        {tiles.map((base64, n) => (
          <img key={n} src={`data:${contentType};base64,${base64}`} alt={tiles.length > 1 ? `${label}, part ${n + 1}` : label} />
        ))}
      </div>
      <figcaption class="row">
        <NotesText notes={notes} />
        {tiles.map((base64, n) => (
          <SaveButton
            key={n}
            label={`${label}${n > 0 ? ` ${n + 1}` : ''}`}
            onSave={() => saveForeign(`${label}-${n + 1}.${type}`, fromBase64(base64))}
          />
        ))}
      </figcaption>
    </figure>
  );
}

export function FileView({ file, label }: { file: FileContent; label: string }) {
  const { base64, contentType, name, notes } = file;
  const bytes = Math.floor((base64.length * 3) / 4);
  return (
    <p class="row">
      <button type="button" class="button" onClick={() => saveForeign(name ?? label, fromBase64(base64))}>
        <Icon name="download" />
        Save {name ?? label}
      </button>
      <span class="muted">
        {contentType}, {sizeText(bytes)}
      </span>
      <NotesText notes={notes.filter(([note]) => note !== 'bytes')} />
    </p>
  );
}

function NotesText({ notes }: { notes: FileContent['notes'] }) {
  const texts = notes
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .map(([name, value]) => `${titleOf(name)}: ${String(value)}`);
  return <span class="muted automation-foreign">{texts.join(' · ')}</span>;
}

interface RowsViewProps {
  columns: readonly string[];
  rows: readonly Record<string, unknown>[];
  label: string;
}

/** Rows of flat values. */
export const RowsView = ({ columns, rows, label }: RowsViewProps) => (
  <>
    <div class="table-scroll" {...scrollable(label)}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {titleOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, rowsMax).map((row, n) => (
            <tr key={n}>
              {columns.map((column) => (
                <td key={column}>
                  <Cell value={row[column]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <Others count={rows.length - rowsMax} />
  </>
);

function Cell({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span class="muted">–</span>;
  return typeof value === 'string' ? <TextOrLink text={value} /> : <>{JSON.stringify(value)}</>;
}

/** A text of others: a link if all of it is an address. */
const TextOrLink = ({ text }: { text: string }) =>
  toHref(text) ? <ForeignLink to={text} /> : <bdi class="automation-foreign">{text}</bdi>;
