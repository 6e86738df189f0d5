import type { SessionResponse } from '@berth/contract';
import { isolationText } from '../session-state.tsx';
import type { ComponentChildren } from 'preact';
import { CopyButton } from '../../../ui/values/copy.tsx';
import { dateTimeText, durationText, numberText, sizeText, wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';

type Row = readonly [name: string, value: ComponentChildren];

/** All that is known of the session. */
export function Details({ session }: { session: SessionResponse }) {
  return (
    <div class="columns">
      <Group title="Session" rows={identityRows(session)} />
      <Group title="Usage" rows={usageRows(session)} />
      <Group title="Browser" rows={browserRows(session)} />
      <Group title="Network" rows={networkRows(session)} />
      {Object.keys(session.metadata).length > 0 && <Group title="Metadata" rows={Object.entries(session.metadata)} />}
    </div>
  );
}

const Group = ({ title, rows }: { title: string; rows: readonly Row[] }) => (
  <section class="panel">
    <h2>{title}</h2>
    <dl class="stats">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <span class="muted">none</span>}</dd>
        </div>
      ))}
    </dl>
  </section>
);

const identityRows = (session: SessionResponse): Row[] => [
  [
    'Id',
    <span class="row">
      <code>{session.session_id}</code>
      <CopyButton text={session.session_id} what="the id" />
    </span>,
  ],
  ['Created', <Time at={session.created_at} />],
  ['Started', session.started_at && dateTimeText(session.started_at)],
  ['Ended', session.ended_at && dateTimeText(session.ended_at)],
  ['Longest lifetime', durationText(session.timeout_seconds * 1000)],
  ['Ends when idle for', durationText(session.idle_timeout_seconds * 1000)],
  ['Continues without clients', session.keep_alive ? 'Yes' : 'No'],
  ['Profile', profileText(session)],
  ['Start page', session.start_navigation && `${session.start_navigation.url}: ${session.start_navigation.message ?? 'opened'}`],
];

const saveTexts = { pending: 'saved at the end', saved: 'saved', failed: 'not saved' };
const profileText = ({ profile }: SessionResponse): string | null =>
  profile && `${profile.name}: ${profile.save_status ? saveTexts[profile.save_status] : 'only read'}`;

const usageRows = ({ usage, tabs, connections }: SessionResponse): Row[] => [
  ['Actions', numberText(usage.actions)],
  ['Browser time', durationText(usage.browser_seconds * 1000)],
  ['Traffic', sizeText(usage.egress_bytes)],
  ['Captchas solved', numberText(usage.captcha_solves)],
  ['Credits', numberText(usage.credits)],
  ['Open tabs', `${tabs.open} of ${tabs.limit}`],
  ['DevTools clients', numberText(connections.cdp)],
  ['Viewers', numberText(connections.viewers)],
];

const browserRows = (session: SessionResponse): Row[] => [
  ['Kind', wordsOf(session.kind)],
  ['Page size', `${session.viewport.width} × ${session.viewport.height} at ${session.viewport.device_scale_factor}`],
  ['User agent', session.user_agent],
  ['Locale', session.locale ?? 'as the browser has it'],
  ['Time zone', session.timezone ?? 'as the browser has it'],
  ['Isolation', isolationText(session.isolation)],
  ['From the warm pool', session.warm ? 'Yes' : 'No'],
];

const networkRows = ({ region, egress, proxy, block_ads: blocksAds, allowed_domains: domains, captcha }: SessionResponse): Row[] => [
  ['Region', region],
  ['Traffic leaves', egress.type && wordsOf(egress.type)],
  ['Address', egress.ip],
  ['Country', egress.country],
  ['Rotations', numberText(egress.rotations)],
  ['Proxy', proxy && [wordsOf(proxy.type), proxy.server].filter(Boolean).join(', ')],
  ['Blocks ads', blocksAds ? 'Yes' : 'No'],
  ['Only these hosts', domains?.join(', ') ?? null],
  ['Captchas', wordsOf(captcha.mode)],
];
