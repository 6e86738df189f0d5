import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewCloseCodes } from '@berth/contract/live-view';
import { decisionForCloseCode, decisionForReason, decisionForStatus, type CloseDecision } from './endings.ts';

const titleOf = (decision: CloseDecision): string => (typeof decision === 'object' ? decision.title : String(decision));
const textOf = (decision: CloseDecision): string => (typeof decision === 'object' ? decision.text : String(decision));

test('a viewer reconnects after temporary closes only', () => {
  assert.equal(decisionForCloseCode(viewCloseCodes.service_restart), 'reconnect');
  for (const code of [1000, 1001, 1006, 1011]) assert.equal(decisionForCloseCode(code), undefined, String(code));
  const { service_restart: _, ...final } = viewCloseCodes;
  for (const [name, code] of Object.entries(final)) assert.equal(typeof decisionForCloseCode(code), 'object', name);
  for (const reason of ['service_restart', 'not_watching']) assert.equal(decisionForReason(reason), 'reconnect', reason);
});

test('the end of a session is shown with its reason, and unknown reasons as they are', () => {
  assert.match(textOf(decisionForReason('idle_timeout')), /idle for too long/);
  assert.equal(textOf(decisionForReason('moved_away')), 'Reason: moved_away.');
  assert.equal(textOf(decisionForReason('constructor')), 'Reason: constructor.');
  assert.match(textOf(decisionForReason('session_ended')), /nothing more/);
  assert.match(textOf(decisionForCloseCode(viewCloseCodes.session_ended, 'idle_timeout')), /idle for too long/);
});

test('a revoked link is distinguished from an ended session', () => {
  for (const decision of [decisionForReason('unauthorized'), decisionForCloseCode(viewCloseCodes.unauthorized)]) {
    assert.match(titleOf(decision), /was revoked/);
    assert.deepEqual([typeof decision === 'object' && decision.label, /ended/.test(textOf(decision))], ['Revoked', false]);
  }
  assert.match(titleOf(decisionForReason('requested')), /has ended/);
});

test('a link is treated as invalid only when the service says so', () => {
  for (const status of [401, 403]) assert.match(titleOf(decisionForStatus(status)), /no longer valid/);
  for (const status of [404, 410]) assert.match(titleOf(decisionForStatus(status)), /ended/);
  for (const status of [200, 429, 500, 503]) assert.equal(decisionForStatus(status), undefined);
});
