/** The documentation is true: its commands run, their replies have the fields that it shows, and its names are those of the service. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  ComputerRequest,
  CreateSessionRequest,
  FetchRequest,
  NavigateRequest,
  ScreenshotRequest,
  checkout,
  createKey,
  closeCodes,
  tunnelCloseCodes,
  endedReasons,
  endpoints,
  errors,
  listSessions,
  metrics,
  sessionEventTypes,
  strategyNames,
} from '@berth/contract';
import { z } from 'zod';
import { viewCloseCodes } from '@berth/contract/live-view';
import { variableGroups } from '../../packages/server/src/config.ts';
import { documents, examplesOf, paste, textOf, type Target } from '../contract/documents.ts';
import { startFleet } from '../fleet/fleet.ts';
import { adminKey, startApp, type TestApp } from '../harness.ts';
import { defaultSecretKey, defaultWebhookSecret, startStripe, type StripeStandIn } from '../services/stripe-stand-in.ts';

/** Their commands need pages with elements: first-run.test.ts runs them. */
const withBrowser = ['docs/steps.md', 'docs/flows.md'];
/** Its commands need plans for sale. */
const selling = 'docs/billing.md';
/** Its commands need a worker that others can reach. */
const ofFleet = 'docs/fleet.md';

describe('the commands', { concurrency: 3 }, () => {
  let served: TestApp;
  let shop: TestApp;
  let stripe: StripeStandIn;
  let site: Server;
  const folder = mkdtempSync(join(tmpdir(), 'berth-documents-'));
  const siteUrl = (): string => `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  const targetAt = async (app: TestApp, organisation: string): Promise<Target> => ({
    url: app.url,
    apiKey: app.key,
    adminKey,
    loginToken: await app.login(organisation),
    site: siteUrl(),
  });
  before(async () => {
    const html = '<title>Example Domain</title><h1>Example Domain</h1><p>Text <a href="/a">a link</a>.</p>';
    site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(html));
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    const tiers = join(folder, 'tiers.json');
    writeFileSync(tiers, /```json\n([^]*?)```/.exec(textOf('docs/plans.md'))?.[1] ?? '');
    stripe = await startStripe();
    const billing = {
      BERTH_TIERS_FILE: tiers,
      BERTH_STRIPE_SECRET_KEY: defaultSecretKey,
      BERTH_STRIPE_WEBHOOK_SECRET: defaultWebhookSecret,
      BERTH_STRIPE_API_URL: stripe.url,
    };
    [served, shop] = await Promise.all([
      startApp({ environment: { BERTH_EGRESS_ALLOW: new URL(siteUrl()).host, BERTH_CAPTCHA_HUMAN: '1' } }),
      startApp({ environment: billing }),
    ]);
    stripe.webhook = `${shop.url}/v1/billing-provider/webhook`;
  });
  after(async () => {
    await Promise.all([served?.close(), shop?.close()]);
    await stripe?.close();
    site?.close();
    rmSync(folder, { recursive: true });
  });

  for (const file of documents.keys()) {
    const examples = examplesOf(file);
    if (examples.length > 0 && !withBrowser.includes(file) && file !== selling && file !== ofFleet)
      it(`the commands of ${file} run, and end the sessions that they create`, async () => {
        const owner = file.replaceAll(/\W/g, '-').toLowerCase();
        const key = (await served.call(createKey, { key: adminKey, body: { owner } })).body.key ?? assert.fail('no key');
        assert.deepEqual(await paste(examples, { ...(await targetAt(served, owner)), apiKey: key }), []);
        const live = (await served.call(listSessions, { key, query: { status: 'starting,ready' } })).body;
        assert.deepEqual(
          live.map(({ session_id }) => session_id),
          [],
        );
      });
  }

  it(`the commands of ${ofFleet} run`, async () => {
    const fleet = await startFleet({ workers: 1 });
    try {
      assert.deepEqual(await paste(examplesOf(ofFleet), await targetAt(fleet.worker(0), 'local')), []);
    } finally {
      await fleet.close();
    }
  });

  it(`the commands of ${selling} run, with the plans of docs/plans.md`, async () => {
    const [start, portal, audit, trial, ...others] = examplesOf(selling);
    assert.ok(start && portal && audit && trial && others.length === 0);
    const buyer = await targetAt(shop, 'buyer');
    assert.deepEqual(await paste([start], buyer), []);
    const { body } = await shop.call(checkout, { key: await shop.login('buyer'), body: { tier: 'team' } });
    await stripe.pay(body.id);
    assert.deepEqual(await paste([portal, audit], buyer), []);
    assert.deepEqual(await paste([trial], await targetAt(shop, 'other')), []);
  });

  it('the documented commands show each metric of the service, and no other', async () => {
    const { text } = await served.call(metrics);
    const exported = new Set(Array.from(text.matchAll(/^# TYPE (berth_\w+)/gm), ([, name = '']) => name));
    const shown = new Set(tableCells(textOf('docs/metrics.md'), 0).flatMap((cell) => cell.match(/\bberth_\w+/g) ?? []));
    assert.deepEqual([...shown].toSorted(), [...exported].toSorted());
  });

  it('the documented commands show each loop of the service, and no other', async () => {
    const { text } = await served.call(metrics);
    const running = Array.from(text.matchAll(/^berth_loop_failures\{loop="([\w-]+)"\}/gm), ([, name = '']) => name);
    // Where the database is embedded, which that of tests is not.
    const embedded = ['embedded-database', 'data-folder-claim'];
    // In a fleet, and where there is object storage.
    const ofFleets = ['job-offers', 'recording-uploads', 'recording-objects', 'job-results', 'object-maintenance'];
    const withCertificate = ['tls-certificate'];
    assert.deepEqual(
      namesIn(tableCells(textOf('ARCHITECTURE.md'), 1, 'Loops')).toSorted(),
      [...running, ...embedded, ...ofFleets, ...withCertificate].toSorted(),
    );
  });
});

/** The cells of one column, of all tables or of those in one section. */
function tableCells(text: string, column: number, section = ''): string[] {
  const part = section === '' ? text : (new RegExp(`^#+ ${section}$([^]*?)(?=^#+ |(?![^]))`, 'm').exec(text)?.[1] ?? '');
  return Array.from(part.matchAll(/^\| (.*) \|$/gm), ([, row = '']) => row.split(' | ')[column] ?? '');
}
const namesIn = (cells: readonly string[]): string[] =>
  cells.flatMap((cell) => Array.from(cell.matchAll(/`([\w./-]+)`/g), ([, name = '']) => name));
const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const inEach = (find: (text: string) => string[]): string[] =>
  [...documents].flatMap(([file, text]) => find(text).map((name) => `${file}: ${name}`));

describe('the replies', () => {
  it('the replies in the documents have one field a line where they are wider than a phone', () => {
    const wide = inEach((text) =>
      Array.from(text.matchAll(/^```json\n([^]*?)^```/gm)).flatMap(([, json = '']) =>
        json.split('\n').filter((line) => line.length > 80 && (line.match(/":/g) ?? []).length > 1),
      ),
    );
    assert.deepEqual(wide, []);
  });
});

describe('the names', () => {
  it('the settings named in the documents are those that the service knows', () => {
    const known = new Set(Object.values(variableGroups).flatMap((group) => Object.keys(group)));
    const ofClientsAndTests = ['API_KEY', 'URL', 'CDP_URL', 'PROFILE', 'SESSION', 'OUTPUT', 'FUZZ_SECONDS'];
    for (const name of ofClientsAndTests) known.add(`BERTH_${name}`);
    const unknown = inEach((text) =>
      (text.match(/\bBERTH_[A-Z_]*[A-Z]/g) ?? []).filter((name) => !known.has(name) && !/_TEST_/.test(name)),
    );
    assert.deepEqual(unknown, []);
  });

  it('the endpoints named in the documents are in the contract, with their methods', () => {
    const known = [...Object.values(endpoints), { method: 'GET', path: '/' }].map(
      ({ method, path }) => new RegExp(`^${method} ${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    );
    const unknown = inEach((text) =>
      (text.match(/\b(?:GET|POST|PATCH|PUT|DELETE) \/[\w/{}.-]*/g) ?? []).filter((name) => !known.some((one) => one.test(name))),
    );
    assert.deepEqual(unknown, []);
  });

  it('the errors named in the documents are in the contract, with their status', () => {
    const wrong = inEach((text) =>
      Array.from(text.matchAll(/^\| (\d{3}) \| ((?:`\w+`(?:, )?)+) \|/gm)).flatMap(([, status, codes = '']) =>
        (codes.match(/\w+/g) ?? [])
          .filter((code) => String(errors[code as keyof typeof errors]?.status) !== status)
          .map((code) => `${status} ${code}`),
      ),
    );
    assert.deepEqual(wrong, []);
  });

  const lists: [what: string, file: string, section: string, column: number, names: readonly string[]][] = [
    ['reasons for the end of a session', 'docs/sessions.md', 'States', 0, endedReasons],
    ['strategies', 'docs/fetch.md', 'Retries', 0, strategyNames],
    ['close codes', 'docs/connect.md', 'Close codes', 1, Object.keys(closeCodes)],
  ];
  for (const [what, file, section, column, names] of lists)
    it(`the names of ${what} are all in ${file}`, () => {
      assert.deepEqual(namesIn(tableCells(textOf(file), column, section)).toSorted(), [...names].toSorted());
    });

  it('the folders are all in ARCHITECTURE.md, in the order of the ladder', () => {
    const { ladder } = createRequire(import.meta.url)('../../architecture.cjs') as { ladder: string[] };
    assert.deepEqual(
      namesIn(tableCells(textOf('ARCHITECTURE.md'), 0, 'The ladder')).filter((name) => !name.endsWith('.ts')),
      ladder,
    );
  });

  const requests: [file: string, schema: z.ZodType][] = [
    ['docs/sessions.md', CreateSessionRequest],
    ['docs/navigation-and-tabs.md', NavigateRequest],
    ['docs/computer-use.md', ComputerRequest],
    ['docs/content-and-files.md', ScreenshotRequest],
    ['docs/fetch.md', FetchRequest],
  ];
  for (const [file, schema] of requests)
    it(`the fields are all in ${file}, with their defaults`, () => {
      const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
      const named = new Set(textOf(file).match(/(?<=["`])\w+(?=["`])/g));
      assert.deepEqual(
        Object.keys(properties).filter((name) => !named.has(name)),
        [],
      );
      const wrong = Array.from(textOf(file).matchAll(/^\| `(\w+)` \| (?:`([^`]+)`|(\d+)) \|/gm)).filter(([, name = '', ...cells]) => {
        const property = properties[name];
        const shown = cells.find(Boolean);
        return typeof property === 'object' && property.default !== undefined && toText(property.default) !== shown;
      });
      assert.deepEqual(
        wrong.map(([row]) => row),
        [],
      );
    });

  it('the events are all in docs/content-and-files.md and docs/captcha.md', () => {
    const [, list = ''] = /^Types: (.*)$/m.exec(textOf('docs/content-and-files.md')) ?? [];
    const ofCaptchas = namesIn(tableCells(textOf('docs/captcha.md'), 0, 'States and events')).filter((name) => name.startsWith('captcha.'));
    assert.deepEqual([...new Set([...namesIn([list]), ...ofCaptchas])].toSorted(), [...sessionEventTypes].toSorted());
  });

  it('socket close codes mean the same in all documents', () => {
    const codes = new Set(
      Object.entries({ ...closeCodes, ...viewCloseCodes, replaced: tunnelCloseCodes.replaced }).map(
        ([reason, code]) => `${code} ${reason}`,
      ),
    );
    const wrong = inEach((text) =>
      Array.from(text.matchAll(/\b(40\d\d)(?: \| )? ?[(]?`(\w+)`/g), ([, code, reason]) => `${code} ${reason}`).filter(
        (each) => !codes.has(each),
      ),
    );
    assert.deepEqual(wrong, []);
  });
});
