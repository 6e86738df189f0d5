/** The work of owners who mean no harm: everything that the service offers, at an easy pace. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DevTools } from '../../peers/devtools.ts';
import { Viewer } from '../../view/viewer.ts';
import { type Owner, type Session, authorizationOf, call, createSession, endSession } from './owner.ts';

export interface Sample {
  operation: string;
  atMs: number;
  ms: number;
  /** Why it failed. */
  error: string | null;
}

type Step = (operation: string, work: () => Promise<unknown>) => Promise<void>;
/** One turn of a kind of work, which it makes again and again. */
type Turn = (step: Step) => Promise<void>;

interface Work {
  pauseMs: number;
  turn: Turn;
  close?: () => Promise<unknown>;
}

const recordedMs = 10_000;

const reads = (owner: Owner): Work => ({
  pauseMs: 250,
  turn: (step) => step('GET /v1/usage', () => call(owner, 'GET', '/v1/usage')),
});

async function drives(owner: Owner, page: string): Promise<Work> {
  const session = await createSession(owner);
  const path = `/v1/session/${session.session_id}`;
  return {
    pauseMs: 1500,
    turn: async (step) => {
      await step('navigate', () => call(owner, 'POST', `${path}/navigate`, { url: page }));
      await step('content', () => call(owner, 'GET', `${path}/content?format=markdown`));
    },
    close: () => endSession(owner, session),
  };
}

const fetches = (owner: Owner, page: string, mode: 'http' | 'browser', pauseMs: number): Work => ({
  pauseMs,
  turn: (step) => step(`fetch, ${mode}`, () => call(owner, 'POST', '/v1/fetch', { url: page, mode, formats: ['markdown'] })),
});

async function clients(owner: Owner, page: string): Promise<Work> {
  const session = await createSession(owner);
  await call(owner, 'POST', `/v1/session/${session.session_id}/navigate`, { url: page });
  const client = await DevTools.connect(session.cdp_url, authorizationOf(owner));
  return {
    pauseMs: 250,
    turn: (step) => step('CDP evaluate', () => client.evaluate('document.title')),
    close: async () => {
      await client.close();
      await endSession(owner, session);
    },
  };
}

async function watches(owner: Owner, page: string): Promise<Work> {
  const session = await createSession(owner);
  const path = `/v1/session/${session.session_id}`;
  await call(owner, 'POST', `${path}/navigate`, { url: page });
  return {
    pauseMs: 3000,
    turn: async (step) => {
      const { token } = (await call(owner, 'POST', `${path}/view-token`, { scope: 'view' })) as { token: string };
      const viewer = await Viewer.open(`${owner.url.replace(/^http/, 'ws')}${path}/live-view/socket?token=${token}`);
      await step('live view, first frame', () => viewer.firstFrameMs());
      await viewer.close();
    },
    close: () => endSession(owner, session),
  };
}

/** A recorded session from its creation to its end. */
const records = (owner: Owner, page: string): Work => ({
  pauseMs: 1000,
  turn: async (step) => {
    let session: Session | null = null;
    await step('create', async () => (session = await createSession(owner, { record: true })));
    if (session === null) return;
    const path = `/v1/session/${(session as Session).session_id}`;
    await step('navigate', () => call(owner, 'POST', `${path}/navigate`, { url: page }));
    await sleep(recordedMs);
    await step('delete', () => call(owner, 'DELETE', path));
  },
});

/** Runs until the signal, and reports each call. A call that fails does not stop the others. */
export async function workUntil(
  signal: AbortSignal,
  owners: readonly [Owner, Owner],
  page: string,
  report: (sample: Sample) => void,
): Promise<void> {
  const [first, second] = owners;
  const all: Work[] = [
    reads(first),
    reads(second),
    await drives(first, page),
    await clients(second, page),
    await watches(first, page),
    fetches(second, page, 'http', 1000),
    fetches(second, page, 'browser', 4000),
    records(second, page),
  ];
  const step: Step = async (operation, work) => {
    const startedMs = performance.now();
    const error = await work().then(
      () => null,
      (failure: Error) => (failure.cause instanceof Error ? `${String(failure)}: ${failure.cause.message}` : String(failure)),
    );
    report({ operation, atMs: startedMs, ms: performance.now() - startedMs, error });
  };
  await Promise.all(all.map((work) => repeat(work, step, signal)));
  for (const { close } of all) await close?.();
}

async function repeat({ pauseMs, turn }: Work, step: Step, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // What is outside a step may fail too, such as the address of a live view.
    await turn(step).catch((error: unknown) => step('other', () => Promise.reject(error)));
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
