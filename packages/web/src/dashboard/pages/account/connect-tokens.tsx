/** Connect tokens: credentials for addresses. A new one is shown once, as the configuration of each client. */
import { useSignal } from '@preact/signals';
import type { ConnectTokenResponse } from '@berth/contract';
import { call, type Reply } from '../../api.ts';
import { useLive } from '../../live.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/values/copy.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/states.tsx';
import { List, type Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { wordsOf } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { toasts } from '../../ui/toasts.ts';
import { CreateCredential } from './key-forms.tsx';
import './account.css';

const refreshMs = 30_000;
const tones: Record<ConnectTokenResponse['status'], Tone> = { active: 'good', expired: 'warn', key_revoked: 'neutral' };

type NewToken = Reply<'createConnectToken'>;

const nameOf = ({ name, last4 }: ConnectTokenResponse): string => name ?? `Token …${last4}`;

export default function ConnectTokensPage() {
  const isCreating = useSignal(false);
  const created = useSignal<NewToken | null>(null);
  const revoked = useSignal<ConnectTokenResponse | null>(null);
  const live = useLive((signal) => call('listConnectTokens', { signal }), { everyMs: refreshMs });
  const revoke = async (): Promise<void> => {
    if (!revoked.value) return;
    await call('revokeConnectToken', { params: { token_id: revoked.value.token_id } });
    if (created.value?.token_id === revoked.value.token_id) created.value = null;
    toasts.show('The token is revoked.');
    await live.reload();
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1>Connect tokens</h1>
        <button type="button" class="button button-main" onClick={() => (isCreating.value = true)}>
          Create a token
        </button>
      </div>
      <p class="muted">
        For clients that take an address and nothing else. A token creates sessions by connecting and drives them; the rest of the API is
        closed to it. It works only as long as the API key that created it.
      </p>
      {created.value && <NewTokenPanel created={created.value} onDone={() => (created.value = null)} />}
      <List
        live={live}
        caption="Connect tokens"
        name="main"
        columns={columnsOf((token) => (revoked.value = token))}
        keyOf={({ token_id: id }) => id}
        empty={
          <Empty icon="code" title="No connect tokens">
            <p>Create the first one. It is shown once, as the configuration of each client.</p>
          </Empty>
        }
      />
      <CreateCredential<NewToken>
        title="Create a connect token"
        action="Create the token"
        isOpen={isCreating.value}
        create={(body) => call('createConnectToken', { body })}
        onClose={() => (isCreating.value = false)}
        onCreated={async (token) => {
          created.value = token;
          isCreating.value = false;
          await live.reload();
        }}
      />
      <Confirm
        title="Revoke the token"
        text={
          <>
            Connections with <bdi>{revoked.value && nameOf(revoked.value)}</bdi> are closed within a second, and their sessions end with
            them. This cannot be undone.
          </>
        }
        action="Revoke the token"
        isOpen={revoked.value !== null}
        onClose={() => (revoked.value = null)}
        onConfirm={revoke}
      />
    </div>
  );
}

/** The new token, until it is dismissed: nothing returns it again. */
function NewTokenPanel({ created, onDone }: { created: NewToken; onDone: () => void }) {
  const snippets = tokenSnippets(created, location.origin);
  const current = useSignal(snippets[0]?.title ?? '');
  const text = snippets.find(({ title }) => title === current.value)?.text ?? '';
  return (
    <section class="panel" role="status" aria-labelledby="new-token">
      <h2 id="new-token">Copy your new token now</h2>
      <p>It is shown this once. Whoever has the address has the token: keep it as a password.</p>
      <Tabs
        label="Clients"
        tabs={snippets.map(({ title }) => ({ id: title, title }))}
        current={current.value}
        onChange={(title) => (current.value = title)}
      >
        <CodeBlock label={`the ${current.value} configuration`} text={text} />
      </Tabs>
      <div class="row">
        <button type="button" class="button" onClick={onDone}>
          I have copied it
        </button>
      </div>
    </section>
  );
}

const columnsOf = (onRevoke: (token: ConnectTokenResponse) => void): readonly Column<ConnectTokenResponse>[] => [
  { title: 'Name', cell: (token) => <bdi class="cell-text">{nameOf(token)}</bdi>, text: nameOf },
  { title: 'Token', cell: ({ prefix, last4 }) => <code>{`${prefix}…${last4}`}</code>, text: ({ last4 }) => last4, isMinor: true },
  { title: 'Status', cell: ({ status }) => <Badge tone={tones[status]}>{wordsOf(status)}</Badge>, text: ({ status }) => status },
  { title: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} />, text: ({ last_used_at: at }) => at },
  { title: 'Expires', cell: ({ expires_at: at }) => <Time at={at} />, text: ({ expires_at: at }) => at, isMinor: true },
  { title: 'Created', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at, isMinor: true },
  {
    title: 'Actions',
    cell: (token) => (
      <button type="button" class="button" aria-label={`Revoke ${nameOf(token)}`} onClick={() => onRevoke(token)}>
        Revoke
      </button>
    ),
  },
];

/** Configurations of clients with the address of a connect token. They have the secret in them. */
function tokenSnippets(
  { token, cdp_url: address }: { token: string | null; cdp_url: string | null },
  origin: string,
): { title: string; text: string }[] {
  if (token === null || address === null) return [];
  return [
    {
      title: 'Playwright',
      text: ["import { chromium } from 'playwright-core';", '', `const browser = await chromium.connectOverCDP('${address}');`].join('\n'),
    },
    {
      title: 'Puppeteer',
      text: [
        "import puppeteer from 'puppeteer-core';",
        '',
        `const browser = await puppeteer.connect({ browserWSEndpoint: '${address}', defaultViewport: null });`,
      ].join('\n'),
    },
    { title: 'MCP', text: JSON.stringify({ mcpServers: { berth: { type: 'http', url: `${origin}/mcp/${token}` } } }, null, 2) },
    { title: 'Command line', text: `agent-browser connect '${address}'` },
    { title: 'Address', text: address },
  ];
}
