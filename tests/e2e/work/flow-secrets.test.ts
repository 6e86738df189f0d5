/** A flow types its secrets into a page of a recorded session, which shows them again wherever a page can. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, getConsole, getHar, getSession, listRecordings, runAgent } from '@berth/contract';
import { openEvents } from '../../event-stream.ts';
import { Service, eventually } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const password = 'Quay&Street "7"/b+c';
const token = 'zq81-Xw77-lantern';

/** Echoes both in the title, the console, an error, a dialog, addresses with some characters escaped, headers, and its history. */
const echo = page(
  'Echo',
  `<input id="a"><input id="b"><button id="go">Go</button><p id="said"></p>
<script>
document.getElementById('go').onclick = async () => {
  const [a, b] = [document.getElementById('a').value, document.getElementById('b').value];
  document.title = 'Hello ' + a;
  console.log('typed', a, JSON.stringify({ b }), btoa(b), [...b].map((c, i) => i % 2 ? c : '%' + c.charCodeAt(0).toString(16)).join(''));
  console.error(encodeURIComponent(a) + ' ' + a.replaceAll('&', '&amp;').replaceAll('"', '&quot;'));
  setTimeout(() => { throw new Error('cannot use ' + a); });
  await fetch('/second?x=' + encodeURIComponent(a) + '&y=%' + b.charCodeAt(0).toString(16) + b.slice(1), { headers: { 'x-said': b, 'x-part': encodeURIComponent(a) } });
  await fetch('/headers', { headers: { 'x-said': btoa(a) } });
  history.pushState(null, '', '/echo?q=' + encodeURIComponent(a) + '#' + b);
  alert('You are ' + b);
  document.getElementById('said').textContent = 'Done.';
};
</script>`,
);

describe('the secrets of a flow that a page shows again', () => {
  let site: Site;
  let service: Service;
  before(async () => {
    site = await startSite({ pages: { '/echo': echo } });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_LOG_LEVEL: 'debug' } });
  });
  after(async () => {
    await service.close();
    await site.close();
  });

  const forms = [
    password,
    encodeURIComponent(password),
    JSON.stringify(password).slice(1, -1),
    'Quay&amp;Street',
    btoa(password),
    token,
    btoa(token),
  ];
  const assertHidden = (what: string, text: string): void => {
    const plain = text.replaceAll(/%([2-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    for (const form of [...forms, 'Quay&Street'])
      for (const shown of [text, plain])
        assert.ok(!shown.includes(form), `${what}: ${form} in …${shown.slice(Math.max(0, shown.indexOf(form) - 200)).slice(0, 400)}`);
  };

  it('the secrets of a flow that a page shows again are replaced in the response, events, console, HAR, session, recording and log', async () => {
    const { client } = service;
    const created = await client.call(createSession, { body: { record: true, har: true } });
    assert.equal(created.status, 201, created.text);
    const params = { session_id: created.body.session_id };
    const events = await openEvents(service.url, params.session_id, { key: service.key });
    const inputs = {
      steps: [
        { type: 'navigate', url: `${site.url}/echo` },
        { type: 'fill', selectors: ['#a'], value: '{{secret.password}}' },
        { type: 'fill', selectors: ['#b'], value: '{{secret.token}}' },
        { type: 'click', selectors: ['#go'] },
        { type: 'wait', text: 'Done.', timeout_ms: 30_000 },
      ],
      secrets: { password, token },
    };
    const run = await client.call(runAgent, { body: { task: 'custom', session_id: params.session_id, inputs } });
    assert.equal(run.body.status, 'ok', run.text.slice(0, 2000));
    assertHidden('response', run.text);
    for (const endpoint of [getConsole, getHar, getSession]) assertHidden(endpoint.id, (await client.call(endpoint, { params })).text);
    assert.match((await client.call(getHar, { params })).text, /\{\{secret\.token\}\}/);
    await client.call(endSession, { params });
    const seen: string[] = [];
    for (let event = await events.next(); event; event = await events.next()) seen.push(JSON.stringify(event));
    assertHidden('events', seen.join('\n'));
    assert.ok(
      seen.some((event) => event.includes('{{secret.')),
      seen.join('\n'),
    );

    await eventually('the recording is finished', async () =>
      (await client.call(listRecordings, { params })).body.every(({ status }) => status !== 'recording'),
    );
    const files = readdirSync(join(service.dataDir, 'recordings'), { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    assert.ok(
      files.some(({ name }) => name === 'events.ndjson') && files.some(({ name }) => name === 'har.json'),
      files.map(({ name }) => name).join(),
    );
    for (const { parentPath, name } of files) if (name.endsWith('json')) assertHidden(name, readFileSync(join(parentPath, name), 'utf8'));
    assertHidden('log', service.errors);
  });

  it('the first secrets of a session are replaced after a thousand others, and a flow and the HAR say when not all are searched for', async () => {
    const { client } = service;
    const params = { session_id: (await client.call(createSession, { body: { har: true } })).body.session_id };
    const run = async (steps: unknown[], secrets: Record<string, string>) => {
      const { body, text } = await client.call(runAgent, {
        body: { task: 'custom', session_id: params.session_id, inputs: { steps, secrets } },
      });
      assert.equal(body.status, 'ok', text.slice(0, 2000));
      return body.warnings;
    };
    const open = [{ type: 'navigate', url: `${site.url}/echo` }];
    const echoes = [
      ...open,
      { type: 'fill', selectors: ['#a'], value: password },
      { type: 'fill', selectors: ['#b'], value: token },
      { type: 'click', selectors: ['#go'] },
      { type: 'wait', text: 'Done.', timeout_ms: 30_000 },
    ];
    const others = (batch: number, chars: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`s${i}`, `${batch}-${i}-`.padEnd(chars, `${batch * 20 + i}.`)]));
    await run(open, { password, token });
    // 1,200 secrets, of which some are as long as a secret may be.
    for (let batch = 0; batch < 60; batch += 1)
      assert.deepEqual(await run([{ type: 'wait', ms: 1 }], others(batch, batch % 10 === 0 ? 1000 : 20)), []);
    await run(echoes, { other: 'another secret' });
    for (const endpoint of [getConsole, getHar, getSession]) {
      const { text } = await client.call(endpoint, { params });
      assertHidden(endpoint.id, text);
      assert.doesNotMatch(text, /secrets_not_searched/);
    }
    assert.match((await client.call(getHar, { params })).text, /\{\{secret\.token\}\}/);

    let warnings: string[] = [];
    for (let batch = 100; batch < 200 && warnings.length === 0; batch += 1)
      warnings = await run([{ type: 'wait', ms: 1 }], others(batch, 1000));
    assert.deepEqual(warnings, ['secrets_not_searched']);
    assert.match((await client.call(getHar, { params })).text, /secrets_not_searched/);
    await client.call(endSession, { params });
  });
});
