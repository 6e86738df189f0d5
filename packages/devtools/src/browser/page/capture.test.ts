import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ServerResponse } from 'node:http';
import { delayBounds, describeDelay, measureDelay } from '../../../../../tests/hostile-text/delay.ts';
import { PageError, type CallOptions, type Page, type Screenshot, type ScreenshotOptions } from './page.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { elementIn } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';
import { readPng } from '../../../testing/images.ts';

const green = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><rect width="100" height="100" fill="#00ff00"/></svg>';

/** Blue, once it shows itself. */
const hides = (style: string, shows: string): string =>
  `<style>${style}</style><body style="margin:0;background:#00f"><div style="height:400px;background:#00f">text</div><script>${shows}</script>`;

const replies = {
  '/hides/0': hides('body { visibility: hidden }', "setTimeout(() => { document.body.style.visibility = 'visible' }, 900)"),
  '/hides/1': hides(
    'html.loading { opacity: 0 }',
    "document.documentElement.className = 'loading'; setTimeout(() => { document.documentElement.className = '' }, 900)",
  ),
  '/hides/2': hides('body { display: none }', "setTimeout(() => { document.body.style.display = 'block' }, 900)"),
  '/hides/always': '<style>body { visibility: hidden }</style><body>text',
  '/colours': `<body style="margin:0;background:#fff"><div style="height:100px;background:#f00"></div><div
      style="height:100px;background:#00f"></div>
    <div style="height:1800px"></div><div id=end style="margin-left:30px;width:50px;height:40px;background:#0f0"></div>`,
  '/lazy': `<body style="margin:0">${Array.from(
    { length: 12 },
    (_, i) => `<div style="height:900px"><img
    loading=lazy src="/green?${i}" width=100 height=100></div>`,
  ).join('')}`,
  '/green': (_: unknown, response: ServerResponse) => void response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(green),
  '/tall': '<body style="margin:0"><div style="height:20000px;background:#f00"></div><div style="height:1000px;background:#00f"></div>',
  '/endless': `<body style="margin:0"><script>
    const more = () => { const d = document.createElement('div'); d.style.height = '800px'; document.body.append(d); };
    more(); more(); more();
    addEventListener('scroll', () => { more(); more(); });
  </script>`,
  '/frames': `<body style="margin:0"><div style="height:900px"></div><iframe src="{other}/colours"
        style="width:300px;height:250px;border:0;display:block"></iframe>`,
  '/noise': `<body style="margin:0"><canvas width=1000 height=1000></canvas><script>
    const c = document.querySelector('canvas').getContext('2d'); const d = c.createImageData(1000, 1000);
    for (let i = 0; i < d.data.length; i += 65536) crypto.getRandomValues(d.data.subarray(i, i + 65536));
    for (let i = 3; i < d.data.length; i += 4) d.data[i] = 255;
    c.putImageData(d, 0, 0);
  </script>`,
  '/large-noise': `<body style="margin:0"><script>
    const canvases = Array.from({ length: 8 }, () => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 4096, height: 2048 });
      canvas.style.display = 'block';
      return document.body.appendChild(canvas);
    });
    const [first, ...others] = canvases;
    const data = new ImageData(4096, 2048);
    for (let i = 0; i < data.data.length; i += 65536) crypto.getRandomValues(data.data.subarray(i, i + 65536));
    for (let i = 3; i < data.data.length; i += 4) data.data[i] = 255;
    first.getContext('2d').putImageData(data, 0, 0);
    for (const other of others) other.getContext('2d').drawImage(first, 0, 0);
  </script>`,
  '/reveal': `<body style="margin:0"><style>
    html { scroll-behavior: smooth } .late { opacity: 0; transition: opacity .5s } .late.shown { opacity: 1 }
    </style><div style="height:1500px"></div><div class="late" style="height:300px;background:#00f"></div>
    <div style="height:900px"></div><div id="timer" style="height:300px"></div>
    <div id="picture" style="height:300px"></div><script>
    const whenSeen = (element, act) => new IntersectionObserver((entries) => {
      for (const { isIntersecting } of entries) if (isIntersecting) act(element);
    }).observe(element);
    whenSeen(document.querySelector('.late'), (element) => element.classList.add('shown'));
    whenSeen(document.getElementById('timer'), (element) => setTimeout(() => { element.style.background = '#f0f'; }, 300));
    whenSeen(document.getElementById('picture'), (element) => { element.style.background = 'url(/slow-green) 0 0 / cover'; });
  </script>`,
  '/slow-green': (_: unknown, response: ServerResponse) =>
    void setTimeout(() => response.writeHead(200, { 'content-type': 'image/svg+xml', 'cache-control': 'no-store' }).end(green), 600),
  '/fading': `<body style="margin:0"><style>@keyframes appear { from { opacity: 0 } } @keyframes turn { to { rotate: 1turn } }</style>
    <div style="height:100px;background:#00f;animation:appear .6s"></div>
    <div style="width:10px;height:10px;animation:turn 1s infinite"></div>`,
  '/app-shell': `<body style="margin:0;overflow:hidden"><header style="height:60px">App</header>
    <main style="height:calc(100vh - 60px);overflow-y:auto"><div style="height:4000px">List</div></main>`,
  '/label': '<style>@page { size: 100mm 50mm; margin: 5mm }</style><body>Label',
  '/late-pictures': `<body style="margin:0"><div style="height:5000px"></div><img class="late" data-src="/green?late" width=100 height=100><script>
    new IntersectionObserver((entries, observer) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) { target.src = target.dataset.src; observer.disconnect(); }
    }).observe(document.querySelector('.late'));
  </script>`,
  '/clear': '<body style="margin:0"><div style="width:10px;height:10px;background:#f00"></div>',
};

