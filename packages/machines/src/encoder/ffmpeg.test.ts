import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, readProcess, sendSignal } from '../host/processes.ts';
import { killFfmpeg } from './ffmpeg.ts';

describe('an encoder that is killed while it starts', () => {
  it('an encoder that is killed while it starts leaves no process of its group behind, also none that it has just started', async (t) => {
    // Like a jail whose outer process has just started the inner one: of its group, and no child of it.
    const child = spawn('sh', ['-c', '(sleep 600 & echo $!); exec sleep 600'], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const inner = Number(line.toString());
    t.after(() => sendSignal(inner, 'SIGKILL'));
    while (childrenOf(child.pid ?? assert.fail()).length > 0) await sleep(10);
    killFfmpeg(child);
    const [, signal] = (await once(child, 'close')) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL');
    // Its output is closed a moment before it is dead.
    while (readProcess(inner)?.dead === false) await sleep(10);
  });
});
