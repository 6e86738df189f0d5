/** What an operator's tools read of a service that has worked: the metrics as a whole, and the files in deploy/ that name them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createSession,
  endedReasons,
  endpoints,
  endSession,
  errors,
  fetchPage,
  listTasks,
  listTemplates,
  navigate,
  runAgent,
} from '@berth/contract';
import { statementOperations } from '../../packages/server/src/store/store.ts';
import { readMetrics, type Metric } from '../../packages/server/testing/ops.ts';
import { adminKey, eventually, startApp, type TestApp } from '../harness.ts';
import { promtool } from '../services/promtool.ts';

let served: TestApp;
let text = '';
let scraped: Map<string, Metric>;

const scrape = async (): Promise<string> => (await fetch(`${served.url}/metrics`, { headers: { 'x-admin-key': adminKey } })).text();

const valueOf = (series: string): number => scraped.get(series.replace(/(_count)?\{.*/, ''))?.samples.get(series) ?? 0;

/** Calls with text of the caller wherever a caller can put text. */
async function callWith(word: string): Promise<void> {
  const { session_id } = await served.create({ name: word, metadata: { word } });
  await served.call(navigate, { params: { session_id }, body: { url: `http://${word}.test/${word}?token=${word}` } });
  await served.call(fetchPage, { body: { url: `http://${word}.test/`, mode: 'browser', formats: ['html'] } });
  await served.call(runAgent, { body: { task: word, inputs: {} } });
  await served.call(runAgent, { body: { task: 'extract', session_id, inputs: { url: `http://${word}.test/`, fields: { word: 'h1' } } } });
  await served.call(createSession, { key: `brt_live_${word}`, body: {} });
  await served.call(endSession, { params: { session_id } });
  await fetch(`${served.url}/${word}/${word}?${word}=${word}`, { method: 'PURGE', headers: { [`x-${word}`]: word, 'user-agent': word } });
}

before(async () => {
  served = await startApp();
  await callWith('firstword');
  await served.call(fetchPage, { body: { url: 'http://site.test/', mode: 'browser', async: true } });
  await eventually('the last call is counted', async () => {
    text = await scrape();
    scraped = readMetrics(text);
    const queued = ['job', 'fetch_page'].every((queue) => valueOf(`berth_queue_wait_seconds_count{queue="${queue}"}`) > 0);
    return queued && valueOf('berth_http_requests_total{endpoint="metrics",status="200"}') > 0;
  });
});
after(() => served.close());

describe('the metrics of a service that has worked', () => {
  it('the metrics of a service that has worked pass promtool', () => {
    assert.equal(promtool(['check', 'metrics'], text).trim(), '');
  });

  it('the metrics of a service that has worked time boots, acquisitions, waits and statements', () => {
    for (const series of [
      'berth_machine_boot_duration_seconds_count{kind="headless",method="process"}',
      'berth_machine_acquire_duration_seconds_count{kind="headless",source="boot"}',
      'berth_queue_wait_seconds_count{queue="machine_boot"}',
      'berth_queue_wait_seconds_count{queue="session_lane"}',
      'berth_queue_wait_seconds_count{queue="store_connection"}',
      'berth_store_statement_duration_seconds_count{operation="select"}',
      'berth_store_statement_duration_seconds_count{operation="commit"}',
      'berth_store_connections{state="idle"}',
      'berth_loop_last_success_timestamp_seconds{loop="heartbeat"}',
    ]) {
      assert.ok(valueOf(series) > 0, `${series} is ${valueOf(series)}`);
    }
  });

  it('the metrics get no series and no label from what callers write', async () => {
    const names = (from: ReadonlyMap<string, Metric>): Set<string> =>
      new Set([...from.values()].flatMap(({ samples }) => [...samples.keys()]));
    const word = `w${randomBytes(6).toString('hex')}`;
    await callWith(word);
    await callWith('lastword');
    const now = await scrape();
    for (const each of [word, 'firstword', 'lastword']) assert.ok(!now.includes(each), each);
    const known = names(scraped);
    // Kinds of garbage collection and of open handles come and go, and a busy host stalls the loop when it likes.
    const ofTheHost = /^(nodejs_|berth_event_loop_stall)/;
    assert.deepEqual(
      [...names(readMetrics(now))].filter((series) => !known.has(series) && !ofTheHost.test(series)),
      [],
    );
  });

  it('the metrics have only labels whose values the service chooses', async () => {
    const tasks = (await served.call(listTasks)).body.map(({ name }) => name);
    const lists = (await served.call(listTemplates)).body.map(({ name }) => name);
    const operations = endpoints.map(({ id }) => id);
    const loops = served.app.loops.map(({ name }) => name);
    const values: Record<string, readonly string[] | RegExp> = {
      endpoint: [...operations, 'none'],
      status: /^(\d{3}|starting|ready|ending|failed|ok|blocked|error|cancelled)$/,
      reason: [...Object.keys(errors), ...endedReasons, 'surplus', 'old', 'outdated', 'lost'],
      loop: loops,
      task: [...tasks, ...lists],
      during: [...operations, ...loops, 'devtools', 'robots', 'host', 'unknown'],
      operation: [...statementOperations, 'put', 'get', 'head', 'list'],
      queue: ['fetch_page', 'job', 'machine_boot', 'session_lane', 'store_connection'],
      source: ['pool', 'boot'],
      kind: /^(headless|full_browser|shell|major|minor|incremental|weakcb)$/,
      method: ['process', 'clone', 'cold'],
      state: /^(warming|ready|assigned|draining|queued|running|busy|idle|waiting)$/,
      axis: /^(action|actions|session|sessions|captcha|captcha_solves|egress|egress_bytes|browser_seconds)$/,
      direction: ['in', 'out'],
      result: ['verified', 'unverified', 'failed', 'skipped', 'ok', 'error'],
      outcome: ['applied', 'ignored', 'duplicate', 'refused'],
      version: /^[v\d.]+$/,
      registry: ['builtin'],
      type: /^[A-Za-z_.]+$/,
      space: /^[a-z_]+$/,
      le: /^(\+Inf|[\d.]+)$/,
      major: /^\d+$/,
      minor: /^\d+$/,
      patch: /^\d+$/,
    };
    for (const [, name = '', value = ''] of (await scrape()).matchAll(/[{,](\w+)="([^"]*)"/g)) {
      const allowed = values[name] ?? assert.fail(`an unknown label: ${name}="${value}"`);
      assert.ok(allowed instanceof RegExp ? allowed.test(value) : allowed.includes(value), `${name}="${value}"`);
    }
  });
});

