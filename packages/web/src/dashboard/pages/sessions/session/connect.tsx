import { useSignal } from '@preact/signals';
import type { SessionResponse } from '@berth/contract';
import { CodeBlock } from '../../../ui/values/copy.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { snippetsOf } from '../snippets.ts';

/** Programs for this session, with its address filled in. */
export function Connect({ session }: { session: SessionResponse }) {
  const snippets = snippetsOf(session, new URL(session.connect_url).origin);
  const current = useSignal(snippets[0]?.title ?? '');
  const text = snippets.find(({ title }) => title === current.value)?.text ?? '';
  return (
    <div class="panel">
      <p>
        Put your API key in <code>BERTH_API_KEY</code>. The address contains no secret.
      </p>
      <CodeBlock label="the DevTools address" text={session.cdp_url} />
      <Tabs
        label="Clients"
        tabs={snippets.map(({ title }) => ({ id: title, title }))}
        current={current.value}
        onChange={(title) => (current.value = title)}
      >
        <CodeBlock label={`the ${current.value} code`} text={text} />
      </Tabs>
      <p class="hint">
        More clients, and links that create a session by connecting: <a href="/docs/connect">Connect</a>.
      </p>
    </div>
  );
}
