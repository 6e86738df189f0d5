import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getJob, listTemplates, runTemplate, type TemplateResponse } from '@berth/contract';
import { FlowRefusals } from '../../contract/flow-refusals.ts';
import { jobIdOf, startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const site = 'http://site.test/';
const body = { template: 'page_snapshot', inputs: { url: 'http://status-204.test/' } };

describe('200', () => {
  it('POST /v1/template runs the steps of a template as a flow', async () => {
    const reply = await served.call(runTemplate, { body: { ...body, inputs: { url: 'http://fail-ERR_CONNECTION_REFUSED.test/' } } });
    assert.equal(reply.status, 200, reply.text);
    const { template, version, status, error, steps, usage } = reply.body;
    assert.deepEqual([template, version, status, error?.code], ['page_snapshot', '1', 'error', 'navigation_failed']);
    assert.deepEqual([steps.map(({ type }) => type), usage.actions], [['navigate'], 1]);
  });

  it('POST /v1/template runs as a job of its own kind', async () => {
    const inputs = { url: 'http://fail-ERR_CONNECTION_REFUSED.test/' };
    const reply = await served.call(runTemplate, { body: { ...body, inputs, async: true } });
    assert.equal(reply.body.status, 'pending');
    const { body: job } = await served.call(getJob, { params: { job_id: jobIdOf(reply.body) }, query: { wait_seconds: '20' } });
    assert.deepEqual([job.kind, job.status, job.error?.code], ['template', 'error', 'navigation_failed']);
    assert.equal((job.result as unknown as TemplateResponse).template, 'page_snapshot');
  });
});

describe('400 unknown_template', () => {
  it('POST /v1/template answers 400 unknown_template with the names of the templates', async () => {
    for (const template of ['page_snapshop', 'constructor', 'custom']) {
      const { details } = await served.refuse(runTemplate, 'unknown_template', { body: { template } });
      assert.deepEqual(details, { available: (await served.call(listTemplates)).body.map(({ name }) => name) });
    }
  });
});

const refusals = new FlowRefusals(() => served, runTemplate, body);

describe('403 premium_egress_required', () => {
  it('POST /v1/template refuses proxies for a plan without them with 403 premium_egress_required', () => refusals.premiumEgress());
});
describe('404 session_not_found', () => {
  it('POST /v1/template answers 404 session_not_found for unknown, malformed and foreign sessions identically', () =>
    refusals.foreignSession());
});
describe('409 session_not_ready', () => {
  it('POST /v1/template answers 409 session_not_ready while the session starts', () => refusals.startingSession());
});
describe('409 session_ended', () => {
  it('POST /v1/template answers 409 session_ended after the session has ended', () => refusals.endedSession());
});
describe('409 session_busy', () => {
  it('POST /v1/template answers 409 session_busy when the session’s queue is full', () => refusals.busySession());
});
describe('429 concurrency_limit', () => {
  it('POST /v1/template answers 429 concurrency_limit when a kept session would be one too many', () => refusals.concurrency());
});
describe('429 create_rate_limit', () => {
  it('POST /v1/template answers 429 create_rate_limit when kept sessions are created too fast', () => refusals.createRate());
});
describe('503 no_capacity', () => {
  it('POST /v1/template answers 503 no_capacity when no browser can be started', () => refusals.noCapacity());
});
describe('503 draining', () => {
  it('POST /v1/template refuses templates that need a new machine or job with 503 draining', () => refusals.draining());
});

describe('422', () => {
  it('POST /v1/template refuses inputs that do not match the schema with 422', async () => {
    const issues = await served.issues(runTemplate, { body: { template: 'page_snapshot', inputs: { url: 'ftp://x/', more: 1 } } });
    assert.deepEqual(
      issues.map(({ loc, type }) => [loc.join('.'), type]),
      [
        ['body.inputs.url', 'url_scheme'],
        ['body.inputs.more', 'extra_forbidden'],
      ],
    );
    assert.equal((await served.issues(runTemplate, { body: { ...body, task: 'x' } }))[0]?.type, 'extra_forbidden');
    assert.equal(
      (await served.issues(runTemplate, { body: { template: 'page_snapshot', inputs: { url: site }, max_steps: 0 } }))[0]?.type,
      'greater_than_equal',
    );
  });
});
