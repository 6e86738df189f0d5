/** A pipe with a name reads as a port does: nothing while nobody is at its other end, and whatever the next says when he comes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { findPort, Port } from './port.ts';
import { until } from './testing/agent.ts';

describe('a port', () => {
  const folder = mkdtempSync(join(tmpdir(), 'port-'));
  const path = join(folder, 'port');
  let port: Port;
  let hosts: Socket[];
  let heard: string[];
  beforeEach(() => {
    execFileSync('mkfifo', [path]);
    hosts = [];
    heard = [];
    const onHost = (stream: Socket): void => {
      const at = hosts.push(stream) - 1;
      heard[at] = '';
      stream.on('data', (bytes: Buffer) => (heard[at] += bytes.toString()));
    };
    port = new Port(path, onHost, constants.O_RDONLY);
    port.listen();
  });
  afterEach(() => {
    port.close();
    rmSync(path);
  });

  after(() => rmSync(folder, { recursive: true }));

  const come = (): number => openSync(path, constants.O_WRONLY);
  const say = (host: number, words: string): void => void writeSync(host, words);
  const hearFrom = (at: number, words: string): Promise<void> => until(() => heard[at] === words, 2000);

  it('knows a host before its first word, and hears all of it', async () => {
    const host = come();
    await until(() => hosts.length === 1, 2000);
    say(host, 'one ');
    await hearFrom(0, 'one ');
    say(host, 'two');
    await hearFrom(0, 'one two');
    closeSync(host);
  });

  it('loses nothing of what was said before it looked', async () => {
    const host = come();
    say(host, 'early');
    await hearFrom(0, 'early');
    closeSync(host);
  });

  it('ends its stream when the host leaves, and gives another for the next host', async () => {
    for (const at of [0, 1, 2]) {
      const host = come();
      await until(() => hosts.length === at + 1, 2000);
      say(host, `host ${at}`);
      await hearFrom(at, `host ${at}`);
      const closed = once(hosts[at] as Socket, 'close');
      closeSync(host);
      await closed;
    }
  });

  it('passes over what a host says after it was hung up on, until that host has left', async () => {
    const host = come();
    await until(() => hosts.length === 1, 2000);
    const closed = once(hosts[0] as Socket, 'close');
    hosts[0]?.destroy();
    await closed;
    say(host, 'not heard');
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(hosts.length, 1);
    closeSync(host);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const next = come();
    say(next, 'heard');
    await hearFrom(1, 'heard');
    closeSync(next);
  });

  it('is not found where there is none of that name', () => {
    assert.throws(() => findPort('berth.nothing'));
  });
});
