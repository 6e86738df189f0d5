import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser, type CDPSession, type Page } from 'playwright-core';
import { snapshotScript, type Snapshot, type SnapshotOptions } from './content.ts';

const paragraph = '<p>It says this at length, with commas, and so on, and on, until nobody doubts it. <a href="/more">More</a></p>';
const article = `<article><h1>The article</h1>${paragraph.repeat(20)}</article>`;

const pages: Record<string, { type?: string; headers?: Record<string, string>; body: string }> = {
  '/plain': {
    body:
      '<!doctype html><html lang="en"><head><title>Plain &amp; simple</title></head><body>' +
      '<p class="a&quot;b">1 &lt; 2&nbsp;!</p><br><!-- note --><script>1 < 2</script></body></html>',
  },
  '/hidden': {
    body:
      `<!doctype html><style>.gone{display:none}.ghost{visibility:hidden}.back{visibility:visible}</style><title>h</title>
      <p>shown</p><p class=gone>gone<b>gone too</b></p><p class=ghost>ghost<b class=back>back</b></p>` +
      `<p aria-hidden=true>unspoken</p><p hidden>attribute</p>
      <script type="application/ld+json">{"a":1}</script>`,
  },
  '/shadow': {
    body:
      `<!doctype html><title>s</title><x-card id=card><b slot=name>Name</b>rest<i slot=nowhere>lost</i></x-card><script>
      const root = card.attachShadow({ mode: 'open' });
      root.innerHTML = '<style>p{color:red}</style><p>Hello <slot name=name>nobody</slot>, <slot>nothing</slot>` +
      `<slot name=other>fallback</slot></p><x-in></x-in>';
      root.querySelector('x-in').attachShadow({ mode: 'open' }).innerHTML = '<u>deep</u>';</script>`,
  },
  '/form': {
    body:
      `<!doctype html><title>f</title><form><input id=t value=old><input id=p type=password value="">` +
      `<input id=c type=checkbox checked><input id=d type=checkbox>
      <textarea id=a>old</textarea><select id=s><option selected>one<option>two</select></form>
      <script>t.value='new "1"'; p.value='secret'; c.checked=false; d.checked=true; a.value='\\nnew <b>'; s.selectedIndex=1;</script>`,
  },
  '/clobbered': {
    body:
      `<!doctype html><title>c</title><img name=body><img name=documentElement><img name=doctype><img name=title>` +
      `<img name=createElement><form name=all id=f>
      <input name=childNodes><input name=attributes><input name=nodeType><input name=localName><input name=tagName>` +
      `<input name=namespaceURI><input name=getAttributeNames><input name=getRootNode>inside</form>
      <script>Node.prototype.appendChild = Element.prototype.getAttribute = () => { throw new Error('tampered'); };` +
      ` window.getComputedStyle = null; Array.prototype.map = null;</script>`,
  },
  '/svg': {
    type: 'image/svg+xml',
    body: '<svg xmlns="http://www.w3.org/2000/svg"><title>Drawing</title><linearGradient id="g"/><text x="1">words</text></svg>',
  },
  '/xml': { type: 'application/xml', body: '<?xml version="1.0"?><feed><entry>one<![CDATA[ & two]]></entry></feed>' },
  '/frames': { body: '<!doctype html><title>fr</title><iframe src="/plain"></iframe>' },
  '/linked': { body: '<!doctype html><p>Linked <a href="/more">more</a></p>' },
  '/frameset': { body: '<!doctype html><title>set</title><frameset cols="1,1"><frame src="/plain"><frame src="/linked"></frameset>' },
  '/article': { body: `<!doctype html><title>art</title><nav>${'<a href=/>home</a>'.repeat(5)}</nav>${article}<footer>foot</footer>` },
  '/strict': {
    headers: { 'content-security-policy': "default-src 'none'; require-trusted-types-for 'script'; trusted-types none" },
    body: `<!doctype html><title>strict</title>${article}`,
  },
};

