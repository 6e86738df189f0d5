/** Attempts and blocks for tests, with defaults. */
import type { Block, BlockType } from '@berth/contract';
import type { SiteAttempt } from '../src/work/selfheal/attempt.ts';

export const blockOf = (type: BlockType, confidence: Block['confidence'] = 'high'): Block => ({
  blocked: true,
  type,
  vendor: 'cloudflare',
  confidence,
  evidence: [{ kind: 'header', id: 'cf-mitigated', value_redacted: 'challenge' }],
  signatures_version: '1',
  challenge_waited_ms: 0,
  retry_after_seconds: null,
});

/** An attempt; by default a success of `direct` on example.com in 100 ms. `blocked` has a block of high confidence. */
export const attemptOf = (overrides: Partial<SiteAttempt> = {}): SiteAttempt => ({
  owner: 'anna',
  domain: 'example.com',
  url: 'https://www.example.com/page',
  task: 'fetch',
  jobId: null,
  sessionId: null,
  region: 'local',
  egress: { type: 'direct', country: null, ip: null },
  kind: 'chromium',
  n: 1,
  strategy: 'direct',
  startedAt: new Date('2026-01-01T00:00:00.000Z'),
  durationMs: 100,
  credits: 0.01,
  outcome: 'ok',
  reason: null,
  block: overrides.outcome === 'blocked' ? blockOf('challenge') : null,
  statusCode: overrides.outcome === 'blocked' ? 403 : 200,
  ...overrides,
});