let pages: Pages;
let launched: Launched;
let page: Page;

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  page = launched.browser.page(launched.browser.activeTab().tabId);
});
after(async () => {
  await launched.end();
  await pages.close();
});

const call = (): CallOptions => ({ signal: AbortSignal.timeout(30_000), timeoutMs: 20_000 });
const limits = (maxBytes = 50_000_000): CallOptions & { maxBytes: number } => ({ ...call(), maxBytes });
const go = (path: string): Promise<unknown> => page.navigate({ url: pages.url + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
const screenshot = (options: Partial<ScreenshotOptions> = {}): Promise<Screenshot> =>
  page.screenshot({ format: 'png', fullPage: false, scrollFirst: false, ...options }, limits());
const pixels = ({ tiles }: Screenshot, tile = 0): ReturnType<typeof readPng> => readPng(tiles[tile]?.data ?? Buffer.alloc(0));

describe('a screenshot', () => {
  it('a screenshot shows the viewport', async () => {
    await go('/colours');
    await page.call(page.mainFrame(), '() => scrollTo(0, 50)', [], call());
    const shot = await screenshot();
    const picture = pixels(shot);
    assert.deepEqual([shot.width, shot.height, picture.width, picture.height], [1280, 720, 1280, 720]);
    assert.deepEqual(
      [picture.at(0, 49), picture.at(0, 51), picture.at(0, 149), picture.at(0, 151)].map((each) => each.join()),
      ['255,0,0,255', '0,0,255,255', '0,0,255,255', '255,255,255,255'],
    );
  });

  it('a full-page screenshot shows the whole page, and leaves it as it was', async () => {
    await go('/colours');
    await page.call(page.mainFrame(), '() => scrollTo(0, 60)', [], call());
    const shot = await screenshot({ fullPage: true });
    const picture = pixels(shot);
    assert.deepEqual([shot.tiles.length, shot.height, picture.width, picture.height], [1, 2040, 1280, 2040]);
    assert.deepEqual(
      [picture.at(5, 5), picture.at(5, 105), picture.at(35, 2005), picture.at(25, 2005)].map((each) => each.join()),
      ['255,0,0,255', '0,0,255,255', '0,255,0,255', '255,255,255,255'],
    );
    assert.deepEqual(await page.call(page.mainFrame(), '() => [scrollY, innerWidth, innerHeight]', [], call()), [60, 1280, 720]);
  });

  it('a screenshot shows one element, wherever it is', async () => {
    await go('/colours');
    const shot = await screenshot({ element: await elementIn(page, page.mainFrame(), '#end') });
    const picture = pixels(shot);
    assert.deepEqual([picture.width, picture.height, shot.width, shot.height], [50, 40, 50, 40]);
    for (const [x, y] of [
      [0, 0],
      [49, 0],
      [0, 39],
      [49, 39],
    ] as const)
      assert.deepEqual(picture.at(x, y), [0, 255, 0, 255]);
    await go('/frames');
    const far = (await page.frames(call())).at(-1)?.id ?? '';
    const inFrame = pixels(await screenshot({ element: await elementIn(page, far, '#end') }));
    assert.deepEqual(
      [inFrame.width, inFrame.height, inFrame.at(1, 1).join(), inFrame.at(48, 38).join()],
      [50, 40, '0,255,0,255', '0,255,0,255'],
    );
  });

  it('a full-page screenshot has lazily loaded images', async () => {
    await go('/lazy');
    await page.call(page.mainFrame(), '() => scrollTo(0, 30)', [], call());
    const picture = pixels(await screenshot({ fullPage: true, scrollFirst: true }));
    for (let i = 0; i < 12; i += 1) assert.deepEqual(picture.at(50, i * 900 + 50), [0, 255, 0, 255], `picture ${i}`);
    assert.equal(await page.call(page.mainFrame(), '() => scrollY', [], call()), 30);
  });

  it('a screenshot too high for one tile comes in tiles', async () => {
    await go('/tall');
    const shot = await screenshot({ fullPage: true });
    assert.deepEqual(
      shot.tiles.map(({ width, height, y }) => [width, height, y]),
      [
        [1280, 16_384, 0],
        [1280, 4616, 16_384],
      ],
    );
    assert.deepEqual(shot.warnings, []);
    assert.equal(pixels(shot).height, 16_384);
    const last = pixels(shot, 1);
    assert.deepEqual(
      [last.height, last.at(0, 0).join(), last.at(0, 3610).join(), last.at(0, 3620).join(), last.at(0, 4615).join()],
      [4616, '255,0,0,255', '255,0,0,255', '0,0,255,255', '0,0,255,255'],
    );
  });

  it('a screenshot of 4096 × 16384 pixels of noise is too large, and the browser stays', async () => {
    await go('/large-noise');
    const delay = await measureDelay(() =>
      assert.rejects(
        page.screenshot(
          { format: 'png', fullPage: true, scrollFirst: false },
          { signal: AbortSignal.timeout(100_000), timeoutMs: 90_000, maxBytes: 24 * 1024 ** 2 },
        ),
        (error) => error instanceof PageError && error.reason === 'too_large' && /JPEG/.test(error.message),
      ),
    );
    assert.ok(delay.max <= delayBounds.max, describeDelay(delay));
    assert.equal(await page.call(page.mainFrame(), '() => document.querySelectorAll("canvas").length', [], call()), 8);
    await go('/clear');
  });

  it('a screenshot of noise that fits holds up nobody while it arrives and is decoded', async () => {
    await go('/large-noise');
    await page.setViewport({ width: 2400, height: 2400, device_scale_factor: 1 }, call());
    let shot: Screenshot | undefined;
    const delay = await measureDelay(async () => (shot = await screenshot()));
    assert.deepEqual([shot?.width, shot?.tiles.length], [2400, 1]);
    const data = shot?.tiles[0]?.data ?? Buffer.alloc(0);
    assert.ok(data.length > 16 * 1024 ** 2 && data.subarray(-8, -4).toString() === 'IEND', `${data.length} bytes`);
    assert.ok(delay.max <= delayBounds.max, describeDelay(delay));
    await page.setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
    await go('/clear');
  });

  it('tiles of a screenshot fit their format and end at a whole pixel', async () => {
    await page.setViewport({ width: 300, height: 200, device_scale_factor: 1.25 }, call());
    await go('/tall');
    const webp = await screenshot({ fullPage: true, format: 'webp' });
    assert.deepEqual(
      webp.tiles.map(({ y, height }) => [y, height]),
      [
        [0, 16_380],
        [16_380, 9870],
      ],
    );
    for (const { data } of webp.tiles) assert.equal(data.toString('latin1', 8, 12), 'WEBP');
    await page.setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
  });

  it('a screenshot of a viewport with too many pixels for one tile has each part once', async () => {
    await page.setViewport({ width: 3840, height: 2160, device_scale_factor: 2 }, call());
    await go('/colours');
    const shot = await screenshot();
    assert.deepEqual([shot.tiles.length, shot.width, shot.height], [2, 7680, 4320]);
    assert.deepEqual([pixels(shot).at(0, 0).join(), pixels(shot, 1).at(0, 0).join()], ['255,0,0,255', '255,255,255,255']);
    await page.setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
  });

  it('a screenshot does not follow a page that grows for ever', async () => {
    await go('/endless');
    const shot = await screenshot({ scrollFirst: true });
    assert.deepEqual(shot.warnings, ['page_keeps_growing']);
  });

  it('a screenshot has the pixel ratio of the screen', async () => {
    await page.setViewport({ width: 400, height: 300, device_scale_factor: 2 }, call());
    await go('/colours');
    assert.deepEqual(await page.call(page.mainFrame(), '() => [innerWidth, innerHeight, devicePixelRatio]', [], call()), [400, 300, 2]);
    for (const fullPage of [false, true]) {
      const shot = await screenshot({ fullPage });
      const picture = pixels(shot);
      assert.deepEqual([picture.width, picture.height], [shot.width, shot.height]);
      assert.deepEqual([shot.width, shot.height], [800, fullPage ? 4080 : 600]);
      assert.deepEqual([picture.at(0, 199).join(), picture.at(0, 201).join()], ['255,0,0,255', '0,0,255,255']);
    }
    await page.setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
  });

  it('a screenshot has the requested format, and is transparent on request', async () => {
    await go('/clear');
    assert.deepEqual(pixels(await screenshot({ omitBackground: true })).at(50, 50), [0, 0, 0, 0]);
    assert.deepEqual(pixels(await screenshot()).at(50, 50), [255, 255, 255, 255]);
    const jpeg = await screenshot({ format: 'jpeg', quality: 50 });
    assert.deepEqual([jpeg.contentType, jpeg.tiles[0]?.data.toString('hex', 0, 3)], ['image/jpeg', 'ffd8ff']);
    const webp = await screenshot({ format: 'webp' });
    assert.deepEqual([webp.contentType, webp.tiles[0]?.data.toString('latin1', 8, 12)], ['image/webp', 'WEBP']);
  });

  it('a screenshot that is too large is refused', async () => {
    await go('/noise');
    await assert.rejects(page.screenshot({ format: 'png', fullPage: false, scrollFirst: false }, limits(1_000_000)), {
      reason: 'too_large',
    });
  });
});

describe('a screenshot of a page that changes as it is seen', () => {
  it('a screenshot shows what scrolling reveals: transitions at their end, late colours and backgrounds', async () => {
    await go('/reveal');
    const picture = pixels(await screenshot({ fullPage: true, scrollFirst: true }));
    assert.deepEqual(
      [1600, 2800, 3100].map((y) => picture.at(100, y).join()),
      ['0,0,255,255', '255,0,255,255', '0,255,0,255'],
    );
  });

  it('a screenshot waits for a page that hides itself while it loads, and warns of one that stays hidden', async () => {
    for (const form of [0, 1, 2]) {
      await go(`/hides/${form}`);
      const picture = await screenshot();
      assert.deepEqual([pixels(picture).at(50, 50).join(), picture.warnings], ['0,0,255,255', []], `${form}`);
    }
    await go('/hides/always');
    assert.deepEqual((await screenshot()).warnings, ['page_hidden']);
  });

  it('a screenshot waits for animations that end soon, and for no endless one', async () => {
    await go('/fading');
    assert.equal(
      pixels(await screenshot())
        .at(50, 50)
        .join(),
      '0,0,255,255',
    );
  });

  it('a screenshot warns that a page within a scroll area is not shown whole', async () => {
    await go('/app-shell');
    assert.deepEqual((await screenshot({ fullPage: true })).warnings, ['scroll_area_cut']);
    assert.deepEqual((await screenshot()).warnings, []);
    await go('/colours');
    assert.deepEqual((await screenshot({ fullPage: true })).warnings, []);
  });
});

describe('a PDF file', () => {
  it('a PDF file has the pages of the document', async () => {
    await go('/colours');
    const file = await page.pdf({ printBackground: true, marginInches: 0, paperWidthInches: 5, footerTemplate: '<b>f</b>' }, limits());
    assert.equal(file.toString('latin1', 0, 5), '%PDF-');
    assert.ok(file.toString('latin1').includes('%%EOF'));
  });

  it('a PDF file has the page size of the style sheet on request', async () => {
    await go('/label');
    const boxOf = (file: Buffer): string[] => /MediaBox\s*\[([^\]]+)\]/.exec(file.toString('latin1'))?.[1]?.trim().split(/\s+/) ?? [];
    const [, , width, height] = boxOf(await page.pdf({ preferCssPageSize: true }, limits()));
    assert.deepEqual([Math.round(Number(width)), Math.round(Number(height))], [283, 142]);
    assert.notEqual(Math.round(Number(boxOf(await page.pdf({}, limits()))[2])), 283);
  });

  it('a PDF file has the pictures that load when they are scrolled to', async () => {
    await go('/late-pictures');
    await page.pdf({ scrollFirst: true }, limits());
    const loaded = '() => document.querySelector(".late").complete && document.querySelector(".late").naturalWidth';
    assert.equal(await page.call(page.mainFrame(), loaded, [], call()), 100);
  });

  it('a PDF file that the tab shows is not printed as a blank sheet', async () => {
    await go('/colours');
    const file = await page.pdf({}, limits());
    pages.replies['/file'] = (_, response) => void response.writeHead(200, { 'content-type': 'application/pdf' }).end(file);
    await go('/file');
    await assert.rejects(page.pdf({}, limits()), (error) => error instanceof PageError && error.reason === 'not_possible');
  });

  it('a PDF file that is too large or cannot be printed is refused', async () => {
    await go('/colours');
    await assert.rejects(page.pdf({}, limits(100)), { reason: 'too_large' });
    await assert.rejects(page.pdf({ pageRanges: 'x' }, limits()), (error) => error instanceof PageError && error.reason === 'not_possible');
  });
});
