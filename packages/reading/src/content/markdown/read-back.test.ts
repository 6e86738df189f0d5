/** Our Markdown, read back: a reader of CommonMark must find the words that Chromium shows. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import MarkdownIt from 'markdown-it';
import { chromium, type Browser, type Page } from 'playwright-core';
import { snapshotScript } from '../content.ts';
import convert from '../convert.ts';
import { generatedPages } from '../../../testing/generated-pages.ts';
import { writtenPages } from '../../../testing/written-pages.ts';

/** Repeats other pages; `BERTH_TEST_SEED` repeats these. */
const seed = Number(process.env['BERTH_TEST_SEED'] ?? 20_261);
const generatedCount = Number(process.env['BERTH_TEST_PAGES'] ?? 300);
/** Pages of one call to the browser. */
const groupSize = 50;

const reader = new MarkdownIt({ html: true });

/** Blanks and line ends count as one, and at the ends as none. */
const normalized = (text: string): string => text.replace(/[\s\u200b]+/g, ' ').trim();

interface ReadBack {
  html: string;
  /** What Chromium says that the page shows. */
  shown: string;
  markdown: string;
  /** What Chromium says that the rendered Markdown shows. */
  read: string;
}

describe('Markdown read back', () => {
  let browser: Browser;
  let page: Page;
  before(async () => {
    browser = await chromium.launch({
      executablePath: '/usr/lib/chromium/chromium-headless-shell',
      args: ['--no-sandbox', '--disable-gpu'],
    });
    page = await browser.newPage();
    await page.setContent('<!doctype html><html lang="en"><head><title>Read back</title></head><body></body></html>');
    await page.evaluate(`globalThis.take = ${snapshotScript}`);
  });
  after(() => browser.close());

  /** The texts that Chromium shows of documents with these bodies, with their snapshots. */
  async function inChromium(bodies: readonly string[]): Promise<{ text: string; html: string }[]> {
    const parts: { text: string; html: string }[] = [];
    for (let from = 0; from < bodies.length; from += groupSize) {
      const read = await page.evaluate(
        (group) => {
          const { take } = globalThis as unknown as { take: (options: object) => { html: string } };
          return group.map((body) => {
            document.body.innerHTML = body;
            return { text: document.body.innerText, html: take({ visibleOnly: true, maxBytes: 1_000_000 }).html };
          });
        },
        bodies.slice(from, from + groupSize),
      );
      parts.push(...read);
    }
    return parts;
  }

  function markdownOf(html: string): string {
    const options = { formats: ['markdown' as const], onlyMainContent: false, includeSelectors: [], excludeSelectors: [], extract: null };
    return convert({ ...options, html, url: 'https://a.example/dir/' }).markdown ?? '';
  }

  async function readBack(bodies: readonly string[], change = (markdown: string): string => markdown): Promise<ReadBack[]> {
    const pages = await inChromium(bodies);
    const markdowns = pages.map(({ html }) => change(markdownOf(html)));
    const rendered = await inChromium(markdowns.map((markdown) => reader.render(markdown)));
    return bodies.map((html, at) => ({
      html,
      shown: normalized(pages[at]?.text ?? ''),
      markdown: markdowns[at] ?? '',
      read: normalized(rendered[at]?.text ?? ''),
    }));
  }

  function assertNone(wrong: readonly ReadBack[], of: number): void {
    const examples = wrong
      .slice(0, 10)
      .map(
        ({ html, shown, markdown, read }) =>
          `page:     ${html}\nshown:    ${shown}\nread:     ${read}\nmarkdown: ${JSON.stringify(markdown)}`,
      );
    assert.equal(wrong.length, 0, `${wrong.length} of ${of} pages are read otherwise (seed ${seed}):\n\n${examples.join('\n\n')}`);
  }

  it('Markdown read back has the text of written pages of every kind', async () => {
    const pages = await readBack(writtenPages.map(([html]) => html));
    const wrong = pages.flatMap((each, at) => {
      const shown = normalized(writtenPages[at]?.[1] ?? each.shown);
      return shown === each.read ? [] : [{ ...each, shown }];
    });
    assertNone(wrong, pages.length);
  });

  it(`Markdown read back has the text of ${generatedCount} generated pages (seed ${seed})`, async () => {
    const pages = await readBack(generatedPages(seed, generatedCount));
    assertNone(
      pages.filter(({ shown, read }) => shown !== read),
      pages.length,
    );
  });

  it('reading Markdown back would notice that escapes are missing', async () => {
    const withoutEscapes = (markdown: string): string => markdown.replace(/\\(?=[!-/:-@[-`{-~])/g, '');
    const written = await readBack(
      writtenPages.map(([html]) => html),
      withoutEscapes,
    );
    assert.ok(written.filter(({ shown, read }, at) => normalized(writtenPages[at]?.[1] ?? shown) !== read).length >= 20);
    const generated = await readBack(generatedPages(seed, 100), withoutEscapes);
    assert.ok(generated.filter(({ shown, read }) => shown !== read).length >= 30);
  });
});
