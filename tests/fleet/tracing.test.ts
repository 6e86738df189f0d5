/** One trace over two workers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession } from '@berth/contract';
import { Collector, parentOfTraces, traceparentOf } from '../services/trace-collector.ts';
import { startFleet, type TestFleet } from './fleet.ts';

describe('the trace of a request that another worker answers', () => {
  const traceId = '7'.repeat(32);
  const collector = new Collector();
  let fleet: TestFleet;
  let returned: string | null = null;
  before(async () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen() };
    // A process has one tracer: that of the second worker takes the spans of both.
    fleet = await startFleet({ workers: 2, each: (index) => (index === 1 ? { environment } : {}) });
    const { session_id } = await fleet.worker(0).create();
    const away = 1 - fleet.whereIs(session_id);
    const { headers } = await fleet.call(away, getSession, { key: fleet.key, params: { session_id }, headers: traceparentOf(traceId) });
    returned = headers.get('traceparent');
    // Sends what it has.
    await fleet.close();
  });
  after(() => collector.close());

  it('the trace of a forwarded request goes on from the caller through the worker that it reached to the one that answers', () => {
    const spans = collector.of(traceId, 'GET /v1/session/{session_id}');
    const edge = spans.find(({ parentSpanId }) => parentSpanId === parentOfTraces);
    const owner = spans.find(({ parentSpanId }) => parentSpanId === edge?.spanId);
    assert.ok(edge && owner, JSON.stringify(spans));
    assert.equal(spans.length, 2);
    assert.equal(returned, `00-${traceId}-${edge.spanId}-01`);
  });
});
