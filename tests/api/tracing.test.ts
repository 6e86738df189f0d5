/** Traces, as a collector gets them; and what a service without one pays: nothing. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getJob, getSession, navigate } from '@berth/contract';
import type { TestApp } from '../harness.ts';
import { Collector, parentOfTraces, traceparentOf, valuesOf } from '../services/trace-collector.ts';

/** What of OpenTelemetry this process has loaded, or of the build the file that has it, without its API: the metrics library needs that one for itself. */
const loaded = new Set<string>();
registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    if (/@opentelemetry\/(?!api\/)|\/dist\/server\.ops\.tracing-/.test(resolved.url)) loaded.add(resolved.url);
    return resolved;
  },
});
const { eventually, jobIdOf, startApp } = await import('../harness.ts');

// First: what is loaded once stays loaded.
describe('a service without a collector', () => {
  it('a service without a collector loads nothing of OpenTelemetry, and has no trace in its replies', async () => {
    const served = await startApp();
    try {
      const { session_id } = await served.create();
      const reply = await served.call(getSession, { params: { session_id }, headers: traceparentOf('a'.repeat(32)) });
      assert.deepEqual([...loaded], []);
      assert.equal(reply.headers.get('traceparent'), null);
    } finally {
      await served.close();
    }
  });
});

describe('a service with a collector', () => {
  const [creating, driving, job, refusing, unsampled] = ['1', '2', '3', '4', '5'].map((digit) => digit.repeat(32)) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const collector = new Collector();
  let served: TestApp;
  let sessionId = '';
  let returned: string | null = null;
  let jobId = '';

  before(async () => {
    const endpoint = await collector.listen();
    served = await startApp({
      environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/`, OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=collector%20secret' },
    });
    const created = await served.call(createSession, { body: {}, headers: traceparentOf(creating) });
    sessionId = (created.body as { session_id: string }).session_id;
    returned = created.headers.get('traceparent');
    const params = { session_id: sessionId };
    const url = 'http://user:page-password@site.test/private-path?token=page-token#part';
    await served.call(navigate, { params, body: { url }, headers: traceparentOf(driving) });
    const failing = { url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/?token=page-token' };
    await served.call(navigate, { params, body: failing, headers: traceparentOf(driving) });
    const body = { url: 'http://site.test/', mode: 'browser', async: true };
    jobId = jobIdOf((await served.call(fetchPage, { body, headers: traceparentOf(job) })).body);
    await served.call(getJob, { params: { job_id: jobId }, query: { wait_seconds: '20' } });
    await served.refuse(getSession, 'invalid_api_key', { params, key: 'brt_live_wrong-secret-key', headers: traceparentOf(refusing) });
    await served.call(getSession, { params, headers: traceparentOf(unsampled, false) });
    await fetch(`${served.url}/no-such-path/secret-path?secret-query=1`);
    await served.call(endSession, { params });
    await eventually('spans of a whole batch have arrived', () => collector.of(job, 'navigate').length > 0);
    // The rest is sent by the stop.
    await served.close();
  });
  after(() => collector.close());

  it('a service with a collector loads OpenTelemetry', () => assert.ok(loaded.size > 0));

  it('traces are sent to the collector in batches, with the configured headers and the name of the service', () => {
    assert.deepEqual(new Set(collector.requests.map(({ path }) => path)), new Set(['/v1/traces']));
    for (const { headers } of collector.requests) assert.equal(headers['x-collector-key'], 'collector secret');
    for (const resource of collector.resources) {
      assert.equal(resource['service.name'], 'berth');
      assert.match(String(resource['service.instance.id']), /^wrk_/);
    }
  });

  it('a trace continues that of the caller, and the reply names its own span', () => {
    const [request] = collector.of(creating, 'POST /v1/session');
    assert.equal(request?.parentSpanId, parentOfTraces);
    assert.equal(request.kind, 2);
    assert.equal(returned, `00-${creating}-${request.spanId}-01`);
    const { 'http.route': route, 'http.response.status_code': status, 'berth.operation_id': operation } = valuesOf(request);
    assert.deepEqual([route, status, operation], ['/v1/session', 201, 'createSession']);
  });

  it('the trace of a start has the acquisition, the boot and the statements below the request', () => {
    const [request] = collector.of(creating, 'POST /v1/session');
    const [acquire] = collector.of(creating, 'acquire');
    const [boot] = collector.of(creating, 'boot');
    assert.equal(acquire?.parentSpanId, request?.spanId);
    assert.equal(boot?.parentSpanId, acquire?.spanId);
    assert.equal(valuesOf(acquire ?? assert.fail())['berth.machine.source'], 'boot');
    const statements = collector.of(creating, 'store');
    assert.ok(statements.some(({ parentSpanId }) => parentSpanId === request?.spanId));
    assert.ok(statements.some(({ parentSpanId }) => parentSpanId === boot?.spanId));
    assert.ok(statements.some((each) => valuesOf(each)['db.operation.name'] === 'insert'));
  });

  it('traces have navigations with the host and the status, and failed ones with their kind', () => {
    const [loaded, failed] = collector.of(driving, 'navigate');
    assert.deepEqual(
      ['server.address', 'http.response.status_code'].map((key) => valuesOf(loaded ?? assert.fail())[key]),
      ['site.test', 200],
    );
    assert.equal(failed?.status.code, 2);
    assert.equal(valuesOf(failed)['error.type'], 'NavigationError');
  });

  it('the work of a job is in the trace of the request that submitted it', () => {
    const [request] = collector.of(job, 'POST /v1/fetch');
    const [work] = collector.of(job, 'job');
    assert.equal(work?.parentSpanId, request?.spanId);
    assert.equal(valuesOf(work ?? assert.fail())['berth.job_id'], jobId);
    assert.equal(collector.of(job, 'acquire').length, 1);
  });

  it('traces have the code of a refused request, and nothing where the caller asks for no trace', () => {
    const [refused] = collector.of(refusing, 'GET /v1/session/{session_id}');
    const { 'error.type': type, 'http.response.status_code': status } = valuesOf(refused ?? assert.fail());
    assert.deepEqual([type, status], ['invalid_api_key', 403]);
    assert.equal(collector.spans.filter(({ traceId }) => traceId === unsampled).length, 0);
  });

  it('traces leave the statements of background work out', () => {
    const orphans = collector.spans.filter(({ name, parentSpanId }) => name === 'store' && !parentSpanId);
    assert.deepEqual(orphans, []);
  });

  it('traces have no secret, no path or query of a URL and no message of an error', () => {
    for (const secret of [
      served.key,
      'page-password',
      'page-token',
      'private-path',
      'wrong-secret-key',
      'secret-path',
      'secret-query',
      'user:',
    ])
      assert.ok(!collector.text.includes(secret), secret);
    assert.ok(collector.spans.every(({ events = [], status }) => events.length === 0 && !status.message));
    const attributes = new Set(collector.spans.flatMap((span) => Object.keys(valuesOf(span))));
    assert.deepEqual(
      [...attributes].filter((name) => !known.has(name)),
      [],
    );
  });
});

const known = new Set([
  'berth.job.kind',
  'berth.job_id',
  'berth.machine.id',
  'berth.machine.kind',
  'berth.machine.method',
  'berth.machine.source',
  'berth.operation_id',
  'berth.request_id',
  'berth.session_id',
  'berth.wait_until',
  'db.operation.name',
  'db.system.name',
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'server.address',
]);
