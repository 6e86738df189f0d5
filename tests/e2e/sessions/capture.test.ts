import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ErrorBody, createSession, getContent, navigate, openTab, pdf, runActions, screenshot, type Endpoint } from '@berth/contract';
import { readPng } from '@berth/devtools/testing/images.ts';
import type { Client, Reply } from '../../harness.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';
import { assertShort } from '../../yardstick.ts';

const square = (colour: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="200"><rect width="200" height="200" fill="${colour}"/></svg>`;

const pages: Parameters<typeof startSite>[0] = {
  pages: {
    '/lazy': page(
      'Lazy',
      `<style>body { margin: 0; height: 9000px; position: relative } img, div { position: absolute; left: 0; width: 200px; height: 200px }</style>
       <img loading="lazy" src="/green.svg" style="top: 5000px"><img loading="lazy" src="/green.svg?late" style="top: 8700px"><div id="seen" style="top: 7000px"></div>
       <script>new IntersectionObserver(([{ isIntersecting, target }]) => { if (isIntersecting) target.style.background = 'rgb(0, 0, 255)'; }).observe(document.getElementById('seen'))</script>`,
    ),
    '/green.svg': (_request, response) =>
      void setTimeout(() => response.setHeader('content-type', 'image/svg+xml').end(square('rgb(0,128,0)')), 150),
    '/tall': page('Tall', '<body style="margin:0"><div style="height:40000px;background:linear-gradient(red,blue)"></div>'),
    '/box': page('Box', '<body style="margin:0"><div id="box" style="margin:37px;width:120px;height:80px;background:rgb(255,0,0)"></div>'),
    // Hangs as one that spins, and leaves the processor to others.
    '/waits': page(
      'Waits',
      `<script>addEventListener('load', () => setTimeout(() => {
        const request = new XMLHttpRequest();
        request.open('GET', '/hang', false);
        request.send();
      }))</script>`,
    ),
    '/paper': page('Paper', '<p>one</p><p style="break-before:page">two</p><p style="break-before:page">three</p>'),
    '/clobbered': page(
      'Clobbered',
      '<p>Here</p><form name="documentElement"></form><img name="body"><form><input name="childNodes"></form>',
    ),
  },
};

type Captures = Record<'screenshot' | 'pdf' | 'content', { reply: Reply; tookMs: number }>;

describe('page captures', () => {
  let shop: Shop;
  let site: Site;
  let service: Service;
  let client: Client;
  let params: { session_id: string };
  let hung: { session_id: string };
  /** What a page that hangs answers: its content has a time of its own, so the other tests run meanwhile. */
  let fromHung: Promise<Captures>;
  before(async () => {
    [shop, site] = await Promise.all([startShop({ consent: false }), startSite(pages)]);
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: [shop.host, shop.otherHost, site.host].join(',') } });
    client = service.client;
    [params, hung] = await Promise.all([create(), create()]);
    await go(`${site.url}/waits`, hung);
    fromHung = askHung();
    fromHung.catch(() => undefined);
  });
  after(async () => {
    await service.close();
    await Promise.all([shop.close(), site.close()]);
  });
  const create = async () => ({ session_id: (await client.call(createSession, { body: {} })).body.session_id });
  const go = async (url: string, to = params): Promise<void> => {
    const { status, text } = await client.call(navigate, { params: to, body: { url } });
    assert.equal(status, 200, text);
  };
  const shoot = async (body: object = {}, of = params) => {
    const { status, body: picture, text } = await client.call(screenshot, { params: of, body: body as Record<string, unknown> });
    assert.equal(status, 200, text.slice(0, 500));
    return picture;
  };
  const askHung = async (): Promise<Captures> => {
    const timed = async (endpoint: Endpoint, body?: Record<string, unknown>) => {
      const since = performance.now();
      const reply = await client.send(endpoint, { params: hung, ...(body ? { body } : {}) });
      return { reply, tookMs: performance.now() - since };
    };
    return {
      screenshot: await timed(screenshot, { timeout_ms: 1500, full_page: true }),
      pdf: await timed(pdf, { timeout_ms: 1500 }),
      content: await timed(getContent),
    };
  };
  const pixels = (base64: string | null) => readPng(Buffer.from(base64 ?? '', 'base64'));

  describe('a screenshot', () => {
    it('a screenshot of a full page contains lazy images', async () => {
      await go(`${site.url}/lazy`);
      const picture = await shoot({ full_page: true });
      assert.equal(picture.height, 9000);
      const { at } = pixels(picture.data_base64);
      assert.deepEqual(
        [at(100, 5100), at(100, 8800), at(100, 7100)].map((pixel) => pixel.slice(0, 3)),
        [
          [0, 128, 0],
          [0, 128, 0],
          [0, 0, 255],
        ],
      );
    });

    it('a screenshot keeps the scroll position', async () => {
      await go(`${site.url}/lazy`);
      // The first screenshot triggers lazy loading, so that nothing else changes.
      await shoot({ full_page: true });
      await client.call(runActions, { params, body: { actions: [{ type: 'scroll', selectors: ['#seen'] }] } });
      const before = await shoot();
      await shoot({ full_page: true });
      const after = await shoot();
      assert.equal(after.data_base64, before.data_base64);
      assert.ok((before.data_base64?.length ?? 0) > 0 && [before.width, before.height].join() === '1280,720');
    });

    it('a screenshot of one element has its size and nothing else', async () => {
      await go(`${site.url}/box`);
      const picture = await shoot({ selector: '#box' });
      assert.deepEqual([picture.width, picture.height, picture.tiles], [120, 80, null]);
      const { at } = pixels(picture.data_base64);
      for (const [x, y] of [
        [0, 0],
        [119, 0],
        [0, 79],
        [119, 79],
      ] as const)
        assert.deepEqual(at(x, y).slice(0, 3), [255, 0, 0]);
    });

    it('a screenshot of a page above 16384 px is returned in tiles', async () => {
      await go(`${site.url}/tall`);
      const { tiles, data_base64, height } = await shoot({ full_page: true, timeout_ms: 60_000, format: 'jpeg', quality: 30 });
      assert.equal(data_base64, null);
      assert.equal(height, 40_000);
      assert.ok((tiles?.length ?? 0) >= 3);
      let y = 0;
      for (const tile of tiles ?? []) {
        assert.equal(tile.y, y);
        y += tile.height;
      }
      assert.equal(y, 40_000);
    });

    it('a screenshot has the requested format', async () => {
      await go(`${site.url}/box`);
      const [jpeg, webp] = [await shoot({ format: 'jpeg' }), await shoot({ format: 'webp' })];
      assert.deepEqual([jpeg.content_type, Buffer.from(jpeg.data_base64 ?? '', 'base64').toString('hex', 0, 3)], ['image/jpeg', 'ffd8ff']);
      assert.deepEqual(
        [webp.content_type, Buffer.from(webp.data_base64 ?? '', 'base64').toString('latin1', 8, 12)],
        ['image/webp', 'WEBP'],
      );
    });

    it('a screenshot of an inactive tab does not activate it', async () => {
      const { body: tab } = await client.call(openTab, { params, body: { url: `${site.url}/box`, active: false } });
      const { at } = pixels((await shoot({ tab_id: tab.tab_id })).data_base64);
      assert.deepEqual(at(100, 80).slice(0, 3), [255, 0, 0]);
    });
  });

  describe('a PDF', () => {
    const pagesOf = (base64: string): number =>
      [
        ...Buffer.from(base64, 'base64')
          .toString('latin1')
          .matchAll(/\/Type\s*\/Page\b(?!s)/g),
      ].length;

    it('a PDF has all pages or the requested ranges', async () => {
      await go(`${site.url}/paper`);
      const whole = (await client.call(pdf, { params })).body;
      const ranges = (await client.call(pdf, { params, body: { page_ranges: '2-3' } })).body;
      assert.deepEqual([pagesOf(whole.data_base64), pagesOf(ranges.data_base64)], [3, 2]);
      assert.equal(Buffer.from(whole.data_base64, 'base64').length, whole.bytes);
    });

    it('a PDF has the requested paper size', async () => {
      await go(`${site.url}/paper`);
      const { data_base64 } = (await client.call(pdf, { params, body: { paper_width_inches: 4, paper_height_inches: 5, landscape: true } }))
        .body;
      assert.match(Buffer.from(data_base64, 'base64').toString('latin1'), /\/MediaBox\s*\[0 0 360 288\]/);
    });

    it('a PDF with ranges out of the document is answered page_failed', async () => {
      await go(`${site.url}/paper`);
      const { details } = await client.refuse(pdf, 'page_failed', { params, body: { page_ranges: '7-9' } });
      assert.equal(details['reason'], 'not_possible');
    });
  });

  describe('the page content', () => {
    const content = async (format: string, more: Record<string, string> = {}) => {
      const { status, body, text } = await client.call(getContent, { params, query: { format, ...more } });
      assert.equal(status, 200, text);
      return body;
    };

    it('the page content is returned in every format', async () => {
      await go(`${shop.url}/products/amber-desk-lamp`);
      const html = await content('html');
      assert.match(html.content ?? '', /^<!DOCTYPE html><html lang="en">/);
      assert.equal(html.url, `${shop.url}/products/amber-desk-lamp`);
      assert.match((await content('markdown')).content ?? '', /^# Amber Desk Lamp/im);
      const text = (await content('text')).content ?? '';
      assert.match(text, /Amber Desk Lamp/i);
      assert.ok(!text.includes('<'));
      const { links } = await content('links');
      assert.ok(links?.some(({ url, internal }) => url === `${shop.url}/cart` && internal));
      assert.ok(links?.every(({ url }) => URL.canParse(url)));
    });

    it('the page content can be limited to the main content', async () => {
      await go(`${shop.url}/journal`);
      const [first] = ((await content('links')).links ?? []).filter(({ url }) => /\/journal\/./.test(url));
      await go(first?.url ?? assert.fail('no article'));
      const whole = (await content('markdown')).content ?? '';
      const main = (await content('markdown', { only_main_content: 'true' })).content ?? '';
      assert.ok(main.length > 200 && main.length < whole.length);
      assert.ok(whole.includes('/cart') && !main.includes('/cart'));
      // It is shown to whoever reaches it by keyboard only.
      assert.ok(!whole.includes('Skip to content'));
    });

    it('the page content is the current DOM, not the original HTML', async () => {
      await go(`${shop.url}/widgets/timing`);
      await client.call(runActions, { params, body: { actions: [{ type: 'click', selectors: ['#late'] }] } });
      assert.match((await content('text')).content ?? '', /Here I am/);
    });

    it('the page content cannot be hidden by DOM clobbering', async () => {
      await go(`${site.url}/clobbered`);
      assert.match((await content('html')).content ?? '', /<p>Here<\/p>/);
    });
  });

  describe('captures of a page that hangs', () => {
    for (const [kind, msMax] of [
      // Without its timeout it would have half a minute.
      ['screenshot', 20_000],
      ['pdf', 20_000],
      // It has fifteen seconds; the call itself has more than two minutes.
      ['content', 60_000],
    ] as const)
      it(`a capture of a page that hangs times out: ${kind}`, async () => {
        const { reply, tookMs } = (await fromHung)[kind];
        const { error } = ErrorBody.parse(reply.body);
        assert.deepEqual([reply.status, error.code, error.details['reason']], [502, 'page_failed', 'timeout']);
        assertShort(tookMs, msMax);
      });

    it('captures of a page that hangs keep the session usable', async () => {
      await go(`${site.url}/`, hung);
      assert.equal((await client.call(getContent, { params: hung, query: { format: 'text' } })).body.title, 'Home');
    });
  });
});
