import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  ErrorBody,
  createSession,
  endSession,
  getSession,
  listTabs,
  openTab,
  runActions,
  uploadFile,
  type ActionsResponse,
} from '@berth/contract';
import type { Client, Reply } from '../../harness.ts';
import { ada } from '../../shop/pages/account.ts';
import { exportBytes } from '../../shop/pages/files.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { nightly } from '../../nightly.ts';
import { hostilePages } from '../hostile-pages.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';
import { assertPrompt, assertShort } from '../../yardstick.ts';

/** Beyond the given timeout, on a busy machine. Without a timeout a hostile page takes a minute. */
const graceMs = 20_000;

const greedyPages = {
  ...hostilePages,
  '/ask-again': page(
    'Ask again',
    `<button id="go" onclick="setInterval(() => { alert(1); confirm(2); prompt(3); }, 0)">Go</button><input id="name">
     <script>addEventListener('beforeunload', (event) => event.preventDefault())</script>`,
  ),
  '/spin-on-click': page('Spin on click', '<button id="go" onclick="for (;;);">Go</button>'),
  '/many': page('Many', `<ul>${'<li><a href="/second">x</a></li>'.repeat(20_000)}</ul>`),
};

describe('steps in a real shop', () => {
  let shop: Shop;
  let site: Site;
  let service: Service;
  let client: Client;
  /** Session of the tests that need no fresh browser: a start takes longer than most. It has answered the consent dialog. */
  let shared: Params;
  before(async () => {
    [shop, site] = await Promise.all([startShop(), startSite({ pages: greedyPages })]);
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: [shop.host, shop.otherHost, site.host].join(',') } });
    client = service.client;
    shared = await create();
    await done(shared, [open('/'), { type: 'click', selectors: ['[data-consent=none]'] }]);
  });
  after(async () => {
    await service.close();
    await Promise.all([shop.close(), site.close()]);
  });

  const create = async () => ({ session_id: (await client.call(createSession, { body: {} })).body.session_id });
  type Params = Awaited<ReturnType<typeof create>>;
  const run = (params: Params, body: object): Promise<Reply<ActionsResponse>> =>
    client.call(runActions, { params, body: body as Record<string, unknown> });
  /** Expects all steps to succeed and returns their outputs. */
  const done = async (params: Params, actions: object[], more: object = {}): Promise<unknown[]> => {
    const { status, body, text } = await run(params, { actions, timeout_ms: 120_000, ...more });
    assert.equal(status, 200, text);
    const failed = body.results.filter((result) => result.status !== 'ok');
    assert.deepEqual(failed, []);
    assert.equal(body.results.length, actions.length);
    return body.results.map(({ output }) => output);
  };
  const open = (path: string) => ({ type: 'navigate', url: shop.url + path });
  const textOf = (selector: string) => ({ type: 'extract', selectors: [selector] });

  it('steps in a real shop accept the consent dialog, search, fill the cart and log in within one call', async () => {
    const params = await create();
    const outputs = await done(
      params,
      [
        open('/'),
        { type: 'click', selectors: ['text/Reject all'] },
        { type: 'fill', selectors: ['aria/Search the shop[role="combobox"]'], value: 'amber desk lamp' },
        { type: 'press', keys: 'Enter' },
        { type: 'wait', url: '/search' },
        { type: 'click', selectors: ['main a[href*="/products/"]'] },
        { type: 'fill', selectors: ['label/Quantity'], value: '2' },
        { type: 'click', selectors: ['testid/add-to-cart'] },
        { type: 'wait', text: 'Added to your cart' },
        textOf('testid/cart-count'),
        open('/login?next=/checkout'),
        { type: 'type', selectors: ['label/E-mail address'], text: '{{inputs.email}}' },
        { type: 'fill', selectors: ['#password'], value: '{{inputs.password}}' },
        { type: 'check', selectors: ['label/Remember me'] },
        { type: 'click', selectors: ['aria/Log in[role="button"]'] },
        { type: 'wait', selectors: ['iframe[name="address"]'] },
      ],
      { inputs: ada },
    );
    assert.equal(outputs[9], '2');
    const { body } = await client.call(getSession, { params });
    assert.equal(body.current_url, `${shop.url}/checkout`);
    assert.equal(body.usage.actions, 16);
  });

  it('steps in a real shop fill every kind of field', async () => {
    const params = shared;
    const outputs = await done(params, [
      open('/widgets/forms'),
      { type: 'fill', selectors: ['label/Full name'], value: 'Ada Vermeer' },
      { type: 'fill', selectors: ['placeholder/Nickname'], value: 'ada' },
      { type: 'fill', selectors: ['#born'], value: '1990-05-17' },
      { type: 'fill', selectors: ['#volume'], value: '7' },
      { type: 'fill', selectors: ['#colour'], value: '#ff8800' },
      { type: 'select', selectors: ['label/Country'], label: 'Portugal' },
      { type: 'select', selectors: ['#rooms'], value: ['study', 'hall'] },
      { type: 'check', selectors: ['label/By bicycle'] },
      { type: 'check', selectors: ['label/It is a gift'] },
      { type: 'click', selectors: ['testid/send'] },
      textOf('testid/sent'),
    ]);
    assert.deepEqual(JSON.parse(String(outputs.at(-1))), {
      full_name: 'Ada Vermeer',
      email: '',
      nickname: 'ada',
      company: '',
      born: '1990-05-17',
      volume: '7',
      colour: '#ff8800',
      country: 'pt',
      rooms: ['study', 'hall'],
      delivery: 'bike',
      gift: 'yes',
      note: '',
    });
  });

  it('steps in a real shop upload a file of the session', async () => {
    const params = shared;
    const data = Buffer.from('a broken kettle');
    const { body: file } = await client.call(uploadFile, { params, body: { name: 'kettle é.txt', data_base64: data.toString('base64') } });
    const outputs = await done(params, [
      open('/support'),
      { type: 'select', selectors: ['label/Subject'], label: 'A repair' },
      { type: 'fill', selectors: ['label/Message'], value: 'It leaks.' },
      { type: 'upload', selectors: ['#files'], file_ids: [file.file_id] },
      { type: 'click', selectors: ['text/Send'] },
      { type: 'extract', selectors: ['#received td'], list: true },
    ]);
    assert.deepEqual(outputs.at(-1), ['kettle é.txt', String(data.length), createHash('sha256').update(data).digest('hex')]);
    const { body: unknown } = await run(params, {
      actions: [open('/support'), { type: 'upload', selectors: ['#files'], file_ids: ['file_of_somebody_else'] }],
    });
    assert.deepEqual(
      unknown.results.map(({ error }) => error?.code),
      [undefined, 'file_not_found'],
    );
  });

  it('steps in a real shop download a megabyte unchanged', async () => {
    const params = shared;
    const outputs = await done(params, [open('/downloads'), { type: 'download', selectors: ['text/Catalogue export (1 MB)'] }]);
    const { download_id, bytes } = outputs.at(-1) as { download_id: string; bytes: number };
    assert.equal(bytes, exportBytes.length);
    const response = await fetch(`${service.url}/v1/session/${params.session_id}/downloads/${download_id}`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    const data = Buffer.from(await response.arrayBuffer());
    assert.equal(createHash('sha256').update(data).digest('hex'), response.headers.get('x-content-sha256'));
    assert.ok(data.equals(exportBytes));
  });

  it('steps in a real shop drag with HTML drag and drop and with pointer events', async () => {
    const params = shared;
    const outputs = await done(params, [
      open('/wishlist'),
      { type: 'drag', selectors: ['#dnd li'], to: ['#dnd li:nth-child(3)'], to_position: { x: 20, y: 40 } },
      textOf('#order'),
      { type: 'drag', selectors: ['#by-pointer li:nth-child(4)'], to: ['#by-pointer li'], to_position: { x: 20, y: 5 } },
      textOf('#order'),
    ]);
    assert.deepEqual([outputs[2], outputs[4]], ['57, 112, 3, 164', '164, 3, 57, 112']);
  });

  // The flow `scroll_to_end` does it in each run, in the same page.
  it('steps in a real shop scroll to the end of a growing page and extract all items', nightly, async () => {
    const params = shared;
    const outputs = await done(params, [
      open('/discover'),
      { type: 'scroll', to: 'bottom', until: { stable: true }, idle_ms: 1500, timeout_ms: 60_000 },
      { type: 'extract', selectors: ['main a[href*="/products/"]'], list: true, attribute: 'href' },
    ]);
    assert.ok((outputs.at(-1) as string[]).length > 50, `${(outputs.at(-1) as string[]).length} products`);
  });

  it('steps in a real shop replay a Chrome Recorder recording', async () => {
    const params = await create();
    const recording = {
      title: 'Search the shop',
      steps: [
        { type: 'setViewport', width: 1200, height: 800, deviceScaleFactor: 1, isMobile: false, hasTouch: false, isLandscape: false },
        { type: 'navigate', url: `${shop.url}/`, assertedEvents: [{ type: 'navigation', url: `${shop.url}/`, title: 'Home' }] },
        { type: 'click', target: 'main', selectors: [['aria/Reject all'], ['[data-consent=none]']], offsetX: 10, offsetY: 10 },
        { type: 'change', target: 'main', selectors: [['#q'], ['aria/Search the shop']], value: 'lamp' },
        { type: 'keyDown', target: 'main', key: 'Enter' },
        { type: 'keyUp', target: 'main', key: 'Enter' },
        { type: 'waitForElement', selectors: [['h1']] },
      ],
    };
    const { status, body, text } = await run(params, { recording });
    assert.equal(status, 200, text);
    assert.ok(
      body.results.every((result) => result.status === 'ok'),
      JSON.stringify(body.results),
    );
    assert.equal(body.final_url, `${shop.url}/search?q=lamp`);
  });

  it('steps in a real shop drive windows that the page opens', async () => {
    const params = shared;
    await done(params, [
      open('/widgets/dialogs'),
      { type: 'click', id: 'opener', selectors: ['text/Open window'] },
      { type: 'assert', tab: 'opened_by:opener', url: '/help' },
    ]);
    const tabs = (await client.call(listTabs, { params })).body;
    assert.ok(tabs.some(({ opener_tab_id: opener }) => opener !== null));
  });

  it('steps in a real shop answer dialogs as requested and dismiss others', async () => {
    const params = shared;
    const outputs = await done(params, [
      open('/widgets/dialogs'),
      { type: 'click', selectors: ['text/Confirm'] },
      textOf('#said'),
      { type: 'dialog', accept: true, text: '7' },
      { type: 'click', selectors: ['text/Prompt'] },
      textOf('#said'),
    ]);
    assert.deepEqual([outputs[2], outputs[5]], ['declined', 'prompted: 7']);
  });

  describe('a hostile page', () => {
    const bounded = async (params: Params, actions: object[], timeout_ms: number): Promise<ActionsResponse> => {
      const since = performance.now();
      const { body, status, text } = await run(params, { actions, timeout_ms });
      const took = performance.now() - since;
      assert.equal(status, 200, text);
      assertShort(took, timeout_ms + graceMs);
      return body;
    };
    /**
     * Checks that the session works, in a new tab, because a page may block its own tab. A page may also keep the
     * browser busy for a while, so a refusal that the API declares as retryable is retried.
     */
    const assertAlive = async (params: Params): Promise<void> => {
      const retryUntil = performance.now() + 60_000;
      const open = () => client.call(openTab, { params, body: { url: `${site.url}/`, timeout_ms: 20_000 } });
      let reply = await open();
      while (isRetryable(reply) && performance.now() < retryUntil) reply = await open();
      assert.deepEqual([reply.status, reply.body.title], [201, 'Home'], reply.text);
    };
    const isRetryable = ({ status, body }: Reply): boolean => status === 502 && ErrorBody.parse(body).error.retryable;

    // Those without a mark are a sample. The others take a processor for some seconds each, and are fetched and navigated to by other tests.
    for (const [what, path, steps, options = {}] of [
      [
        'asks in dialogs without end',
        '/ask-again',
        [
          { type: 'click', selectors: ['#go'] },
          { type: 'fill', selectors: ['#name'], value: 'x' },
        ],
        nightly,
      ],
      [
        'spins when it is clicked',
        '/spin-on-click',
        [
          { type: 'click', selectors: ['#go'] },
          { type: 'extract', selectors: ['#go'] },
        ],
      ],
      [
        'spins after it has loaded',
        '/spin-later',
        [
          { type: 'wait', ms: 200 },
          { type: 'extract', selectors: ['body'] },
        ],
        nightly,
      ],
      ['has hundreds of frames', '/frames?count=300', [{ type: 'extract', selectors: ['text/nowhere'] }], nightly],
      ['asks for a password', '/auth', [{ type: 'extract', selectors: ['body'] }], nightly],
      ['downloads two hundred files', '/downloads', [{ type: 'wait', ms: 500 }], nightly],
      ['prints without end', '/print-loop', [{ type: 'extract', selectors: ['body'] }], nightly],
    ] as [string, string, object[], object?][])
      it(`a hostile page that ${what} costs at most the given time, and the session continues`, options, async () => {
        const params = await create();
        try {
          await bounded(
            params,
            [{ type: 'navigate', url: site.url + path, timeout_ms: 2000 }, ...steps.map((step) => ({ timeout_ms: 1500, ...step }))],
            4000,
          );
          await assertAlive(params);
        } finally {
          // Its page takes all the processor it may, for as long as it lives.
          await client.call(endSession, { params });
        }
      });

    it(
      'a hostile page that has a thousand frames lets a tab be opened beside it in time, or refuses it with a declared error',
      nightly,
      async () => {
        const params = await create();
        try {
          await run(params, { actions: [{ type: 'navigate', url: `${site.url}/frames?count=1000`, timeout_ms: 2000 }], timeout_ms: 4000 });
          const since = performance.now();
          const { status, body, text } = await client.call(openTab, { params, body: { url: `${site.url}/`, timeout_ms: 10_000 } });
          assertPrompt(since, 10_000 + graceMs);
          if (status !== 201) assert.ok(openTab.errors.includes(ErrorBody.parse(body).error.code), text);
        } finally {
          await client.call(endSession, { params });
        }
      },
    );

    it('a hostile page with very many elements returns a truncated result', async () => {
      const params = shared;
      const { results } = await bounded(
        params,
        [
          { type: 'navigate', url: `${site.url}/many` },
          { type: 'extract', selectors: ['li'], list: true, limit: 100, timeout_ms: 30_000 },
        ],
        30_000,
      );
      assert.equal((results[1]?.output as string[] | undefined)?.length, 100);
    });

    it('a hostile page cannot redirect steps to a private address', async () => {
      const params = shared;
      const { results } = await bounded(params, [{ type: 'navigate', url: 'http://169.254.169.254/latest/meta-data' }], 20_000);
      assert.equal(results[0]?.error?.code, 'navigation_failed');
    });
  });
});
