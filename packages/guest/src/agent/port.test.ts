/** A FIFO behaves like a port: reads return 0 while nobody has the other end open, and the data of the next writer afterwards. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { findPort, Port } from './port.ts';
import { until } from '../../testing/agent.ts';

describe('a port', () => {
  const folder = mkdtempSync(join(tmpdir(), 'port-'));
  const path = join(folder, 'port');
  let port: Port;
  let hosts: Socket[];
  let received: string[];
  beforeEach(() => {
    execFileSync('mkfifo', [path]);
    hosts = [];
    received = [];
    const onHost = (stream: Socket): void => {
      const at = hosts.push(stream) - 1;
      received[at] = '';
      stream.on('data', (bytes: Buffer) => (received[at] += bytes.toString()));
    };
    port = new Port(path, onHost, constants.O_RDONLY);
    port.listen();
  });
  afterEach(() => {
    port.close();
    rmSync(path);
  });

  after(() => rmSync(folder, { recursive: true }));

  const connectHost = (): number => openSync(path, constants.O_WRONLY);
  const send = (host: number, words: string): void => void writeSync(host, words);
  const waitForInput = (at: number, words: string): Promise<void> => until(() => received[at] === words, 20_000);

  it('a port detects a host before it sends, and receives all of it', async () => {
    const host = connectHost();
    await until(() => hosts.length === 1, 20_000);
    send(host, 'one ');
    await waitForInput(0, 'one ');
    send(host, 'two');
    await waitForInput(0, 'one two');
    closeSync(host);
  });

  it('a port loses nothing that was sent before it polled', async () => {
    const host = connectHost();
    send(host, 'early');
    await waitForInput(0, 'early');
    closeSync(host);
  });

  it('a port ends its stream when the host leaves, and gives another for the next host', async () => {
    for (const at of [0, 1, 2]) {
      const host = connectHost();
      await until(() => hosts.length === at + 1, 20_000);
      send(host, `host ${at}`);
      await waitForInput(at, `host ${at}`);
      const closed = once(hosts[at] as Socket, 'close');
      closeSync(host);
      await closed;
    }
  });

  it('a port discards what a host sends after its stream was closed, until it disconnects', async () => {
    const host = connectHost();
    await until(() => hosts.length === 1, 20_000);
    const closed = once(hosts[0] as Socket, 'close');
    hosts[0]?.destroy();
    await closed;
    send(host, 'not heard');
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(hosts.length, 1);
    closeSync(host);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const next = connectHost();
    send(next, 'heard');
    await waitForInput(1, 'heard');
    closeSync(next);
  });

  it('a port is not found where there is none of that name', () => {
    assert.throws(() => findPort('berth.nothing'));
  });
});
