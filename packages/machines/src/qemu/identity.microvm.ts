import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { CdpClient, bootSignal, newVmSpec } from '../../testing/runtime-suite.ts';
import type { Runtime } from '../runtime.ts';
import { evaluate, until } from '../../testing/machines.ts';
import { copies, firstBootMsMax, newDataDir, optionsFor } from '../../testing/microvm.ts';
import { createQemuRuntime } from './qemu.ts';

const skewMsMax = 1000;
/** A page's process starts some seconds before its script. */
const pageMsMax = 120_000;

/** What a page asks of a site: a form, a page over TLS, a WebSocket. Then what it draws by itself. */
const script = `(async () => {
  const form = new FormData();
  form.set('name', 'value');
  await fetch('/form', { method: 'POST', body: form });
  await fetch('https://site.test/').catch(() => {});
  await new Promise((done) => (new WebSocket('ws://site.test/').onerror = done));
  return JSON.stringify({
    'Math.random': String(Math.random()),
    'crypto.getRandomValues': crypto.getRandomValues(new Uint8Array(16)).toHex(),
    'the address of a blob': URL.createObjectURL(new Blob([])),
    timeOrigin: performance.timeOrigin,
    now: Date.now(),
  });
})()`;

/** What a site is shown, by name: how it is found in what one connection said. */
const shown: [string, (words: string) => string | undefined][] = [
  ['the boundary of a form', (words) => /boundary=----WebKitFormBoundary(\w+)/.exec(words)?.[1]],
  ['the key of a WebSocket', (words) => /Sec-WebSocket-Key: (\S+)/i.exec(words)?.[1]],
  ['the random part of TLS', (words) => greetingOf(words)?.slice(0, 32)],
  ['the session of TLS', (words) => greetingOf(words)?.slice(33, 65)],
];

/** What follows the version in the first message of a TLS client: 32 random bytes, a length, and the number of the session. */
function greetingOf(words: string): string | undefined {
  const handshake = 22;
  return words.charCodeAt(0) === handshake ? words.slice(11) : undefined;
}

describe('copies of one virtual machine', () => {
  const dataDir = newDataDir();
  let runtime: Runtime;
  before(async () => {
    runtime = await createQemuRuntime(optionsFor(dataDir));
    const first = await runtime.boot(newVmSpec(), { signal: bootSignal(firstBootMsMax) });
    await first.destroy();
  });
  after(async () => {
    await runtime.close();
    rmSync(dataDir, { recursive: true });
  });

  it('copies of one virtual machine have nothing random in common, and know the time', async () => {
    assert.ok(copies > 1);
    const all: Record<string, string>[] = [];
    while (all.length < copies) all.push(await inspectCopy(runtime));
    for (const name of Object.keys(all[0] ?? {})) {
      const values = all.map((seen) => seen[name] ?? '');
      assert.ok(values.every(Boolean), `${name} was not seen`);
      assert.equal(new Set(values).size, copies, `${name} is the same in two of them: ${values.join(', ')}`);
    }
  });
});

async function inspectCopy(runtime: Runtime): Promise<Record<string, string>> {
  const said: string[] = [];
  const vm = await runtime.boot(newVmSpec({ acceptEgress: (connection) => answer(connection, said) }), {
    signal: bootSignal(runtime.bootMsMax),
  });
  try {
    const cdp = new CdpClient(vm.cdp);
    const { browserContextId } = await cdp.call('Target.createBrowserContext');
    const { targetId } = await cdp.call('Target.createTarget', { url: 'http://site.test/' });
    const { sessionId } = await cdp.call('Target.attachToTarget', { targetId, flatten: true });
    const page = String(sessionId);
    await until(async () => (await evaluate(cdp, page, 'document.title')) === 'site', 120_000);
    const beforeMs = Date.now();
    const { timeOrigin, now, ...drawn } = JSON.parse(String(await evaluate(cdp, page, script))) as Record<string, string>;
    assert.ok(Math.abs(Number(timeOrigin) - beforeMs) < pageMsMax, timeOrigin);
    assert.ok(Number(now) > beforeMs - skewMsMax && Number(now) < Date.now() + skewMsMax, `${now}: asked at ${beforeMs}`);
    const heard = shown.map(([name, find]) => [name, said.map(find).find((value) => value !== undefined) ?? '']);
    return {
      'a context': String(browserContextId),
      'a target': String(targetId),
      'a session': page,
      ...drawn,
      ...Object.fromEntries(heard),
    };
  } finally {
    await vm.destroy();
  }
}

/** A proxy and all sites behind it: answers what is not hidden, and hangs up on the rest once it has spoken. */
function answer(connection: Duplex, said: string[]): void {
  let isTunnel = false;
  connection
    .on('error', () => {})
    .on('data', (bytes: Buffer) => {
      const words = bytes.toString('latin1');
      if (words.startsWith('CONNECT ')) {
        isTunnel = true;
        connection.write('HTTP/1.1 200 OK\r\n\r\n');
        return;
      }
      said.push(words);
      const body = '<title>site</title>';
      if (isTunnel) connection.end();
      else
        connection.end(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    });
}
