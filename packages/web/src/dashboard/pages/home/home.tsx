import { useSignal } from '@preact/signals';
import type { JobItemResponse, SessionResponse, UsageResponse } from '@berth/contract';
import { useState } from 'preact/hooks';
import { call, callPage } from '../../api.ts';
import { credential, isKeyOfLink, keyExpiresAt } from '../../sign-in/credentials.ts';
import { hrefOf } from '../../href.ts';
import { useLive } from '../../live.ts';
import { CopyButton } from '../../ui/values/copy.tsx';
import { Icon } from '../../ui/icons.tsx';
import { maskedSecret } from '../../ui/values/masked-secret.ts';
import { scrollable } from '../../ui/scrollable.ts';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { dateTimeText } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { nearlyAll, usageByAxis, axisTitles } from '../account/usage-series.ts';
import { valueTexts } from '../account/usage-texts.ts';
import { reasonText } from '../sessions/reasons.ts';
import { liveStatuses, nameOf } from '../sessions/session-state.tsx';
import { Tile } from '../sessions/tile.tsx';
import { clientsOf, type Step } from './first-steps.ts';
import '../sessions/sessions.css';
import './home.css';

const refreshMs = 5000;
const tilesMax = 6;
const failuresMax = 5;

/** Where a customer begins: the first commands, what runs now, what is used up, and what failed last. */
export default function Home() {
  const running = useLive((signal) => callPage('listSessions', { query: { status: liveStatuses, limit: tilesMax }, signal }), {
    everyMs: refreshMs,
  });
  const usage = useLive((signal) => call('getUsage', { signal }), { everyMs: 2 * refreshMs });
  const failures = useLive(readFailures, { everyMs: 2 * refreshMs });
  return (
    <div class="page">
      <div class="page-head">
        <h1>Home</h1>
        <a class="button button-main" href={hrefOf('/sessions/new')}>
          <Icon name="plus" />
          Create a session
        </a>
      </div>
      {usage.data && <FirstSteps isOpenAtFirst={usage.data.usage.sessions === 0} />}
      <section class="page-part" aria-labelledby="running">
        <div class="page-head">
          <h2 id="running">Running now</h2>
          <a href={hrefOf('/sessions')}>All sessions</a>
        </div>
        <Loaded live={running} loading="Loading sessions">
          {({ items }) => <Running sessions={items} />}
        </Loaded>
      </section>
      <div class="columns">
        <section class="panel" aria-labelledby="usage">
          <div class="page-head">
            <h2 id="usage">This month</h2>
            <a href={hrefOf('/usage')}>Usage by day</a>
          </div>
          <Loaded live={usage} loading="Reading your usage">
            {(loaded) => <Limits usage={loaded} />}
          </Loaded>
        </section>
        <section class="panel" aria-labelledby="failures">
          <div class="page-head">
            <h2 id="failures">Failed last</h2>
            <a href={hrefOf('/jobs?status=blocked,error')}>Failed jobs</a>
          </div>
          <Loaded live={failures} loading="Looking for failures">
            {(loaded) => <Failures failures={loaded} />}
          </Loaded>
        </section>
      </div>
    </div>
  );
}

/** Open before the first session of the month; afterwards one knows them. It does not close under somebody who reads it. */
function FirstSteps({ isOpenAtFirst }: { isOpenAtFirst: boolean }) {
  const [isOpen] = useState(isOpenAtFirst);
  const current = useSignal('curl');
  const key = credential('key') ?? '';
  const expiresAt = keyExpiresAt();
  const options = { origin: location.origin, url: 'https://example.com/' };
  const shown = clientsOf({ ...options, key: maskedSecret(key) });
  const client = shown.find(({ id }) => id === current.value) ?? shown[0];
  const copied = clientsOf({ ...options, key }).find(({ id }) => id === client?.id);
  return (
    <details class="panel first-steps" open={isOpen}>
      <summary>
        <h2>Three commands to your first browser</h2>
      </summary>
      <Tabs label="Clients" tabs={shown} current={current.value} onChange={(id) => (current.value = id)}>
        {expiresAt !== null && (
          <p class="hint">
            The key of this tab expires on {dateTimeText(expiresAt)}
            {isKeyOfLink() ? ', or when you sign out' : ''}: the commands stop working then. For a program that has to run longer, the
            operator or a person with a login token creates a key that lasts.
          </p>
        )}
        <ol class="first-steps-list">
          {client?.steps.map((step, index) => (
            <Command key={step.title} step={step} copied={copied?.steps[index]?.command ?? step.command} />
          ))}
        </ol>
        <p class="hint">
          On the screen the key is shortened; a copied command has the whole key.{' '}
          {client && <a href={client.guide}>How to install and use it: {client.title}</a>}
        </p>
      </Tabs>
    </details>
  );
}

