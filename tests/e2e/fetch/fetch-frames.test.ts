/** The documents of frames: in the place of the frame, or counted. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getContent, navigate, runActions, runAgent, type FetchResponse } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { nightly, sampleOf } from '../../nightly.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site, type SiteOptions } from '../site.ts';

type Reply = NonNullable<SiteOptions['pages']>[string];

/** `OTHER` is the site under its other name, and `OWN` under its own. */
const sited =
  (body: string): Reply =>
  (request, response) => {
    const port = request.socket.localPort;
    const html = body.replaceAll('OTHER', `http://localhost:${port}`).replaceAll('OWN', `http://127.0.0.1:${port}`);
    response.setHeader('content-type', 'text/html').end(page('Frames', html));
  };

const job = '<p>Before</p><iframe src="OTHER/in/job" title="Terms" width=400></iframe><p>After</p>';
const prices = '<table><tr><th>Tea<tr><td>Mint</table>';
const words = 'It is said at length here, with commas, and so on, until nobody doubts that this is what the page is about. ';

describe('the documents of frames', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    site = await startSite({
      pages: {
        '/job': sited(job),
        '/in/job': sited(
          `<p>Salary 4200 EUR <a href="apply">Apply</a></p><p class=price>12 EUR</p>${prices}<p style="display:none">gone</p>`,
        ),
        '/nested': sited('<p>Outer</p><iframe src="OTHER/in/nested"></iframe>'),
        '/in/nested': sited('<p>Middle</p><iframe src="OWN/in/deep"></iframe><iframe srcdoc="<p>Written</p>"></iframe><p>End</p>'),
        '/in/deep': sited('<p>Deep</p>'),
        '/sandboxed': sited(
          '<p>Outer</p><iframe sandbox srcdoc="<p>Sandboxed</p>"></iframe><iframe srcdoc="<h2>Tasks</h2><a href=/a>A</a>"></iframe>',
        ),
        '/set': (request, response) => {
          const other = `http://localhost:${request.socket.localPort}`;
          response
            .setHeader('content-type', 'text/html')
            .end(`<frameset cols="1,1"><frame src="/in/deep"><frame src="${other}/in/job"></frameset>`);
        },
        '/broken': sited('<p>Text</p><iframe src="OTHER/in/reset" title="Gone"></iframe><iframe src="OTHER/in/deep"></iframe>'),
        '/in/reset': (request) => void request.socket.destroy(),
        '/busy': sited('<p>Text</p><iframe src="OTHER/in/busy" title="Busy"></iframe>'),
        '/in/busy': sited('<p>Never</p><script>addEventListener("load", () => setTimeout(() => { for (;;); }))</script>'),
        '/stuck': sited('<p>Text</p><iframe src="OTHER/in/stuck"></iframe><p>After</p>'),
        '/in/stuck': sited('<p>Begun</p><script>for (;;);</script>'),
        '/stuck-itself': sited('<p>Text</p><script>addEventListener("load", () => setTimeout(() => { for (;;); }))</script>'),
        '/stuck-inside': sited(
          `<p>Text</p><iframe srcdoc="<p>Inner</p><script>addEventListener('load', () => setTimeout(() => { for (;;); }))</script>"></iframe>`,
        ),
        '/unseen': sited(
          '<p>Text</p><iframe src="OTHER/in/job" width=1 height=1 style="border:0"></iframe><iframe src="OTHER/in/job" style="display:none"></iframe>' +
            '<iframe src="OTHER/in/hidden"></iframe><iframe src="OTHER/in/empty"></iframe>',
        ),
        '/in/hidden': sited('<style>body{display:none}</style><p>Not yet</p>'),
        '/in/empty': sited(''),
        '/film': sited('<p>Text</p><iframe src="OTHER/in/film" title="The film" width=400 height=300></iframe>'),
        '/in/film': sited('<style>body{margin:0}video{width:400px;height:300px}</style><video></video><button>Share</button>'),
        '/many': sited('<iframe src="OTHER/in/deep"></iframe>'.repeat(33)),
        '/menu': sited(
          '<p>Text <a href="/own">Own</a></p><iframe src="/in/job"></iframe><iframe src="https://player.invalid/x" hidden></iframe>',
        ),
        '/article': sited(`<nav><a href=/>Home</a></nav><iframe src="OTHER/in/article"></iframe>`),
        '/in/article': sited(`<article><h1>Tides</h1>${`<p>${words.repeat(3)}</p>`.repeat(5)}</article>`),
      },
    });
    const port = new URL(site.url).port;
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${site.host},localhost:${port}` } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await site.close();
  });

  const get = async (path: string, options: object = {}): Promise<FetchResponse> => {
    const reply = await client.call(fetchPage, { body: { url: `${site.url}${path}`, formats: ['markdown', 'text'], ...options } });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };

  it('the documents of frames stand in Markdown and text where a visitor sees them, also from other sites, with a link to those', async () => {
    const reply = await get('/job');
    assert.match(
      reply.markdown ?? '',
      /^Before\n\n\[Terms\]\(http:\/\/localhost:\d+\/in\/job\)\n\nSalary 4200 EUR \[Apply\]\(http:\/\/localhost:\d+\/in\/apply\)\n\n12 EUR\n\n\| Tea \|\n\| --- \|\n\| Mint \|\n\nAfter$/,
    );
    assert.match(reply.text ?? '', /^Before\s+Salary 4200 EUR Apply\s+12 EUR\s+Tea\s+Mint\s+After$/);
    assert.deepEqual(reply.warnings, []);
  });

  it('the documents of frames are read in frames of frames, in sandboxes and in sets of frames', async () => {
    for (const [path, text] of [
      ['/nested', /^Outer\s+Middle\s+Deep\s+Written\s+End$/],
      ['/sandboxed', /^Outer\s+Sandboxed\s+Tasks\s+A$/],
      ['/set', /^Deep\s+Salary 4200 EUR Apply\s+12 EUR\s+Tea\s+Mint$/],
    ] as const) {
      const reply = await get(path);
      assert.match(reply.text ?? '', text, path);
      assert.deepEqual(reply.warnings, [], path);
    }
  });

  it('the documents of frames can be the main content', async () => {
    const { markdown, warnings } = await get('/article', { only_main_content: true });
    assert.match(markdown ?? '', /Tides\n\nIt is said at length/);
    assert.doesNotMatch(markdown ?? '', /Home/);
    assert.deepEqual(warnings, []);
  });

  it('the documents of frames are counted where they did not load, or are too many', async () => {
    const broken = await get('/broken');
    assert.match(broken.text ?? '', /^Text\s+Deep$/);
    assert.match(broken.markdown ?? '', /\[Gone\]\(/);
    assert.deepEqual(broken.warnings, ['frames_left_out:1']);
    const many = await get('/many');
    assert.equal(many.text?.split('Deep').length, 31);
    assert.deepEqual(many.warnings, ['frames_left_out:3']);
  });

  it('the documents of frames do not take the page along when their script never returns', async () => {
    const stuck = [
      ['/busy', /^Text(\s+Never)?$/],
      ['/stuck', /^Text(\s+Begun)?\s+After$/],
      ['/stuck-itself', /^Text$/],
      ['/stuck-inside', /^Text(\s+Inner)?$/],
    ] as const;
    for (const [path, text] of sampleOf(stuck, 2)) {
      const reply = await get(path, { mode: 'browser', timeout_ms: 10_000, retry: { max_attempts: 1 } });
      assert.match(reply.text ?? '', text, `${path}: ${reply.warnings.join()}`);
      // Stopped where they share the page's process, and left out where they have their own.
      assert.match(reply.warnings.join(), /script_stopped|frames_left_out:1/, path);
    }
  });

  it('the documents of frames are left out without a warning where a visitor sees nothing of them', async () => {
    const { text, warnings } = await get('/unseen');
    assert.deepEqual([text, warnings], ['Text', []]);
  });

  it('the document of a frame with a film is a link', async () => {
    const { markdown, text, warnings } = await get('/film');
    assert.match(markdown ?? '', /^Text\n\n\[The film\]\(http:\/\/localhost:\d+\/in\/film\)$/);
    assert.deepEqual([text, warnings], ['Text', []]);
  });

  const fields = {
    price: { selector: '.price' },
    frame: { selector: 'iframe', attr: 'src' },
    after: { selector: 'body > p:last-of-type' },
  };
  it('the documents of frames are part of links, tables and extracted fields, and counted for HTML', async () => {
    const reply = await get('/job', { formats: ['html', 'links', 'tables', 'metadata', 'json'], extract: { fields } });
    assert.deepEqual(
      reply.links?.map(({ url }) => new URL(url).pathname),
      ['/in/apply'],
    );
    assert.deepEqual(
      reply.tables?.map(({ headers, rows }) => [headers, rows]),
      [[['Tea'], [['Mint']]]],
    );
    const { price, frame, after: last } = reply.json as Record<string, string>;
    assert.deepEqual([price, last], ['12 EUR', 'After']);
    assert.match(frame ?? '', /^http:\/\/localhost:\d+\/in\/job$/);
    assert.match(reply.html ?? '', /<p>Before<\/p><iframe src="[^"]+" title="Terms" width="400"><\/iframe><p>After<\/p>/);
    assert.deepEqual(reply.warnings, ['frames_not_in_html:1']);
    const own = await get('/menu', { formats: ['html', 'links'], only_main_content: true });
    assert.deepEqual(
      own.links?.map(({ url }) => new URL(url).pathname),
      ['/own', '/in/apply'],
    );
    assert.doesNotMatch(own.html ?? '', /Salary|template/);
    assert.deepEqual(own.warnings, ['frames_not_in_html:1']);
    assert.deepEqual((await get('/set', { formats: ['links', 'tables'] })).links?.length, 1);
  });

  it('the documents of frames stand in the source without a browser, or are counted', async () => {
    const plain = { mode: 'http', formats: ['markdown', 'text', 'links'] };
    const written = await get('/sandboxed', plain);
    assert.match(written.markdown ?? '', /^Outer\n\nSandboxed\n\n## Tasks\n\n\[A\]\(http:[^)]*\/a\)$/);
    assert.match(written.text ?? '', /^Outer\s+Sandboxed\s+Tasks\s+A$/);
    assert.equal(written.links?.length, 1);
    assert.deepEqual(written.warnings, []);
    assert.deepEqual((await get('/menu', plain)).warnings, ['frames_left_out:1']);
    assert.deepEqual((await get('/set', { mode: 'http', formats: ['text'] })).warnings, ['frames_left_out:2']);
  });

  // `fetch-visible.test.ts` compares a session with a fetch in every run.
  it('the documents of frames are read in sessions and by steps alike', nightly, async () => {
    const { session_id } = (await client.call(createSession, { body: {} })).body;
    const params = { session_id };
    await client.call(navigate, { params, body: { url: `${site.url}/job` } });
    const read = async (format: 'html' | 'markdown' | 'text' | 'links') =>
      (await client.call(getContent, { params, query: { format } })).body;
    const { markdown, text } = await get('/job');
    const shown = await read('markdown');
    assert.deepEqual([shown.content, shown.warnings], [markdown, []]);
    assert.equal((await read('text')).content, text);
    assert.equal((await read('links')).links?.length, 1);
    assert.deepEqual((await read('html')).warnings, ['frames_not_in_html:1']);
    const steps = [
      { type: 'markdown' },
      { type: 'links' },
      { type: 'extract', table: true },
      { type: 'html' },
      { type: 'markdown', selectors: ['p'] },
    ];
    const { results } = (await client.call(runActions, { params, body: { actions: steps } })).body;
    assert.deepEqual(
      results.map(({ status, warnings = [] }) => [status, warnings]),
      [
        ['ok', []],
        ['ok', []],
        ['ok', []],
        ['ok', ['frames_not_in_html:1']],
        ['ok', []],
      ],
    );
    assert.equal(results[0]?.output, markdown);
    assert.equal((results[1]?.output as unknown[] | undefined)?.length, 1);
    assert.equal((results[2]?.output as unknown[] | undefined)?.length, 1);
    assert.equal(results[4]?.output, 'Before');
    const row = { text: { selectors: ['body'] }, source: { selectors: ['iframe'], attribute: 'src' } };
    const extracts = [
      { selectors: ['body'] },
      { selectors: ['html'], fields: row },
      { fields: row },
      { selectors: ['body, p, iframe'], list: true },
      { selectors: [['iframe', '.price']] },
      { selectors: ['iframe'], attribute: 'src' },
    ].map((fields) => ({ type: 'extract', ...fields }));
    const extracted = (await client.call(runActions, { params, body: { actions: extracts } })).body.results;
    assert.deepEqual(
      extracted.map(({ warnings = [] }) => warnings),
      [['frames_left_out:1'], ['frames_left_out:1'], ['frames_left_out:1'], ['frames_left_out:2'], [], []],
    );
    assert.deepEqual([extracted[0]?.output, extracted[4]?.output], ['Before After', '12 EUR']);
    await client.call(navigate, { params, body: { url: `${site.url}/unseen` } });
    const unseen = (await client.call(runActions, { params, body: { actions: [{ type: 'extract', selectors: ['body'] }] } })).body.results;
    assert.deepEqual(unseen[0]?.warnings ?? [], ['frames_left_out:2']);
    // One frame that never returns is not awaited for long.
    await client.call(navigate, { params, body: { url: `${site.url}/busy` } });
    const busy = await read('text');
    assert.equal(busy.content, 'Text');
    assert.deepEqual(busy.warnings, ['frames_left_out:1']);
    await client.call(endSession, { params });
  });

  it('the documents of frames are read by flows, too', async () => {
    const run = async (task: string, path: string) => {
      const { output, warnings } = (await client.call(runAgent, { body: { task, inputs: { url: `${site.url}${path}` } } })).body;
      return { ...(output as Record<string, unknown>), warnings };
    };
    const { text, warnings } = (await run('snapshot', '/job')) as { text?: string; warnings: unknown };
    assert.match(String(text), /^Before\s+Salary 4200 EUR Apply\s+12 EUR\s+Tea\s+Mint\s+After$/);
    assert.deepEqual(warnings, ['frames_not_in_html:1']);
    const article = (await run('extract_article', '/article')) as { markdown?: string };
    assert.match(String(article.markdown), /Tides\n\nIt is said/);
    assert.equal(((await run('extract_links', '/job')) as { links?: unknown[] }).links?.length, 1);
    assert.equal(((await run('extract_tables', '/job')) as { tables?: unknown[] }).tables?.length, 1);
  });
});
