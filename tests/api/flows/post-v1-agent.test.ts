import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelJob, endSession, getJob, getSession, inspect, listTasks, runAgent, type AgentResponse } from '@berth/contract';
import { startProxiedApp } from '../../services/database-proxy.ts';
import { FlowRefusals } from '../../contract/flow-refusals.ts';
import { eventually, jobIdOf, startApp, type TestApp } from '../../harness.ts';
import { drivingOf, machineOf } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const wait = { type: 'wait', ms: 1 };
const site = 'http://site.test/';
const body = { task: 'custom', inputs: { steps: [wait] } };

async function ran(request: Record<string, unknown>, key?: string): Promise<AgentResponse> {
  const reply = await served.call(runAgent, { body: request, ...(key === undefined ? {} : { key }) });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}
const custom = (steps: object[], more: object = {}, inputs: object = {}): Promise<AgentResponse> =>
  ran({ task: 'custom', inputs: { steps, ...inputs }, ...more });

describe('200', () => {
  it('POST /v1/agent returns the output, the steps and the usage of a flow', async () => {
    const result = await custom(
      [
        { type: 'navigate', url: site },
        { ...wait, id: 'last' },
      ],
      { metadata: { run: '1' } },
    );
    assert.deepEqual(
      [result.status, result.task, result.version, result.error, result.block, result.final_url, result.job_id, result.poll_url],
      ['ok', 'custom', '1', null, null, site, null, null],
    );
    assert.deepEqual(
      result.steps.map(({ index, type, status, healed, selector_used }) => [index, type, status, healed, selector_used]),
      [
        [0, 'navigate', 'ok', false, null],
        [1, 'wait', 'ok', false, null],
      ],
    );
    assert.deepEqual([result.usage.actions, result.metadata], [2, { run: '1' }]);
    const { outputs } = result.output as { outputs: { index: number; type: string; output: unknown }[] };
    assert.deepEqual(
      outputs.map(({ index, type }) => [index, type]),
      [[0, 'navigate']],
    );
    assert.ok(Date.parse(result.finished_at ?? '') >= Date.parse(result.started_at ?? ''));
  });

  it('POST /v1/agent works in the page of a session, which stays', async () => {
    const { session_id } = await served.create();
    const result = await custom([{ type: 'navigate', url: site }], { session_id });
    assert.deepEqual([result.session_id, result.status], [session_id, 'ok']);
    const session = (await served.call(getSession, { params: { session_id } })).body;
    assert.deepEqual([session.status, session.current_url, session.usage.actions], ['ready', site, 1]);
  });

  it('POST /v1/agent keeps a session of its own on request, and ends it otherwise', async () => {
    const result = await custom([{ type: 'navigate', url: site }], { keep_session: true });
    const params = { session_id: result.session_id ?? '' };
    const { body: session } = await served.call(getSession, { params });
    assert.deepEqual([session.status, session.current_url], ['ready', site]);
    await served.call(endSession, { params });
    const other = await custom([{ ...wait, tab: 'newest' }]);
    const ended = (await served.call(getSession, { params: { session_id: other.session_id ?? '' } })).body;
    assert.notEqual(ended.status, 'ready');
  });

  it('POST /v1/agent runs as a job, which reports the same', async () => {
    const reply = await served.call(runAgent, { body: { ...body, async: true, metadata: { a: 'b' } } });
    assert.deepEqual([reply.body.status, reply.body.task, reply.body.steps], ['pending', 'custom', []]);
    assert.equal(reply.headers.get('location'), reply.body.poll_url);
    assert.equal(reply.headers.get('retry-after'), '1');
    const params = { job_id: jobIdOf(reply.body) };
    const { body: job } = await served.call(getJob, { params, query: { wait_seconds: '20' } });
    assert.deepEqual([job.kind, job.status, job.stage, job.usage?.actions], ['agent', 'ok', 'done', 1]);
    const result = job.result as unknown as AgentResponse;
    assert.deepEqual([result.job_id, result.status, result.metadata], [params.job_id, 'ok', { a: 'b' }]);
    assert.equal(job.session_id, result.session_id);
  });

  it('POST /v1/agent names the session that a job will create, and runs in it', async () => {
    const reply = await served.call(runAgent, { body: { ...body, keep_session: true, async: true } });
    const params = { job_id: jobIdOf(reply.body) };
    const { body: job } = await served.call(getJob, { params, query: { wait_seconds: '20' } });
    assert.deepEqual(
      [job.status, job.session_id, (job.result as unknown as AgentResponse).session_id],
      ['ok', reply.body.session_id, reply.body.session_id],
    );
    await served.call(endSession, { params: { session_id: job.session_id ?? '' } });
  });

  it('POST /v1/agent reports the step that failed, and why', async () => {
    const result = await custom([wait, { type: 'navigate', url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' }, wait]);
    assert.deepEqual(
      [result.status, result.output, result.error?.code, result.error?.details?.['step_index']],
      ['error', null, 'navigation_failed', 1],
    );
    assert.deepEqual(
      result.steps.map(({ status }) => status),
      ['ok', 'error'],
    );
    assert.equal(result.usage.actions, 2);
  });

  it('POST /v1/agent ends at max_steps, also in loops, and at timeout_ms', async () => {
    const loop = { type: 'repeat', max: 500, steps: [wait] };
    const limited = await custom([loop], { max_steps: 5 });
    assert.deepEqual([limited.status, limited.error?.code], ['error', 'limit_reached']);
    assert.ok(limited.usage.actions <= 6, `${limited.usage.actions}`);
    const late = await custom([{ type: 'wait', ms: 30_000 }], { timeout_ms: 1000 });
    assert.deepEqual([late.status, late.error?.code, late.error?.retryable], ['error', 'timeout', true]);
    // A jump back is no loop without end.
    const back = { ...wait, id: 'start' };
    const failing = { type: 'assert', text: 'nowhere', timeout_ms: 100, on_error: 'goto:start' };
    const jumping = await custom([back, failing], { max_steps: 9 });
    assert.deepEqual([jumping.status, jumping.error?.code], ['error', 'limit_reached']);
  });

  it('POST /v1/agent never expands templates in inputs, and never returns secrets', async () => {
    const secrets = { pin: 'horse battery', token: 'a&b <c>' };
    const result = await custom(
      [
        { type: 'navigate', url: 'http://title.test/?{{inputs.name}}' },
        { type: 'navigate', url: 'http://site.test/?t={{secret.token}}' },
        { type: 'wait', text: '{{secret.pin}}', timeout_ms: 100 },
      ],
      {},
      { inputs: { name: '{{secret.pin}}{{vars.x}}' }, secrets },
    );
    assert.equal(result.error?.code, 'timeout');
    const text = JSON.stringify(result);
    for (const secret of Object.values(secrets)) assert.ok(!text.includes(secret) && !text.includes(encodeURIComponent(secret)), text);
    assert.ok(text.includes('{{secret.token}}'), text);
  });

  it('POST /v1/agent stores no secret in a job', async () => {
    const inputs = { steps: [{ type: 'navigate', url: 'http://site.test/?t={{secret.word}}' }], secrets: { word: 'xyzzy-plugh' } };
    const reply = await served.call(runAgent, { body: { task: 'custom', inputs, async: true } });
    const job = await served.call(getJob, { params: { job_id: jobIdOf(reply.body) }, query: { wait_seconds: '20' } });
    assert.equal(job.body.status, 'ok');
    assert.ok(!job.text.includes('xyzzy-plugh') && !reply.text.includes('xyzzy-plugh'));
  });

  it('POST /v1/agent ends with an error when its session ends, and when its browser is lost', async () => {
    for (const end of ['request', 'crash']) {
      const { session_id } = await served.create();
      const running = custom(
        [
          { type: 'navigate', url: site },
          { type: 'navigate', url: `${site}next` },
          { type: 'wait', ms: 30_000 },
        ],
        { session_id },
      );
      // The page of a step is there before its result is.
      await eventually('the first step has run', () => machineOf(served, session_id).browser.pageUrls.includes(`${site}next`));
      if (end === 'crash') machineOf(served, session_id).crash();
      else await served.call(endSession, { params: { session_id } });
      const { status, error, usage, steps } = await running;
      assert.deepEqual([status, error?.code], ['error', end === 'crash' ? 'session_lost' : 'session_ended'], end);
      // The step that was interrupted may be reported, too.
      assert.ok(steps.length >= 1 && steps.length <= 3, JSON.stringify(steps));
      assert.ok(usage.actions >= 1);
      assert.equal(drivingOf(served, session_id), 0);
    }
  });

  it('POST /v1/agent replays calls of the owner’s inspections only: foreign ones look unknown', async () => {
    const har = { log: { version: '1.2', creator: { name: 'x', version: '1' }, entries: [] } };
    const { body: report } = await served.call(inspect, { body: { har } });
    const { body: own } = await served.call(runAgent, { body: { ...body, async: true } });
    const key = await served.ownerKey('replayer');
    const replay = async (job_id: string, as?: string) => {
      const { status, error } = await ran({ task: 'api_replay', inputs: { job_id, endpoint_id: 'E1' } }, as);
      return [status, error?.code, error?.message];
    };
    const unknown = await replay('job_nothing');
    assert.deepEqual(unknown.slice(0, 2), ['error', 'job_not_found']);
    assert.deepEqual(await replay(report.job_id, key), unknown);
    assert.deepEqual(await replay(jobIdOf(own)), unknown, 'a job of another kind');
    assert.notDeepEqual(await replay(report.job_id), unknown);
  });

  it('POST /v1/agent ends a job that is cancelled, or whose worker is lost', async () => {
    const waiting = { task: 'custom', inputs: { steps: [{ type: 'wait', ms: 60_000 }] }, async: true };
    const first = await startProxiedApp();
    try {
      const start = async (): Promise<{ job_id: string }> => {
        const params = { job_id: jobIdOf((await first.call(runAgent, { body: waiting })).body) };
        await eventually('it runs', async () => (await first.call(getJob, { params })).body.stage === 'running');
        return params;
      };
      const cancelled = await start();
      const { body: ended } = await first.call(cancelJob, { params: cancelled });
      assert.deepEqual([ended.kind, ended.status, ended.error?.code, ended.result], ['agent', 'error', 'cancelled', null]);
      const lost = await start();
      await first.proxy.cut();
      const second = await startApp({ previous: { dataDir: first.dataDir, databaseUrl: first.directUrl, runtime: first.runtime } });
      try {
        const readLost = async () => (await second.call(getJob, { key: first.key, params: lost })).body;
        await eventually('it is reported as lost', async () => (await readLost()).status === 'error');
        const { kind, error, usage } = await readLost();
        assert.deepEqual([kind, error?.code, usage?.actions ?? 0], ['agent', 'worker_lost', 0]);
      } finally {
        await second.close();
      }
    } finally {
      await first.proxy.restore();
      await first.close();
    }
  });

  it('POST /v1/agent describes every listed flow', async () => {
    const { body: tasks } = await served.call(listTasks);
    assert.ok(tasks.some(({ name }) => name === 'custom'));
  });
});

describe('400 unknown_task', () => {
  it('POST /v1/agent answers 400 unknown_task with the names of the flows', async () => {
    for (const task of ['extrakt', 'constructor', '__proto__', 'page_snapshot']) {
      const { details } = await served.refuse(runAgent, 'unknown_task', { body: { task } });
      const available = (await served.call(listTasks)).body.map(({ name }) => name);
      assert.deepEqual(details, { available });
    }
    const { message } = await served.refuse(runAgent, 'unknown_task', { body: { task: 'extrakt' } });
    assert.match(message, /Did you mean extract\?/);
  });
});

const refusals = new FlowRefusals(() => served, runAgent, body);

describe('403 premium_egress_required', () => {
  it('POST /v1/agent refuses proxies for a plan without them with 403 premium_egress_required', () => refusals.premiumEgress());
});
describe('404 session_not_found', () => {
  it('POST /v1/agent answers 404 session_not_found for unknown, malformed and foreign sessions identically', () =>
    refusals.foreignSession());
});
describe('409 session_not_ready', () => {
  it('POST /v1/agent answers 409 session_not_ready while the session starts', () => refusals.startingSession());
});
describe('409 session_ended', () => {
  it('POST /v1/agent answers 409 session_ended after the session has ended', () => refusals.endedSession());
});
describe('409 session_busy', () => {
  it('POST /v1/agent answers 409 session_busy when the session’s queue is full', () => refusals.busySession());
});
describe('429 concurrency_limit', () => {
  it('POST /v1/agent answers 429 concurrency_limit when a kept session would be one too many', () => refusals.concurrency());
});
describe('429 create_rate_limit', () => {
  it('POST /v1/agent answers 429 create_rate_limit when kept sessions are created too fast', () => refusals.createRate());
});
describe('503 no_capacity', () => {
  it('POST /v1/agent answers 503 no_capacity when no browser can be started', () => refusals.noCapacity());
});
describe('503 draining', () => {
  it('POST /v1/agent refuses flows that need a new machine or job with 503 draining', () => refusals.draining());
});

describe('422', () => {
  const wrong: [string, Record<string, unknown>, string, string][] = [
    ['a missing input', { task: 'extract_tables' }, 'body.inputs.url', 'missing'],
    ['an unknown input', { task: 'extract_tables', inputs: { url: site, urls: [] } }, 'body.inputs.urls', 'extra_forbidden'],
    [
      'an input of the wrong type',
      { task: 'scroll_to_end', inputs: { url: site, max_scrolls: 'x' } },
      'body.inputs.max_scrolls',
      'int_parsing',
    ],
    ['a URL of another scheme', { task: 'pdf', inputs: { url: 'file:///etc/passwd' } }, 'body.inputs.url', 'url_scheme'],
    ['a wrong step', { task: 'custom', inputs: { steps: [{ type: 'klick' }] } }, 'body.inputs.steps.0.type', 'literal_error'],
    [
      'a wrong recording',
      { task: 'custom', inputs: { recording: { steps: [{ type: 'x' }] } } },
      'body.inputs.recording.steps.0.type',
      'cannot_import',
    ],
    ['neither steps nor a recording', { task: 'custom' }, 'body.inputs', 'missing'],
    ['a region beside a session', { ...body, session_id: 'ses_x', region: 'x' }, 'body.region', 'value_error'],
    ['an unknown region', { ...body, region: 'no-such-region' }, 'body.region', 'literal_error'],
    ['too long a timeout', { ...body, timeout_ms: 300_001 }, 'body.timeout_ms', 'less_than_equal'],
  ];
  for (const [what, request, loc, type] of wrong)
    it(`POST /v1/agent refuses ${what} with 422`, async () => {
      const issues = await served.issues(runAgent, { body: request });
      assert.deepEqual(
        issues.map((issue) => [issue.loc.join('.'), issue.type]),
        [[loc, type]],
      );
    });

  it('POST /v1/agent answers 422 without a secret of the inputs', async () => {
    const inputs = { steps: [], secrets: { pin: ['hunter2hunter2'] }, other: 1 };
    const reply = await served.call(runAgent, { body: { task: 'custom', inputs } });
    assert.equal(reply.status, 422);
    assert.ok(!reply.text.includes('hunter2'), reply.text);
  });
});
