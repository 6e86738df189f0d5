-- Rows as a service with the migrations up to 0007 wrote them, without the fields that came later.
INSERT INTO owners (owner_id, tier, created_at) VALUES
  ('acme', 'developer', '2026-10-01T08:00:00Z'),
  ('local', 'free', '2026-10-01T08:00:00Z');

INSERT INTO api_keys (key_id, owner_id, name, digest, last4, created_at, created_by) VALUES
  ('key_aaaaaaaaaaaaaaaaaaaaaaaa', 'acme', 'ci', sha256(convert_to('KEY_OF_ACME', 'UTF8')), right('KEY_OF_ACME', 4), '2026-10-01T08:00:00Z', 'admin');

INSERT INTO workers (worker_id, region, url, started_at, heartbeat_at) VALUES
  ('wrk_bbbbbbbbbbbbbbbbbbbbbbbb', 'local', 'http://127.0.0.1:8080', '2026-10-01T08:00:00Z', '2026-10-02T08:00:00Z');

INSERT INTO sessions (session_id, owner_id, key_id, worker_id, status, ended_reason, region, name, settings, last_seen, timeout_seconds,
  idle_timeout_seconds, created_at, started_at, last_activity_at, expires_at, ended_at)
SELECT id, 'acme', 'key_aaaaaaaaaaaaaaaaaaaaaaaa', 'wrk_bbbbbbbbbbbbbbbbbbbbbbbb', status, reason, 'local', name,
  '{"kind":"headless","keep_alive":false,"viewport":{"width":1280,"height":720,"device_scale_factor":1},"user_agent":null,"locale":null,"timezone":null,"proxy":null,"tab_limit":10}',
  '{"current_url":"https://example.com/","title":"Example","egress":{"ip":null,"country":null,"rotations":0,"rotated_at":null},"tabs_open":1,"usage":{"actions":2,"browser_seconds":30,"egress_bytes":4000},"isolation":"process","runtime":"process","start_navigation":null,"warm":true,"vm_id":null}',
  600, 60, now() - interval '10 minutes', now() - interval '10 minutes', now() - interval '9 minutes', now() + interval '1 hour', ended
FROM (VALUES
  ('ses_cccccccccccccccccccccccc', 'ended', 'requested', 'finished', now() - interval '9 minutes'),
  ('ses_dddddddddddddddddddddddd', 'ready', NULL, 'running', NULL::timestamptz)
) AS old (id, status, reason, name, ended);

INSERT INTO jobs (job_id, owner_id, session_id, worker_id, kind, status, subject, progress, result, created_at, started_at, finished_at, overdue_at, expires_at)
SELECT 'ses_cccccccccccccccccccccccc.' || id, 'acme', 'ses_cccccccccccccccccccccccc', 'wrk_bbbbbbbbbbbbbbbbbbbbbbbb', 'fetch', status,
  convert_to('{"url":"https://example.com/","mode":"http","metadata":{}}', 'UTF8'), convert_to('{"step":0,"total":null,"note":""}', 'UTF8'), NULL,
  now() - interval '9 minutes', now() - interval '9 minutes', NULL, now() + interval '1 hour', NULL
FROM (VALUES ('00000000-0000-4000-8000-000000000001', 'pending')) AS old (id, status);

INSERT INTO jobs (job_id, owner_id, session_id, worker_id, kind, status, subject, progress, result, error, created_at, started_at, finished_at, overdue_at, expires_at)
VALUES ('ses_cccccccccccccccccccccccc.00000000-0000-4000-8000-000000000002', 'acme', 'ses_cccccccccccccccccccccccc', 'wrk_bbbbbbbbbbbbbbbbbbbbbbbb', 'fetch', 'error',
  convert_to('{"url":"https://example.com/","mode":"http","metadata":{}}', 'UTF8'), convert_to('{"step":0,"total":null,"note":""}', 'UTF8'), NULL,
  convert_to('{"code":"deadline_exceeded","message":"It took too long.","retryable":true}', 'UTF8'),
  now() - interval '9 minutes', now() - interval '9 minutes', now() - interval '8 minutes', now() + interval '1 hour', now() + interval '1 hour');

INSERT INTO recordings (rec_id, session_id, owner_id, worker_id, status, video, started_at, ended_at, duration_ms, size_bytes, truncated, expires_at)
VALUES
  ('rec_eeeeeeeeeeeeeeeeeeeeeeee', 'ses_cccccccccccccccccccccccc', 'acme', 'wrk_bbbbbbbbbbbbbbbbbbbbbbbb', 'complete', 'hls',
    now() - interval '10 minutes', now() - interval '9 minutes', 60000, 12345, false, now() + interval '1 day'),
  ('rec_ffffffffffffffffffffffff', 'ses_dddddddddddddddddddddddd', 'acme', 'wrk_bbbbbbbbbbbbbbbbbbbbbbbb', 'recording', NULL,
    now() - interval '10 minutes', NULL, 30000, 999, false, NULL);

-- What was answered to a fetch with a key, and a fetch that was running.
INSERT INTO idempotency_keys (scope, key, request_hash, status, body, created_at) VALUES
  ('owner:acme POST /v1/fetch', 'answered', sha256(convert_to(E'\n{"url":"http://site.test/"}', 'UTF8')), 404, '{"headers":{},"body":{"what":"was answered"}}', now() - interval '1 minute'),
  ('owner:acme POST /v1/fetch', 'running', sha256(convert_to(E'\n{"url":"http://site.test/"}', 'UTF8')), NULL, NULL, now() - interval '1 minute'),
  ('owner:acme POST /v1/fetch', 'left', sha256(convert_to(E'\n{"url":"http://site.test/"}', 'UTF8')), NULL, NULL, now() - interval '1 hour');

INSERT INTO wallets (owner_id, balance, held) VALUES ('acme', 7000000, 0);
INSERT INTO credit_journal (op_id, at, owner_id, from_account, to_account, amount) VALUES
  ('grant:1', '2026-10-01T09:00:00Z', 'acme', 'source:grants', 'wallet:acme', 10000000),
  ('session:ses_cccccccccccccccccccccccc:start', now() - interval '10 minutes', 'acme', 'wallet:acme', 'revenue:session', 3000000);

INSERT INTO usage_meters (meter_id, month, owner_id, actions, egress_bytes, browser_ms, sessions, captcha_solves, updated_at) VALUES
  ('ses_cccccccccccccccccccccccc', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), 'acme', 2, 4000, 30000, 1, 0, now() - interval '9 minutes');
INSERT INTO usage_months (owner_id, month, actions, egress_bytes, browser_ms, sessions, captcha_solves) VALUES
  ('acme', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), 2, 4000, 30000, 1, 0);

INSERT INTO audit_log (at, actor, action, owner_id, subject, details) VALUES
  ('2026-10-01T08:00:00Z', 'operator', 'key.created', 'acme', 'key_aaaaaaaaaaaaaaaaaaaaaaaa', '{}');

INSERT INTO site_health (owner_id, domain, state, best_strategy, updated_at) VALUES ('acme', 'example.com', 'healthy', 'slower_pacing', now());
INSERT INTO site_strategies (owner_id, domain, strategy, attempts, successes, blocks, errors, duration_ms, recent, last_used_at) VALUES
  ('acme', 'example.com', 'slower_pacing', 4, 4, 0, 0, 4000, '[[1759300000000,"ok",1000],[1759300001000,"ok",1000],[1759300002000,"ok",1000],[1759300003000,"ok",1000]]', now());
