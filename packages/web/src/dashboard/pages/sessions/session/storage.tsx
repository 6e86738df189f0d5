import type { SessionResponse, StorageState } from '@berth/contract';
import { call } from '../../../api.ts';
import { useLive } from '../../../live.ts';
import { CopyButton } from '../../../ui/values/copy.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { saveFile } from '../../../ui/values/save-file.ts';
import { Empty, Loaded } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { dateTimeText } from '../../../ui/values/texts.ts';

type Cookie = StorageState['cookies'][number];

interface Item {
  origin: string;
  name: string;
  value: string;
}

/** Read once, as the browser is asked for it. */
export function Storage({ session }: { session: SessionResponse }) {
  const live = useLive((signal) => call('getStorageState', { params: { session_id: session.session_id }, signal }));
  return (
    <Loaded live={live} loading="Reading cookies and local storage">
      {(state) => <State state={state} sessionId={session.session_id} onReload={() => void live.reload()} />}
    </Loaded>
  );
}

function State({ state, sessionId, onReload }: { state: StorageState; sessionId: string; onReload: () => void }) {
  const items: Item[] = state.origins.flatMap(({ origin, localStorage }) =>
    localStorage.map(({ name, value }) => ({ origin, name, value })),
  );
  const text = JSON.stringify(state, null, 2);
  const save = () => saveFile(new Blob([text], { type: 'application/json' }), `${sessionId}-storage-state.json`);
  return (
    <>
      <div class="row">
        <button type="button" class="button" onClick={onReload}>
          <Icon name="reload" />
          Read again
        </button>
        <button type="button" class="button" onClick={save}>
          <Icon name="download" />
          Save as a file
        </button>
        <CopyButton text={text} what="the storage state" isLabelled />
        <p class="hint">To continue in another session, give it as its storage state.</p>
      </div>
      <h2>Cookies</h2>
      <Table
        caption="Cookies"
        columns={cookieColumns}
        rows={state.cookies}
        keyOf={({ domain, path, name }) => `${domain} ${path} ${name}`}
        hasFilter={state.cookies.length > 10}
        empty={<Empty icon="database" title="No cookies" />}
      />
      <h2>Local storage of the open tabs</h2>
      <Table
        caption="Local storage"
        columns={itemColumns}
        rows={items}
        keyOf={({ origin, name }) => `${origin} ${name}`}
        hasFilter={items.length > 10}
        empty={<Empty icon="database" title="No local storage" />}
      />
    </>
  );
}

const shown = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

const cookieColumns: readonly Column<Cookie>[] = [
  { title: 'Name', cell: ({ name }) => <bdi>{name}</bdi>, text: ({ name }) => name },
  { title: 'Value', cell: ({ value }) => <code>{shown(value)}</code>, text: ({ value }) => value },
  { title: 'Domain', cell: ({ domain, path }) => `${domain}${path}`, text: ({ domain }) => domain, isMinor: true },
  {
    title: 'Expires',
    cell: ({ expires }) => (expires > 0 ? dateTimeText(expires * 1000) : 'With the session'),
    text: ({ expires }) => expires,
    isMinor: true,
  },
  {
    title: 'Flags',
    cell: ({ httpOnly, secure, sameSite }) => [httpOnly && 'HttpOnly', secure && 'Secure', sameSite].filter(Boolean).join(', '),
    isMinor: true,
  },
];

const itemColumns: readonly Column<Item>[] = [
  { title: 'Origin', cell: ({ origin }) => origin, text: ({ origin }) => origin, isMinor: true },
  { title: 'Name', cell: ({ name }) => <bdi>{shown(name)}</bdi>, text: ({ name }) => name },
  { title: 'Value', cell: ({ value }) => <code>{shown(value)}</code>, text: ({ value }) => value },
];