const deploy = resolve(import.meta.dirname, '../../deploy');
const alerts = readFileSync(join(deploy, 'prometheus/alerts.yaml'), 'utf8');
const alertNames = [...alerts.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = '']) => name);
const rules = [...alerts.matchAll(/^ +expr: '(.*)'$/gm)].map(([, expr = '']) => expr.replaceAll("''", "'"));

interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}
const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana/berth.json'), 'utf8')) as {
  panels: Panel[];
  annotations: { list: { expr: string }[] };
};
const queries = [...dashboard.panels.flatMap(({ targets = [] }) => targets), ...dashboard.annotations.list].map(({ expr }) => expr);

/** The metrics of an expression, each with its label matchers. */
const selectorsOf = (expr: string): { name: string; matchers: string }[] =>
  [...expr.matchAll(/\b((?:berth|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({ name, matchers }));

/** The family and its label names; a histogram is named with what is read of it. */
function familyOf(name: string): { metric: Metric; labels: Set<string> } {
  const family = scraped.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
  const metric = scraped.get(family) ?? assert.fail(`the service has no metric ${name}`);
  assert.equal(metric.type === 'histogram' || metric.type === 'summary', family !== name, `${name} is a ${metric.type}`);
  const labels = [...metric.samples.keys()].flatMap((series) => [...series.matchAll(/(\w+)="/g)].map(([, label = '']) => label));
  return { metric, labels: new Set([...labels, 'job', 'instance']) };
}

describe('the files in deploy/', () => {
  it('the files in deploy/ name only metrics and labels that this service has', () => {
    assert.ok(rules.length >= 20 && queries.length >= 40, `${rules.length} rules, ${queries.length} queries`);
    for (const { name, matchers } of [...rules, ...queries].flatMap(selectorsOf)) {
      const { metric, labels } = familyOf(name);
      // A metric of events that have not happened yet has no labels.
      if (metric.samples.size === 0) continue;
      for (const [, label = ''] of matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g))
        assert.ok(labels.has(label), `${name} has no label ${label}`);
    }
  });

  it('the files in deploy/ name only existing operations, reasons and queues', () => {
    const known = new Set<string>([
      ...endpoints.map(({ id }) => id),
      ...Object.keys(errors),
      ...endedReasons,
      ...['job', 'machine_boot', 'session_lane', 'fetch_page', 'store_connection'],
    ]);
    for (const [, value = ''] of [...rules, ...queries].join('\n').matchAll(/\b(?:endpoint|reason|queue)=~?"([^"]*)"/g))
      for (const each of value.split('|')) assert.ok(known.has(each), each);
  });

  it('the files in deploy/ have queries that Prometheus can parse', () => {
    const text = queries.map((expr) => expr.replaceAll('$__rate_interval', '5m'));
    const file = join(mkdtempSync(join(tmpdir(), 'berth-queries-')), 'queries.yaml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'g', rules: text.map((expr, n) => ({ record: `query:${n}`, expr })) }] }));
    assert.match(promtool(['check', 'rules', file]), new RegExp(`${queries.length} rules found`));
    rmSync(dirname(file), { recursive: true });
  });

  it('the alerts in deploy/ fire, and do not, as their tests say', () => {
    assert.match(promtool(['check', 'rules', join(deploy, 'prometheus/alerts.yaml')]), new RegExp(`${alertNames.length} rules found`));
    promtool(['test', 'rules', join(deploy, 'prometheus/alerts.test.yaml')]);
    const tests = readFileSync(join(deploy, 'prometheus/alerts.test.yaml'), 'utf8');
    for (const name of alertNames)
      for (const kind of ['fires', 'quiet']) assert.ok(tests.includes(`- name: ${name} ${kind}\n`), `${name} ${kind}`);
  });

  it('the alerts in deploy/ each link to their section of the runbook, which this service shows', async () => {
    const page = await (await fetch(`${served.url}/docs/runbook`)).text();
    const links = [...alerts.matchAll(/runbook_url: 'http:\/\/\{\{ \$labels\.instance \}\}\/docs\/runbook#(\w+)'/g)].map(
      ([, id = '']) => id,
    );
    assert.deepEqual(
      links,
      alertNames.map((name) => name.toLowerCase()),
    );
    const sections = new Map(page.split(/<h2 /).map((section) => [/^[^>]*id="([^"]*)"/.exec(section)?.[1] ?? '', section]));
    for (const id of links)
      for (const part of ['Means:', 'See:', 'Do:']) assert.ok(sections.get(id)?.includes(`<strong>${part}</strong>`), `${id} ${part}`);
    assert.deepEqual(
      [...sections.keys()].filter((id) => id.startsWith('berth')),
      links,
    );
  });
});
