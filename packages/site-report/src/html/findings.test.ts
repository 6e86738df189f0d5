import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toFindings } from './findings.ts';
import type { ReportView } from './view.ts';

/** The fields that findings are made of. */
const sample = {
  site: {
    technologies: ['React', 'nginx', 'A', 'B', 'C', 'D', 'E'].map((name) => ({ name })),
    rendering: { type: 'csr' },
    cdn: { name: 'cloudflare' },
    server: 'nginx',
  },
  api: {
    summary: { endpoints: 3, first_party: 2, graphql_operations: 1, websockets: 0, event_streams: 0, total_calls: 9 },
    specs_found: [{ type: 'openapi' }],
  },
  auth: {
    required_for_page: true,
    mechanisms: [
      { type: 'bearer_jwt', name: 'authorization' },
      { type: 'none', name: null },
    ],
    login_forms: [{}],
    sso: [{ provider: 'google' }],
  },
  automation: {
    recommended_mode: 'api_replay',
    reason: 'JSON endpoints have the content.',
    anti_automation: [{ vendor: 'datadome', challenge_seen: true }],
    robots_note: null,
  },
  assets: { summary: { requests: 12, transfer_bytes: 34_000, failed: 1, timings: { lcp_ms: 812.4, ratings: { lcp: 'good' } } } },
  third_parties: [{ entity: 'Google' }],
  cookies: [{ first_party: true }, { first_party: false }],
  security: {
    score_notes: [
      { level: 'warning', text: 'No HSTS.' },
      { level: 'info', text: 'Fine.' },
    ],
  },
  redactions: { headers: 3, body_keys: 2, body_values: 1 },
  limits: { truncated: true, reason: 'max_requests' },
} as unknown as ReportView;

test('the findings of an inspection are the main ones of each part of the report', () => {
  assert.deepEqual(
    toFindings(sample).map(({ topic, text, tone }) => `${topic} ${tone}: ${text}`),
    [
      'Site plain: Server: nginx. Behind cloudflare. The text is made by scripts in the browser.',
      'Built with plain: React, nginx, A, B, C, D and 1 other.',
      'API plain: 3 endpoints, 2 of the site itself; 9 calls; 1 GraphQL operation.',
      'API good: The site publishes its own description: openapi.',
      'Sign-in warn: The page needs a sign-in.',
      'Sign-in plain: Requests carry bearer jwt (authorization).',
      'Sign-in plain: 1 sign-in form.',
      'Sign-in plain: Sign-in by google.',
      'Automation plain: Call its API instead of reading pages. JSON endpoints have the content.',
      'Automation warn: Protected by datadome, which showed a challenge.',
      'Load good: 12 requests, 34 kB. Largest paint after 812 ms.',
      'Load warn: 1 request failed.',
      'Third parties plain: 1 third party: Google.',
      'Cookies plain: 2 cookies, 1 of third parties.',
      'Security warn: No HSTS.',
      'Secrets good: Replaced in 6 places before anything was kept.',
      'Limits warn: Parts were left out: max_requests.',
    ],
  );
});

test('the findings of an inspection say nothing about parts that were not requested', () => {
  const none = { site: null, api: null, auth: null, assets: null, third_parties: null, cookies: null, security: null, automation: null };
  const quiet = { redactions: { headers: 0, body_keys: 0, body_values: 0 }, limits: { ...sample.limits, truncated: false } };
  assert.deepEqual(toFindings({ ...sample, ...none, ...quiet }), []);
});

test('the findings of an inspection show five warnings about security, and count the others', () => {
  const security = { score_notes: Array.from({ length: 7 }, (_, n) => ({ level: 'warning', text: `Warning ${n}.` })) };
  const texts = toFindings({ ...sample, security } as ReportView).filter(({ topic }) => topic === 'Security');
  assert.deepEqual([texts.length, texts.at(-1)?.text], [6, '2 other warnings in its section.']);
});

test('the findings of an inspection have the singular of one', () => {
  const api = { ...sample.api, summary: { ...sample.api?.summary, endpoints: 1, first_party: 1, graphql_operations: 0, total_calls: 1 } };
  const redactions = { headers: 1, body_keys: 0, body_values: 0 };
  const texts = toFindings({ ...sample, api, redactions } as ReportView).map(({ text }) => text);
  assert.ok(texts.includes('1 endpoint of the site itself; 1 call.'), texts.join('\n'));
  assert.ok(texts.includes('Replaced in 1 place before anything was kept.'), texts.join('\n'));
});
