import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { Connection } from './cdp/connection.ts';
import type { BrowserEvent } from './interface.ts';
import { NetworkLog } from './network/network-log.ts';
import type { Dialog } from './page/page.ts';
import type { ConsoleEntry } from './screencast/clients.ts';
import { Downloads } from './storage/downloads.ts';
import { Console } from './tabs/console.ts';
import { createTab, Dialogs, type Tab } from './tabs/tab.ts';
import { TimeoutScale } from './timeout-scale.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const session = 'A'.repeat(32);
const halfMegabyte = 512 * 1024;
const long = (index: number): string => `http://site.test/${index}/`.padEnd(halfMegabyte, 'x');

const requestOf = (index: number): object => ({
  method: 'Network.requestWillBeSent',
  params: {
    requestId: String(index),
    loaderId: 'L',
    request: { url: long(index), method: 'GET', headers: { referer: long(index) } },
    timestamp: 1,
    wallTime: 1,
    type: 'Image',
  },
  sessionId: session,
});
/** A request that ends, with the same headers in both directions. */
const exchangeOf = (index: number, headers: Record<string, string>, url = 'http://site.test/'): object[] => {
  const requestId = String(index);
  const common = { requestId, loaderId: 'L', timestamp: 1, type: 'Fetch' };
  const response = { url, status: 200, statusText: '', headers, mimeType: 'text/plain', protocol: 'h2' };
  return [
    { method: 'Network.requestWillBeSent', params: { ...common, request: { url, method: 'GET', headers }, wallTime: 1 } },
    { method: 'Network.requestWillBeSentExtraInfo', params: { requestId, headers, associatedCookies: [] } },
    { method: 'Network.responseReceived', params: { ...common, response } },
    { method: 'Network.loadingFinished', params: { requestId, timestamp: 2, encodedDataLength: 1000 } },
  ].map((message) => ({ ...message, sessionId: session }));
};
const downloadOf = (index: number): object => ({
  method: 'Browser.downloadWillBegin',
  params: { frameId: 'F', guid: `g${index}`, url: long(index), suggestedFilename: long(index) },
});

const pageTab = (targetId: string, url = 'http://site.test/'): Tab =>
  createTab(
    session,
    { targetId, type: 'page', title: '', url, attached: true, canAccessOpener: false },
    { isPrivate: false, createdAt: new Date() },
  );
/** Events of a console line after a navigation: a page that writes more in a second is muted until the next navigation. */
const lineOf = (index: number): object[] => [
  { method: 'Page.frameNavigated', params: { frame: { id: 'F', loaderId: 'L', url: '' } }, sessionId: session },
  {
    method: 'Console.messageAdded',
    params: { message: { source: 'console-api', level: 'log', text: long(index).slice(0, 300_000), url: long(index), line: 1 } },
    sessionId: session,
  },
];
const dialogOf = (index: number): object => ({
  method: 'Page.javascriptDialogOpening',
  params: { url: long(index), message: long(index), type: 'prompt', hasBrowserHandler: false, defaultPrompt: long(index) },
  sessionId: session,
});

/** Bytes of the heap that what `work` returns keeps. */
async function retainedBy<T>(work: () => Promise<T>): Promise<{ result: T; bytes: number }> {
  collect();
  const before = process.memoryUsage().heapUsed;
  const result = await work();
  collect();
  return { result, bytes: process.memoryUsage().heapUsed - before };
}

