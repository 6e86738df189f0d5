import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CreateSessionRequest, type SessionResponse } from '@berth/contract';
import { compact } from '../../../ui/form/json-schema.ts';
import { missingText, optionsOf, untold } from './run-again.ts';

const session = {
  name: 'nightly',
  kind: 'headless',
  region: 'local',
  timeout_seconds: 900,
  idle_timeout_seconds: 300,
  keep_alive: true,
  viewport: { width: 1280, height: 720, device_scale_factor: 1 },
  locale: null,
  timezone: 'Europe/Rome',
  block_ads: false,
  allowed_domains: ['shop.example'],
  profile: { name: 'shop', save_changes: true, save_status: 'saved' },
  captcha: { mode: 'detect', provider: null },
  metadata: { job: '7' },
  proxy: null,
  recording: { enabled: true, rec_id: 'rec_1', status: 'complete' },
  start_navigation: { url: 'https://shop.example/', status: 'ok', message: null },
} as unknown as SessionResponse;

it('the options of a session are a request that the service takes', () => {
  const body = compact(optionsOf(session)) as Record<string, unknown>;
  const { start_url: url, record, profile, locale } = CreateSessionRequest.parse(body);
  assert.deepEqual([url, record, profile?.name, locale ?? null], ['https://shop.example/', true, 'shop', null]);
  assert.match(missingText(session), /^Not carried over.*user agent.*HAR/);
});

it('the options of a session say that a proxy of one’s own has to be entered again', () => {
  const proxied = {
    ...session,
    proxy: { type: 'external', server: 'http://proxy.example:3128', country: null, rotate: 'on_request', bypass: [] },
  };
  assert.equal(optionsOf(proxied as SessionResponse)['proxy'], undefined);
  assert.match(missingText(proxied as SessionResponse), /^Your proxy .*enter it again.*Not carried over/);
});

it('each option of a session is carried over, or named among those that are not', () => {
  assert.deepEqual(
    [...Object.keys(optionsOf(session)), ...Object.keys(untold)].toSorted(),
    Object.keys(CreateSessionRequest.shape).toSorted(),
  );
});
