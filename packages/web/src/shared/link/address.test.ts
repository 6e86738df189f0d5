import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionIdIn, socketAddress } from './address.ts';

test('the session is found in the path of each page', () => {
  assert.equal(sessionIdIn('/v1/session/ses_1/live-view'), 'ses_1');
  assert.equal(sessionIdIn('/v1/session/ses_1/recordings/rec_2/index.html'), 'ses_1');
  assert.equal(sessionIdIn('/v1/session/ses_1'), '');
  assert.equal(sessionIdIn('/docs'), '');
});

test('a page that came encrypted asks for an encrypted socket', () => {
  assert.equal(socketAddress({ protocol: 'https:', host: 'berth.example' }, '/a'), 'wss://berth.example/a');
  assert.equal(socketAddress({ protocol: 'http:', host: '127.0.0.1:8080' }, '/a'), 'ws://127.0.0.1:8080/a');
});