const Command = ({ step: { title, text, command }, copied }: { step: Step; copied: string }) => (
  <li>
    <h3>{title}</h3>
    <p class="muted">{text}</p>
    <div class="code-block">
      <pre {...scrollable(title)}>
        <code>{command}</code>
      </pre>
      <CopyButton text={copied} what={`the command “${title}”`} />
    </div>
  </li>
);

const Running = ({ sessions }: { sessions: readonly SessionResponse[] }) =>
  sessions.length === 0 ? (
    <Empty icon="window" title="No session is running">
      <p>A session that you start by a command or with “Create a session” appears here with a live picture.</p>
    </Empty>
  ) : (
    <ul class="wall">
      {sessions.map((session) => (
        <Tile key={session.session_id} session={session} />
      ))}
    </ul>
  );

/** A bar for each limit of the plan; without limits the figures alone. */
const Limits = ({ usage }: { usage: UsageResponse }) => (
  <>
    <dl class="limits">
      {usageByAxis(usage, Date.now()).map(({ axis, used, limit, share }) => (
        <div key={axis}>
          <dt>{axisTitles[axis]}</dt>
          <dd>
            {valueTexts[axis](used)}
            {limit !== null && limit > 0 && <span class="muted"> of {valueTexts[axis](limit)}</span>}
          </dd>
          {limit !== null && limit > 0 && (
            <div class="meter" data-tone={share === null || share < nearlyAll ? 'good' : share < 1 ? 'warn' : 'bad'}>
              <div style={{ width: `${Math.min(100, (100 * used) / limit)}%` }} />
            </div>
          )}
        </div>
      ))}
    </dl>
    <p class="hint">
      Plan {usage.tier}. {usage.enforced ? '' : 'Nothing is limited. '}Up to {usage.concurrency_limit}{' '}
      {usage.concurrency_limit === 1 ? 'session' : 'sessions'} at once.
    </p>
  </>
);

interface Failure {
  id: string;
  href: string;
  name: string;
  /** Why, in a sentence. */
  reason: string;
  at: string;
}

/** Sessions and jobs that failed, newest first. */
async function readFailures(signal: AbortSignal): Promise<readonly Failure[]> {
  const [sessions, jobs] = await Promise.all([
    callPage('listSessions', { query: { status: 'failed', limit: failuresMax }, signal }),
    callPage('listJobs', { query: { status: 'error', limit: failuresMax }, signal }),
  ]);
  return [...sessions.items.map(failureOfSession), ...jobs.items.map(failureOfJob)]
    .toSorted((one, other) => other.at.localeCompare(one.at))
    .slice(0, failuresMax);
}

const failureOfSession = (session: SessionResponse): Failure => ({
  id: session.session_id,
  href: hrefOf(`/sessions/${session.session_id}`),
  name: nameOf(session),
  reason: reasonText(session.ended_reason),
  at: session.ended_at ?? session.created_at,
});

const failureOfJob = ({ job_id: id, kind, target, error, created_at: at }: JobItemResponse): Failure => ({
  id,
  href: hrefOf(`/jobs/${id}`),
  name: `${kind} ${target ?? ''}`.trim(),
  reason: error?.message ?? 'The job failed.',
  at,
});

const Failures = ({ failures }: { failures: readonly Failure[] }) =>
  failures.length === 0 ? (
    <p class="muted">No session and no job has failed lately.</p>
  ) : (
    <ul class="failures">
      {failures.map(({ id, href, name, reason, at }) => (
        <li key={id}>
          <a href={href}>
            <bdi>{name}</bdi>
          </a>
          <span class="muted">
            <Time at={at} />
          </span>
          <bdi class="failure-reason">{reason}</bdi>
        </li>
      ))}
    </ul>
  );
