/** People who look on, or take over: live view, hand-over, recordings. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { RecordingResponse, ViewTokenResponse } from '@berth/sdk';
import type { Action, Context } from '../context.ts';
import { CommandError, exitCodes, usageError } from '../failures.ts';
import { openInBrowser } from '../open-in-browser.ts';
import { renderTable, report } from '../output.ts';
import { runSteps } from './steps.ts';

async function createLink(context: Context, scope: 'view' | 'control' | 'recording'): Promise<ViewTokenResponse & { url: string }> {
  const berth = await context.berth();
  const seconds = context.options.number('ttl');
  const link = await berth.sessions.liveView(
    context.session().id,
    { scope, ...(seconds === undefined ? {} : { ttl_seconds: seconds }) },
    { signal: context.signal },
  );
  if (link.url === null) throw new CommandError(exitCodes.failed, 'no_link', 'The service gave no link.');
  return { ...link, url: link.url };
}

/** A program reads the link; a person gets it opened, too. */
function show(context: Context, url: string): void {
  if (context.output.isTerminal && !context.options.flag('noOpen')) openInBrowser(url);
}

export const watch: Action = async (context) => {
  const { url, scope, expires_at } = await createLink(context, context.options.flag('control') ? 'control' : 'view');
  show(context, url);
  return report({ url, scope, expires_at }, (seen) => seen.url);
};

/** Gives the browser to a person, and comes back when that is done, if there is a way to see it. */
export const handOver: Action = async (context) => {
  const { options } = context;
  const reason = context.args.join(' ');
  const { url, expires_at } = await createLink(context, 'control');
  const until = { text: options.text('untilText'), url: options.text('untilUrl') };
  const isAwaited = until.text !== undefined || until.url !== undefined;
  if (isAwaited || context.output.isTerminal) process.stderr.write(`${reason === '' ? 'Please take over' : reason}: ${url}\n`);
  show(context, url);
  if (isAwaited)
    await runSteps(context, [{ type: 'wait', ...Object.fromEntries(Object.entries(until).filter(([, value]) => value !== undefined)) }]);
  else if (context.output.isTerminal) await untilEnter(context.signal);
  const status = isAwaited || context.output.isTerminal ? 'done' : 'waiting';
  return report({ status, reason, url, expires_at }, (seen) => seen.status);
};

async function untilEnter(signal: AbortSignal): Promise<void> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    await lines.question('Press Enter when it is done. ', { signal });
  } finally {
    lines.close();
  }
}

export const record: Action = async (context) => {
  const [word, path] = context.args;
  const berth = await context.berth();
  const { id } = context.session();
  const recordings = await berth.sessions.recordings.list(id, { signal: context.signal });
  if (word === 'link') {
    const { url, expires_at } = await createLink(context, 'recording');
    show(context, url);
    return report({ url, expires_at }, (seen) => seen.url);
  }
  if (word === undefined || word === 'list') return report(recordings, renderRecordings);
  if (word !== 'save') throw usageError(`record knows list, link and save, not ${JSON.stringify(word)}.`);
  const [latest] = recordings;
  if (!latest)
    throw new CommandError(
      exitCodes.notFound,
      'no_recording',
      'The session has no recording.',
      'Record from its start: berth open --new --record URL',
    );
  const asset = context.options.text('asset') ?? 'video.mp4';
  const response = await berth.sessions.recordings.asset(id, latest.rec_id, asset, { signal: context.signal });
  const file = path ?? asset.replace(/^.*\//, '');
  // The body is read once, and never held as a whole: a recording may have gigabytes.
  await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(file));
  return report({ path: file, rec_id: latest.rec_id, asset }, (seen) => seen.path);
};

const renderRecordings = (items: RecordingResponse[], paint: Parameters<typeof renderTable>[2]): string =>
  renderTable(
    items,
    [
      ['recording', (row) => row.rec_id],
      ['status', (row) => row.status],
      ['started', (row) => row.started_at],
      ['seconds', (row) => Math.round(row.duration_ms / 1000)],
      ['bytes', (row) => row.size_bytes],
    ],
    paint,
  );
