/** What every client of the API promises: the cases of `clients/cases.json`, against a server that answers as they say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { StandIn, type RecordedRequest, type ScriptedReply } from '../testing/stand-in.ts';
import { Berth, BerthError, type JobResponse } from './sdk.ts';

interface Case {
  name: string;
  client?: { api_key?: null; base_path?: string };
  replies: ScriptedReply[];
  call: {
    method: string;
    args: unknown[];
    options?: { max_retries?: number; timeout_seconds?: number; idempotency_key?: string; last_event_id?: number };
    how?: 'handle' | 'items' | 'page' | 'events' | 'file' | 'with_response' | 'job';
    take?: number;
  };
  cancel?: 'start' | 'request' | 'wait';
  requests: { method: string; path: string; headers?: Record<string, string | null>; body?: unknown }[];
  waits?: [number, number][];
  result: Record<string, unknown>;
}

const { cases } = JSON.parse(readFileSync(new URL('../../../clients/cases.json', import.meta.url), 'utf8')) as { cases: Case[] };

let service: StandIn;
before(async () => (service = await StandIn.start()));
after(() => service.stop());

for (const one of cases) {
  test(one.name, async () => {
    service.script(one.replies);
    const cancelling = new AbortController();
    const waits: number[] = [];
    const cancelAt = (moment: string): void => (one.cancel === moment ? cancelling.abort() : undefined);
    service.onRequest = () => cancelAt('request');
    const berth = new Berth({
      baseUrl: `${service.url}${one.client?.base_path ?? ''}`,
      apiKey: one.client?.api_key === null ? null : 'test-key',
      adminKey: 'test-admin-key',
      wait: async (milliseconds) => {
        waits.push(milliseconds / 1000);
        cancelAt('wait');
      },
    });
    cancelAt('start');
    const result = await run(berth, one, cancelling.signal);
    assertSubset(result, one.result);
    assertRequests(one.requests);
    if (!one.waits) return;
    assert.equal(waits.length, one.waits.length, `waited ${waits.join(', ')}`);
    for (const [index, [least, most]] of one.waits.entries())
      assert.ok((waits[index] ?? NaN) >= least && (waits[index] ?? NaN) <= most, `wait ${index} of ${waits[index]} s`);
  });
}

/** The outcome in the form of the cases. */
async function run(berth: Berth, one: Case, signal: AbortSignal): Promise<Record<string, unknown>> {
  const outcome: Record<string, unknown> = {};
  try {
    await read(call(berth, one, signal, outcome), one, outcome);
  } catch (error) {
    if (error instanceof BerthError) outcome['error'] = wireError(error);
    else if (error instanceof TypeError) outcome['refused'] = true;
    else if (error === signal.reason) outcome['cancelled'] = true;
    else throw error;
  }
  return outcome;
}

function call(berth: Berth, { call: { method, args, options = {}, how } }: Case, signal: AbortSignal, outcome: Record<string, unknown>) {
  const path = method.split('.');
  const group = path
    .slice(0, -1)
    .reduce((inner, name) => inner[name] as Record<string, unknown>, { ...berth, session: berth.session('ses_1') } as unknown as Record<
      string,
      unknown
    >);
  const called = (group[path.at(-1) ?? ''] as (...all: unknown[]) => unknown).bind(group);
  const more = {
    signal,
    ...(options.max_retries === undefined ? {} : { maxRetries: options.max_retries }),
    ...(options.timeout_seconds === undefined ? {} : { timeoutMs: options.timeout_seconds * 1000 }),
    ...(options.idempotency_key === undefined ? {} : { idempotencyKey: options.idempotency_key }),
    ...(options.last_event_id === undefined ? {} : { lastEventId: options.last_event_id }),
  };
  const seen: number[] = [];
  if (how === 'job') {
    outcome['progress'] = seen;
    return called(args[0], { ...more, onProgress: (job: JobResponse) => void seen.push(job.progress.step) });
  }
  if (method === 'raw.request') return called(args[0], args[1], { ...(args[2] as object), ...more });
  // A list without parameters has its options behind them all the same.
  return method === 'sessions.list' && args.length === 0 ? called(undefined, more) : called(...args, more);
}

async function read(pending: unknown, { call: { how, take = Infinity } }: Case, outcome: Record<string, unknown>): Promise<void> {
  if (how === 'items' || how === 'events') {
    const taken: unknown[] = [];
    outcome[how] = taken;
    for await (const item of pending as AsyncIterable<unknown>) if (taken.push(item) >= take) break;
    return;
  }
  if (how === 'with_response') {
    const { data, response, requestId } = await (pending as ReturnType<Berth['health']>).withResponse();
    Object.assign(outcome, { value: data, status: response.status, request_id: requestId });
    return;
  }
  const value = await (pending as Promise<unknown>);
  if (how === 'page') {
    const { items, nextCursor } = value as { items: unknown; nextCursor: unknown };
    Object.assign(outcome, { items, next_cursor: nextCursor });
  } else if (how === 'handle') outcome['value'] = (value as { data: unknown }).data;
  else outcome['value'] = how === 'file' ? await (value as Response).text() : (value ?? null);
}

const wireError = ({ code, message, status, requestId, retryable, retryAfterSeconds, details, issues }: BerthError) => ({
  code,
  message,
  status,
  request_id: requestId,
  retryable,
  retry_after_seconds: retryAfterSeconds,
  details,
  issues,
});

/** An error may have more fields than a case names; everything else is as it says. */
function assertSubset(result: Record<string, unknown>, expected: Record<string, unknown>): void {
  const { error, ...others } = result;
  const { error: expectedError, ...expectedOthers } = expected;
  const relevant = Object.fromEntries(Object.keys(expectedOthers).map((name) => [name, others[name]]));
  assert.deepEqual(relevant, expectedOthers, JSON.stringify(result));
  if (!expectedError) assert.equal(error, undefined);
  else assert.partialDeepStrictEqual(error, expectedError);
}

function assertRequests(expected: Case['requests']): void {
  const sent = service.requests;
  const lines = (list: readonly { method: string; path: string }[]): string[] =>
    list.map(({ method, path }) => `${method} ${sorted(path)}`);
  assert.deepEqual(lines(sent), lines(expected));
  for (const [index, { headers = {}, body }] of expected.entries()) {
    const request = sent[index] as RecordedRequest;
    for (const [name, value] of Object.entries(headers)) assertHeader(request, name, value);
    if (body !== undefined) assert.deepEqual(JSON.parse(request.body.toString()), body);
  }
}

/** The path with the parameters of its query in order of their names. */
function sorted(path: string): string {
  const [before = '', query = ''] = path.split('?');
  return `${before}?${query.split('&').toSorted().join('&')}`;
}

function assertHeader({ headers }: RecordedRequest, name: string, value: string | null): void {
  if (value === null) assert.equal(headers[name], undefined, name);
  else if (value !== '$same') assert.equal(headers[name], value, name);
  else {
    assert.match(String(headers[name]), /^.{16,}$/);
    assert.equal(headers[name], service.requests[0]?.headers[name], name);
  }
}