describe('the snapshot of a page', () => {
  let browser: Browser;
  let page: Page;
  let cdp: CDPSession;
  const server = createServer((request, response) => {
    const reply = pages[request.url ?? ''];
    response
      .writeHead(reply ? 200 : 404, { 'content-type': reply?.type ?? 'text/html; charset=utf-8', ...reply?.headers })
      .end(reply?.body);
  });
  let site = '';

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await chromium.launch({
      executablePath: '/usr/lib/chromium/chromium-headless-shell',
      args: ['--no-sandbox', '--disable-gpu'],
    });
    page = await browser.newPage();
    cdp = await page.context().newCDPSession(page);
  });

  after(async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  async function inPage(script: string, options: Partial<SnapshotOptions> = {}): Promise<Snapshot> {
    const { frameTree } = await cdp.send('Page.getFrameTree');
    const { executionContextId } = await cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'snapshot' });
    const all = { visibleOnly: true, maxBytes: 1_000_000, ...options };
    const { result, exceptionDetails } = await cdp.send('Runtime.evaluate', {
      expression: `(${script})(${JSON.stringify(all)})`,
      contextId: executionContextId,
      returnByValue: true,
    });
    assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description);
    return result.value as Snapshot;
  }

  async function snapshot(path: string, options: Partial<SnapshotOptions> = {}): Promise<Snapshot> {
    await page.goto(site + path);
    return inPage(snapshotScript, options);
  }

  it('the snapshot of a page is the document as HTML, with its title', async () => {
    const { html, title, truncated } = await snapshot('/plain', { visibleOnly: false });
    assert.equal(html, (pages['/plain']?.body ?? '').replace('<!doctype', '<!DOCTYPE'));
    assert.deepEqual({ title, truncated }, { title: 'Plain & simple', truncated: false });
  });

  /** The marks by element id. */
  async function marksOf(body: string): Promise<Record<string, string>> {
    await page.setContent(`<!doctype html><body>${body}`);
    const { html } = await inPage(snapshotScript);
    return Object.fromEntries([...html.matchAll(/ id="(\w+)"[^>]* data-berth-layout="([^"]+)"/g)].map(([, id, marks]) => [id, marks]));
  }

  it('the snapshot of a page marks what the styles display otherwise than the tags say, and nothing else', async () => {
    const marks = await marksOf(
      `<style>.f{display:flex}.i{display:inline-flex}.b{display:block}.n{display:inline}</style>
       <div id=a class=f><span id=b>1</span><b id=c>2</b><div id=d>3</div></div>
       <p id=e><a id=f class=i><span id=g>4</span></a><span id=h class=b>5</span><i id=i>6</i></p>
       <div id=j class=n>7</div><ul id=k class=f><li id=l class=n>8</li></ul>
       <p id=m><span id=n style="float:right">9 EUR</span><span id=o style="float:left">W</span>ords<em id=q style="margin-left:2em">x</em></p>`,
    );
    assert.deepEqual(marks, { b: 'block', c: 'block', g: 'gap', h: 'block', j: 'inline', n: 'gap', q: 'gap-before' });
  });

  it('the snapshot of a page marks where white space is kept, and raised and lowered text', async () => {
    const marks = await marksOf(
      `<div id=a style="white-space:pre-line"><p id=b>1</p><p id=c style="white-space:normal">2</p></div>
       <pre id=d>3</pre><pre id=e style="white-space:normal">4</pre><div id=f style="white-space:pre;font-family:monospace">5</div>
       <div id=g style="white-space:break-spaces">6<code id=h>7</code></div>
       <p id=i>8<span id=j style="vertical-align:super">9</span><sup id=k>10</sup><i id=l style="vertical-align:sub">11</i></p>`,
    );
    assert.deepEqual(marks, {
      a: 'space-lines',
      c: 'space-normal',
      e: 'space-normal',
      f: 'code',
      g: 'space-pre',
      j: 'sup',
      l: 'sub',
    });
  });

  it('the snapshot of a page has no marks of the page itself', async () => {
    assert.deepEqual(await marksOf('<p id=a data-berth-layout="sup">1</p><span id=b data-berth-layout="block">2</span>'), {});
  });

  it('the snapshot of a page parses back to the same document', async () => {
    await page.setContent(
      '<!doctype html><title>t</title><table><tr><td>x</table><pre>\n\na</pre><svg viewBox="0 0 1 1"><foreignObject><p>f</p>' +
        '</foreignObject></svg><math><mi>x</mi></math><template><p>t</p></template>',
    );
    const { html } = await inPage(snapshotScript, { visibleOnly: false });
    const same = await page.evaluate(
      (source) =>
        new DOMParser().parseFromString(source, 'text/html').querySelector('table')?.outerHTML ===
        document.querySelector('table')?.outerHTML,
      html,
    );
    assert.equal(same, true);
    assert.match(html, /viewBox="0 0 1 1"><foreignObject><p>f<\/p>/);
    assert.match(html, /<template><p>t<\/p><\/template>/);
  });

  it('the snapshot of a page omits what the styles hide, and keeps what is visible inside of it', async () => {
    const { html } = await snapshot('/hidden');
    assert.doesNotMatch(html, /<p class="gone"|gone too|ghost<|attribute/);
    assert.match(html, /shown.*<b class="back">back<\/b>.*unspoken.*ld\+json">\{"a":1\}/s);
  });

  it('the snapshot of a page whose body is hidden until a script has run has its content', async () => {
    await page.setContent('<body style="display:none"><p>shown later</p></body>');
    assert.match((await inPage(snapshotScript)).html, /<p>shown later<\/p>/);
  });

  it('the snapshot of a page keeps hidden elements with visibleOnly off', async () => {
    const { html } = await snapshot('/hidden', { visibleOnly: false });
    assert.match(html, /gone too.*ghost.*attribute/s);
  });

  it('the snapshot of a page inlines open shadow roots and fills their slots', async () => {
    const { html } = await snapshot('/shadow');
    assert.match(html, /<x-card id="card"><p>Hello <b slot="name">Name<\/b>, restfallback<\/p><x-in><u>deep<\/u><\/x-in><\/x-card>/);
    assert.match((await inPage(snapshotScript, { visibleOnly: false })).html, /<i slot="nowhere">lost<\/i><\/x-card>/);
  });

  it('the snapshot of a page keeps typed and selected values, but no password', async () => {
    const { html } = await snapshot('/form');
    assert.match(html, /<input id="t" value="new &quot;1&quot;">/);
    assert.match(html, /<input id="c" type="checkbox"><input id="d" type="checkbox" checked="">/);
    assert.match(html, /<textarea id="a">\n\nnew &lt;b&gt;<\/textarea>/);
    assert.match(html, /<option>one<\/option><option selected="">two<\/option>/);
    assert.match(html, /<input id="p" type="password" value="">/);
  });

  it('the snapshot of a page resists DOM clobbering', async () => {
    const { html, title } = await snapshot('/clobbered');
    assert.match(
      html,
      /^<!DOCTYPE html><html[^>]*><head><title>c<\/title><\/head><body><img name="body">.*<input name="childNodes">.*inside<\/form>/s,
    );
    assert.equal(title, 'c');
  });

  it('the snapshot of a page serializes SVG and XML documents', async () => {
    const drawing = await snapshot('/svg');
    assert.match(drawing.html, /<linearGradient id="g"><\/linearGradient><text x="1">words<\/text><\/svg>$/);
    assert.equal(drawing.title, 'Drawing');
    assert.match((await snapshot('/xml', { visibleOnly: false })).html, /one.*&amp; two/s);
  });

  it('the snapshot of a page accepts documents without a body, a head or any element', async () => {
    await page.goto(`${site}/plain`);
    await page.evaluate(() => document.body.remove());
    assert.match((await inPage(snapshotScript)).html, /<html lang="en"[^>]*><head>.*<\/head><\/html>$/s);
    await page.evaluate(() => document.documentElement.remove());
    assert.deepEqual(await inPage(snapshotScript), {
      html: '<!DOCTYPE html>',
      title: '',
      truncated: false,
      isHidden: false,
      hasFrames: false,
      framesLeftOut: 0,
      gaps: [],
    });
    await page.evaluate(() => document.append(document.createElement('div')));
    assert.equal((await inPage(snapshotScript)).html, '<!DOCTYPE html><div></div>');
  });

  it('the snapshot of a page leaves frames of the document unchanged', async () => {
    assert.match((await snapshot('/frames', { visibleOnly: false })).html, /<iframe src="\/plain"><\/iframe>/);
  });

  it('the snapshot of a page has what frames of the same site show in their place, with absolute addresses', async () => {
    await page.goto(`${site}/plain`);
    await page.setContent(
      `<p>before</p><iframe srcdoc="<p style='display:none'>gone</p><p>one</p><iframe srcdoc='<p>inner</p>'></iframe>"></iframe><p>between</p>` +
        `<iframe src="${site}/linked"></iframe><p>after</p><div style="display:none"><iframe srcdoc="hidden"></iframe></div>`,
    );
    const { html, framesLeftOut } = await inPage(snapshotScript);
    assert.match(html, /before.*<p>one<\/p>.*<p>inner<\/p>.*between.*href="http:\/\/127[^"]*\/more".*after/s);
    assert.doesNotMatch(html, /gone|hidden|<iframe/);
    assert.equal(framesLeftOut, 0);
  });

  it('the snapshot of a page has what a set of frames shows', async () => {
    const { html } = await snapshot('/frameset');
    assert.match(html, /1 &lt; 2.*Linked/s);
  });

  it('the snapshot of a page counts the visible frames that it does not have, and names them', async () => {
    await page.goto(`${site}/plain`);
    const other = site.replace('127.0.0.1', 'localhost');
    await page.setContent(
      `<p>é😀</p><iframe src="${other}/plain" title="Other"></iframe><iframe src="${other}/plain" width=1 height=1 style="border:0"></iframe>` +
        `<iframe src="${other}/plain" style="display:none"></iframe>`,
    );
    const { html, framesLeftOut, gaps } = await inPage(snapshotScript);
    assert.deepEqual([framesLeftOut, html.split('<iframe').length - 1], [1, 1]);
    assert.match(html.slice(0, gaps[0]), /<p>é😀<\/p><iframe [^>]*><\/iframe><div>$/);
    assert.equal(gaps.length, 1);
    await page.setContent('<iframe srcdoc="<p>word</p>"></iframe>'.repeat(60));
    const many = await inPage(snapshotScript);
    assert.deepEqual([many.framesLeftOut, many.html.split('word</p></div>').length - 1], [10, 50]);
  });

  it('the snapshot of a page has all documents of frames for a reader by selectors, and the frames unchanged', async () => {
    await page.goto(`${site}/plain`);
    await page.setContent(
      `<p>before<iframe id=a srcdoc="<p>one</p>" hidden></iframe>after</p><iframe id=b src="${site.replace('127.0.0.1', 'localhost')}/plain"></iframe>`,
    );
    const all = await inPage(snapshotScript, { visibleOnly: false, withFrames: true });
    assert.match(
      all.html,
      /<p>before<iframe id="a" srcdoc="[^"]+" hidden=""><\/iframe><template data-berth-frame=""><div><p>one<\/p><\/div><\/template>after<\/p>/,
    );
    assert.deepEqual([all.hasFrames, all.framesLeftOut, all.gaps.length], [true, 1, 1]);
    assert.match(all.html.slice(all.gaps[0]), /^<\/div><\/template><\/body>/);
    const alone = await inPage(snapshotScript, { visibleOnly: false });
    assert.deepEqual([alone.hasFrames, alone.framesLeftOut, alone.gaps], [true, 1, []]);
    assert.doesNotMatch(alone.html, /template/);
  });

  /** Which of the words are in the snapshot. */
  async function shownOf(body: string, words: string): Promise<string> {
    await page.setContent(`<!doctype html><body><p>always</p>${body}`);
    const { html } = await inPage(snapshotScript);
    return words
      .split(' ')
      .filter((word) => html.includes(`${word}<`))
      .join(' ');
  }

  it('the snapshot of a page omits what is transparent, without size or cut off', async () => {
    const words = 'transparent zero reader clipped path away collapsed shown auto raised';
    const shown = await shownOf(
      `<p style="opacity:0">transparent</p><div style="height:0;overflow:hidden"><p>zero</p></div>
       <span style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)">reader</span>
       <span style="position:absolute;clip:rect(1px,1px,1px,1px)">clipped</span><p style="clip-path:inset(50%)">path</p>
       <p style="position:absolute;left:-9999px">away</p><p style="content-visibility:hidden"><span>collapsed</span></p>
       <p aria-hidden=true>shown</p><div style="content-visibility:auto"><p>auto</p></div>
       <div style="height:0;overflow:hidden"><p style="position:fixed">raised</p></div>`,
      words,
    );
    assert.equal(shown, 'shown auto raised');
  });

  it('the snapshot of a page keeps what a visitor sees by scrolling or by opening it', async () => {
    const words = 'faded moved tall answer later menu';
    const shown = await shownOf(
      `<p style="opacity:0;transition:opacity 1s">faded</p><p style="opacity:0;transform:translateY(20px)">moved</p>
       <div style="height:9px;overflow:auto"><p>tall</p></div><details><summary>Q</summary><div style="overflow:hidden"><p>answer</p></div></details>
       <div hidden="until-found"><p>later</p></div><div style="position:absolute;opacity:0;transition:opacity 1s"><p>menu</p></div>`,
      words,
    );
    assert.equal(shown, 'faded moved tall answer later');
  });

  it('the snapshot of a page that hides itself says so, and has what the page would show', async () => {
    for (const style of ['display:none', 'visibility:hidden', 'opacity:0'])
      for (const [open, close] of [
        [`<body style="${style}">`, ''],
        [`<html style="${style}"><body>`, ''],
        [`<body><div id=app style="${style}">`, '</div><script></script>'],
      ]) {
        await page.setContent(`${open}<h1>Head</h1><div style="overflow:hidden"><p>Text</p></div><p style="display:none">gone</p>${close}`);
        const { html, isHidden } = await inPage(snapshotScript);
        assert.equal(isHidden, true, `${open}`);
        assert.match(html, /Head.*Text/s, `${open}`);
        assert.doesNotMatch(html, /gone/, `${open}`);
      }
    await page.setContent('<body><p>Text</p><div style="display:none"><p>dialog</p></div>');
    assert.equal((await inPage(snapshotScript)).isHidden, false);
  });

  it('the snapshot of a page serializes deeper nesting than a parser allows', async () => {
    await page.goto(`${site}/plain`);
    await page.evaluate(() => {
      let at: Element = document.body;
      for (let depth = 0; depth < 2000; depth += 1) at = at.appendChild(document.createElement('b'));
    });
    const { html, truncated } = await inPage(snapshotScript, { visibleOnly: false });
    assert.equal(truncated, false);
    assert.equal(html.split('<b>').length, 2001);
  });

  it('the snapshot of a page stops at its limit with every element closed', async () => {
    await page.goto(`${site}/article`);
    for (const maxBytes of [0, 40, 333, 1000, 2001]) {
      const { html, truncated } = await inPage(snapshotScript, { maxBytes });
      assert.equal(truncated, true);
      assert.ok(Buffer.byteLength(html) <= maxBytes, `${Buffer.byteLength(html)} of ${maxBytes}`);
      assert.equal(html.split(/<p[ >]/).length, html.split('</p>').length);
    }
    await page.setContent(`<p>${'é€😀&'.repeat(500)}</p>`);
    for (const maxBytes of [500, 501, 502, 503, 504]) {
      const { html } = await inPage(snapshotScript, { maxBytes });
      assert.ok(Buffer.byteLength(html) <= maxBytes && Buffer.byteLength(html) > maxBytes - 10);
      assert.ok(html.isWellFormed());
    }
  });

  it('the snapshot of a page changes nothing in the page', async () => {
    await page.goto(`${site}/article`);
    const before = await page.content();
    await inPage(snapshotScript);
    assert.equal(await page.content(), before);
  });

  it('the snapshot of a page works under the strictest content security policy', async () => {
    assert.match((await snapshot('/strict')).html, /It says this at length/);
  });
});
