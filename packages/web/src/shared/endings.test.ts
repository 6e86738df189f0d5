import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewCloseCodes } from '@berth/contract/live-view';
import { verdictOfClose, verdictOfReason, verdictOfStatus, type Verdict } from './endings.ts';

const titleOf = (verdict: Verdict): string => (typeof verdict === 'object' ? verdict.title : String(verdict));
const textOf = (verdict: Verdict): string => (typeof verdict === 'object' ? verdict.text : String(verdict));

test('connects again after what passes, and after nothing else', () => {
  assert.equal(verdictOfClose(viewCloseCodes.service_restart), 'again');
  for (const code of [1000, 1001, 1006, 1011]) assert.equal(verdictOfClose(code), undefined, String(code));
  const { service_restart: _, ...final } = viewCloseCodes;
  for (const [name, code] of Object.entries(final)) assert.equal(typeof verdictOfClose(code), 'object', name);
  for (const reason of ['service_restart', 'not_watching']) assert.equal(verdictOfReason(reason), 'again', reason);
});

test('says why the session ended, and says reasons that it does not know as they are', () => {
  assert.match(textOf(verdictOfReason('idle_timeout')), /Nothing happened/);
  assert.equal(textOf(verdictOfReason('moved_away')), 'Reason: moved_away.');
  assert.equal(textOf(verdictOfReason('constructor')), 'Reason: constructor.');
  assert.match(textOf(verdictOfReason('session_ended')), /nothing more/);
});

test('tells a link that was taken back from a session that is over', () => {
  assert.match(titleOf(verdictOfReason('unauthorized')), /no longer valid/);
  assert.match(titleOf(verdictOfClose(viewCloseCodes.unauthorized)), /no longer valid/);
  assert.match(titleOf(verdictOfReason('requested')), /has ended/);
});

test('takes a link for dead only when the service says so', () => {
  for (const status of [401, 403]) assert.match(titleOf(verdictOfStatus(status)), /no longer valid/);
  for (const status of [404, 410]) assert.match(titleOf(verdictOfStatus(status)), /ended/);
  for (const status of [200, 429, 500, 503]) assert.equal(verdictOfStatus(status), undefined);
});