describe('what is retained of a page’s long texts', () => {
  it('long texts are retained as far as they are shown, in the network log, downloads, their events, and tabs', async () => {
    const [near, far] = duplexPair();
    const connection = new Connection(near, { log: silentLog, timeoutScale: new TimeoutScale(undefined) });
    connection.adopt(session);
    const log = new NetworkLog(connection, { since: new Date(), isOwnSession: () => true });
    const events: BrowserEvent[] = [];
    const downloads = new Downloads(connection, { clock: systemClock, isPrivate: () => false, emit: (event) => events.push(event) });
    const { result: tabs, bytes } = await retainedBy(async () => {
      for (let index = 0; index < 20; index += 1)
        for (const message of [requestOf(index), downloadOf(index)])
          await new Promise((resolve) => far.write(`${JSON.stringify(message)}\0`, resolve));
      // The written messages are read a turn later.
      while (downloads.list().length < 20) await new Promise((resolve) => setImmediate(resolve));
      return Array.from({ length: 20 }, (_, index) => pageTab(String(index), long(index)));
    });
    assert.deepEqual([log.entries().entries.length, downloads.list().length, events.length, tabs.length], [20, 20, 20, 20]);
    assert.ok(bytes < 8 * halfMegabyte, `${bytes} bytes are retained`);
    connection.end('closed');
  });

  it('long console lines and dialogs are retained as far as they are shown', async () => {
    const [near, far] = duplexPair();
    const connection = new Connection(near, { log: silentLog, timeoutScale: new TimeoutScale(undefined) });
    connection.adopt(session);
    const tab = pageTab('console');
    const lines: ConsoleEntry[] = [];
    const shown = new Console({ connection, tabOf: () => tab, sessions: () => [] });
    shown.subscribe((entry) => void lines.push(entry));
    const dialogs: Dialog[] = [];
    const prompts = { isAttended: false, open: () => undefined };
    const opened = new Dialogs({
      prompts,
      isClientWatching: () => false,
      answer: () => undefined,
      onDialog: (_, each) => dialogs.push(each),
    });
    connection.on('Page.javascriptDialogOpening', (event) => opened.onOpened(event, tab));
    const { bytes } = await retainedBy(async () => {
      for (let index = 0; index < 20; index += 1)
        for (const message of [...lineOf(index), dialogOf(index)])
          await new Promise((resolve) => far.write(`${JSON.stringify(message)}\0`, resolve));
      while (dialogs.length < 20) await new Promise((resolve) => setImmediate(resolve));
    });
    assert.deepEqual([lines.length, dialogs.length], [20, 20]);
    assert.ok(bytes < 8 * halfMegabyte, `${bytes} bytes are retained`);
    connection.end('closed');
  });

  it('the network log is bounded as a whole, whatever headers a page exchanges', async () => {
    const [near, far] = duplexPair();
    const connection = new Connection(near, { log: silentLog, timeoutScale: new TimeoutScale(undefined) });
    connection.adopt(session);
    const log = new NetworkLog(connection, { since: new Date(), isOwnSession: () => true });
    const headers = (index: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 100 }, (_, header) => [`x-${header}`, `${index} ${header} `.padEnd(4096, 'ж')]));
    const requests = 200;
    const { bytes } = await retainedBy(async () => {
      for (let index = 0; index < requests; index += 1)
        for (const message of exchangeOf(index, headers(index)))
          await new Promise((resolve) => far.write(`${JSON.stringify(message)}\0`, resolve));
      while (log.entries().entries.length < requests || log.hasScriptRequests) await new Promise((resolve) => setImmediate(resolve));
    });
    const { entries, withoutHeaders, dropped } = log.entries();
    assert.ok(bytes < 40 * 1024 ** 2, `${bytes} bytes are retained`);
    const complete = entries.filter(({ responseHeaders }) => Object.keys(responseHeaders).length > 0).length;
    assert.ok(
      complete >= 10 && withoutHeaders >= requests - complete && withoutHeaders < requests,
      `${complete} with headers, ${withoutHeaders} without`,
    );
    assert.deepEqual([dropped, log.bytes().in], [0, requests * 1000]);
    assert.ok((entries.at(-1)?.requestBytes ?? 0) > 409_600, 'what was sent is counted, held or not');
    connection.end('closed');
  });

  it('requests that come when the texts of the network log are full are counted and not retained', async () => {
    const [near, far] = duplexPair();
    const connection = new Connection(near, { log: silentLog, timeoutScale: new TimeoutScale(undefined) });
    connection.adopt(session);
    const log = new NetworkLog(connection, { since: new Date(), isOwnSession: () => true });
    const headers = Object.fromEntries(Array.from({ length: 100 }, (_, header) => [`x-${header}`, 'x'.repeat(4096)]));
    for (let index = 0; index < 2500; index += 1)
      for (const message of exchangeOf(index, index < 30 ? headers : {}, `http://site.test/${index}/`.padEnd(9000, 'x')))
        await new Promise((resolve) => far.write(`${JSON.stringify(message)}\0`, resolve));
    while (log.bytes().in < 2500 * 1000) await new Promise((resolve) => setImmediate(resolve));
    const { entries, dropped } = log.entries();
    assert.equal(entries.length + dropped, 2500);
    const chars = entries.reduce((sum, { url, requestHeaders }) => sum + url.length + JSON.stringify(requestHeaders).length, 0);
    assert.ok(chars > 8 * 1024 ** 2 && chars <= 16 * 1024 ** 2, `${chars} characters`);
    connection.end('closed');
  });
});
