import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLog } from '@berth/lib/log.ts';
import { Content, ContentError, type ContentFailure, type ContentDeps, type ContentOptions } from './content.ts';

const { signal } = new AbortController();

const options = (html: string, overrides: Partial<ContentOptions> = {}): ContentOptions => ({
  html,
  url: 'https://a.example/',
  formats: ['markdown', 'text', 'links', 'metadata', 'tables'],
  onlyMainContent: false,
  includeSelectors: [],
  excludeSelectors: [],
  extract: null,
  ...overrides,
});

const failure =
  (reason: ContentFailure) =>
  (error: unknown): boolean =>
    error instanceof ContentError && error.reason === reason;

const owner = 'own_a';

/** The nineteenth field; the command's name in parentheses may hold spaces. */
function niceOf(stat: string): number {
  const text = readFileSync(stat, 'utf8');
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
}

/** A megabyte of attributes on one element: the parser searches duplicates one by one. */
const attributeBomb = `<p ${Array.from({ length: 150_000 }, (_, index) => `a${index}`).join(' ')}>x`;

describe('conversions', () => {
  const opened: Content[] = [];
  const open = (options: Partial<ContentDeps> = {}): Content => {
    const content = new Content({ threadsMax: 1, log: silentLog, ...options });
    opened.push(content);
    return content;
  };
  after(() => Promise.all(opened.map((content) => content.close())));

  it('conversions run in a thread', async () => {
    const { markdown, text, title, page } = await open().convert(options('<title>t</title><h1>Hello</h1>'), { owner, signal });
    assert.deepEqual([markdown, text, title, page?.title], ['# Hello', 'Hello', 't', 't']);
  });

  it('conversions run Readability in a thread', async () => {
    const html = `<nav>n</nav><article>${'<p>At length, with commas, and so on, and on, until nobody doubts it.</p>'.repeat(20)}</article>`;
    const { markdown, warnings } = await open().convert(options(html, { onlyMainContent: true, formats: ['markdown'] }), { owner, signal });
    assert.match(markdown ?? '', /^At length/);
    assert.deepEqual(warnings, []);
  });

  it('conversions that take too long end, and the next one works', async () => {
    const content = open({ convertMsMax: 4000 });
    await assert.rejects(content.convert(options(attributeBomb), { owner, signal }), failure('timeout'));
    assert.equal((await content.convert(options('<p>x'), { owner, signal })).text, 'x');
  });

  it('conversions have all their time after the thread has started', async () => {
    const content = open({ convertMsMax: 3000 });
    const result = content.convert(options('<p>x'), { owner, signal });
    await nextTurn();
    // The process is busy while the thread starts, for longer than a conversion may take.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3300);
    assert.equal((await result).text, 'x');
  });

  it('conversions that take too much memory end, and the next one works', async () => {
    const content = open({ heapMbMax: 64, convertMsMax: 60_000 });
    await assert.rejects(
      content.convert(options('<b><i>'.repeat(1_500) + '<p>x'.repeat(600_000)), { owner, signal }),
      failure('too_large'),
    );
    assert.equal((await content.convert(options('<p>x'), { owner, signal })).text, 'x');
  });

  it('conversions of pages that are too large are refused before they start', async () => {
    const content = open({ htmlCharsMax: 1000 });
    await assert.rejects(content.convert(options('x'.repeat(1001)), { owner, signal }), failure('too_large'));
  });

  it('conversions survive input built to exhaust a parser', async () => {
    const content = open({ convertMsMax: 60_000 });
    const inputs = {
      deep: '<div>'.repeat(5000),
      lists: '<ul><li>'.repeat(2000),
      comment: `<p>x${'<!--'.repeat(500_000)}`,
      tag: `<p>x<a ${'x'.repeat(2_000_000)}`,
      nul: `<p>x${'\0'.repeat(2_000_000)}`,
      brackets: '<'.repeat(1_000_000),
      entities: '&amp'.repeat(500_000),
      quotes: `<p title="${'<p>'.repeat(500_000)}`,
      script: `<script>${'</scrip'.repeat(300_000)}`,
    };
    for (const [name, html] of Object.entries(inputs)) {
      const { text } = await content.convert(options(html), { owner, signal });
      assert.equal(typeof text, 'string', name);
    }
  });

  it('conversions find main content in input built to exhaust a parser', async () => {
    const content = open({ convertMsMax: 60_000 });
    const inputs = {
      shares: '<p class="share">x, y, z and all that a paragraph needs</p>'.repeat(3_000),
      headings: '<h2>a heading of some length</h2>'.repeat(3_000),
      links: `<ul>${'<li><a href=x>a link of some length</a>'.repeat(3_000)}</ul>`,
      nested: `${'<div class="related"><aside>'.repeat(400)}${'x, '.repeat(3_000)}`,
      figures: '<figure><img src=x><figcaption>a caption</figcaption></figure>'.repeat(2_000),
      blanks: `<p>x<a href=y>a${'<i> </i>'.repeat(6_000)}b</a>`,
      lists: `${'<ul><li>'.repeat(200)}${'x <a href=y>z</a> '.repeat(3_000)}`,
      many: '<p>x, y, z and all that a paragraph needs</p>'.repeat(16_000),
    };
    for (const [name, html] of Object.entries(inputs)) {
      const { text } = await content.convert(options(html, { onlyMainContent: true }), { owner, signal });
      assert.equal(typeof text, 'string', name);
    }
  });

  it('conversions queue for a thread, and are refused when the queue is full', async () => {
    const content = open({ waitingMax: 1 });
    const first = content.convert(options('<p>1'), { owner, signal });
    const second = content.convert(options('<p>2'), { owner, signal });
    await assert.rejects(content.convert(options('<p>3'), { owner, signal }), failure('busy'));
    assert.deepEqual([(await first).text, (await second).text], ['1', '2']);
  });

  it('conversions of one owner neither keep another waiting nor fill the queue', async () => {
    const content = open({ threadsMax: 2, waitingMax: 16 });
    const stop = new AbortController();
    const hostile = Array.from({ length: 40 }, () =>
      content.convert(options(attributeBomb), { owner: 'own_hostile', signal: stop.signal }).catch((error: unknown) => error),
    );
    const { text } = await content.convert(options('<p>x'), { owner, signal });
    assert.equal(text, 'x');
    stop.abort();
    const busy = (await Promise.all(hostile)).filter(failure('busy'));
    assert.equal(busy.length, 40 - 1 - 8, 'one runs, and half of the places are left to others');
  });

  it('conversions beyond the memory for waiting pages are refused as busy', async () => {
    const content = open({ waitingCharsMax: 1000 });
    const first = content.convert(options('<p>1'), { owner, signal });
    await assert.rejects(content.convert(options('x'.repeat(1001)), { owner, signal }), failure('busy'));
    assert.equal((await first).text, '1');
  });

  it('conversions end with the reason of their signal, waiting or running', async () => {
    const content = open();
    const [running, waiting] = [new AbortController(), new AbortController()];
    const both = [
      content.convert(options(attributeBomb), { owner, signal: running.signal }),
      content.convert(options('<p>x'), { owner, signal: waiting.signal }),
    ];
    const reason = new Error('the caller disconnected');
    waiting.abort(reason);
    running.abort(reason);
    for (const { status, ...rest } of await Promise.allSettled(both)) assert.deepEqual([status, rest], ['rejected', { reason }]);
    await assert.rejects(content.convert(options('<p>x'), { owner, signal: running.signal }), reason);
    assert.equal((await content.convert(options('<p>x'), { owner, signal })).text, 'x');
  });

  it('conversions fail for an invalid selector, and the next one works', async () => {
    const content = open();
    await assert.rejects(content.convert(options('<p>x', { excludeSelectors: ['a['] }), { owner, signal }), failure('failed'));
    assert.equal((await content.convert(options('<p>x'), { owner, signal })).text, 'x');
  });

  it('conversions end when the threads are closed, and no more start', async () => {
    const content = open();
    const running = content.convert(options(attributeBomb), { owner, signal });
    await Promise.all([assert.rejects(running, failure('failed')), content.close(), content.close()]);
    await assert.rejects(content.convert(options('<p>x'), { owner, signal }), failure('failed'));
  });

  it('conversions have a lower priority than the thread that answers requests', async () => {
    const content = open();
    await content.convert(options('<p>x'), { owner, signal });
    const nices = readdirSync('/proc/self/task').map((id) => niceOf(`/proc/self/task/${id}/stat`));
    const own = niceOf(`/proc/self/task/${process.pid}/stat`);
    assert.ok(Math.max(...nices) > own, `${own} of ${nices.join()}`);
  });

  it('conversions keep no process alive when done', () => {
    const source = `
      import { Content } from ${JSON.stringify(new URL('./content.ts', import.meta.url).href)};
      const content = new Content({ threadsMax: 2, log: { warn() {} } });
      const { text } = await content.convert(${JSON.stringify(options('<p>done'))}, { owner: 'own_a', signal: new AbortController().signal });
      console.log(text);`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8', timeout: 60_000 });
    assert.deepEqual([child.stdout, child.stderr, child.status], ['done\n', '', 0]);
  });
});
