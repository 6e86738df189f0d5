import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readOutline, type Classification } from '@berth/reading';
import { needsBrowser as needsBrowserFor } from './needs-browser.ts';

const clear: Classification = {
  blocked: false,
  block: null,
  warnings: [],
  captcha: { present: false, vendor: null, visible: null },
  selfClearing: false,
};
const needsBrowser = (html: string, classification: Classification) => needsBrowserFor(readOutline(html), classification);
const blocked: Classification = { ...clear, blocked: true };
const page = (body: string, head = ''): string => `<!doctype html><html><head><title>T</title>${head}</head><body>${body}</body></html>`;
const prose = '<p>The harbour office keeps a ledger for every quay, and somebody reads it.</p>'.repeat(8);
const script = '<script src="/app.js"></script>';

describe('a page that came without a browser', () => {
  it('a blocked page that was fetched without a browser is fetched again with one, whatever its content', () => {
    assert.equal(needsBrowser(page(prose), blocked), 'blocked');
  });

  it('a page without scripts needs no browser, however little is on it', () => {
    for (const html of ['', '<p>ok</p>', page('<p>Hello</p>'), page('<div id="root"></div>')])
      assert.equal(needsBrowser(html, clear), null, html);
  });

  it('a page with scripts and enough to read needs no browser', () => {
    assert.equal(needsBrowser(page(prose + script), clear), null);
    assert.equal(needsBrowser(page(`<div id="root">${prose}</div>${script}`), clear), null);
  });

  it('a page needs a browser where a framework fills an empty element', () => {
    for (const shell of [
      '<div id="root"></div>',
      '<div id=app></div>',
      "<main id='__next'>\n </main>",
      '<section class="a" id="__nuxt" data-x="1"></section>',
      '<app-root></app-root>',
      '<app-root ng-version="17"> </app-root>',
    ])
      assert.equal(needsBrowser(page(shell + script), clear), 'needs_script', shell);
    assert.equal(
      needsBrowser(page(`<div id="root"></div>${prose}${script}`), clear),
      'needs_script',
      'a footer with much to read is beside the page',
    );
  });

  it('a page needs a browser where scripts are all that is there', () => {
    assert.equal(needsBrowser(page(`<p>Loading…</p>${script}`), clear), 'needs_script');
  });

  it('a page needs a browser where its noscript says so', () => {
    const some = '<p>Some words that are more than nothing but hardly a page.</p>';
    assert.equal(
      needsBrowser(page(`${some}<noscript>You need to enable JavaScript to run this app.</noscript>${script}`), clear),
      'needs_script',
    );
    assert.equal(needsBrowser(page(`${some}<noscript><img src="/pixel.gif"></noscript>${script}`), clear), null);
  });

  it('a page needs a browser where it refreshes to another page', () => {
    for (const refresh of [
      '<meta http-equiv="refresh" content="0;url=/next">',
      "<META content='0' HTTP-EQUIV='Refresh'>",
      '<meta http-equiv=refresh content=5>',
    ])
      assert.equal(needsBrowser(page(prose, refresh), clear), 'meta_refresh', refresh);
  });

  it('text inside of scripts, styles and templates does not count as read without a browser', () => {
    const words = 'word '.repeat(200);
    for (const hidden of [
      `<script>var a = "${words}"</script>`,
      `<style>/* ${words} */</style>`,
      `<template>${words}</template>`,
      `<noscript>${words}</noscript>`,
    ])
      assert.equal(needsBrowser(page(hidden + script), clear), 'needs_script', hidden.slice(0, 20));
  });
});
