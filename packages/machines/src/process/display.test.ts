import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { nightly } from '../../../../tests/nightly.ts';
import { sendSignal } from '../host/processes.ts';
import { hostDisplayPath, machinePath, readMarker } from '../host/machine-folder.ts';
import { createProcessRuntime } from './process.ts';
import { CdpClient, bootSignal, newVmSpec } from '../../testing/runtime-suite.ts';
import { NoDisplayError, type Runtime, type Vm, type VmKind } from '../runtime.ts';
import { bootInAnotherWorker, evaluate, optionsFor, processesOf, readOf, statusOf, until } from '../../testing/machines.ts';
import { RfbViewer } from '../../testing/rfb-viewer.ts';

const newDataDir = (): string => mkdtempSync(join(tmpdir(), 'display-test-'));
const named = (id: string, name: string): number => processesOf(id).find((pid) => readOf(pid, 'comm').trim() === name) ?? 0;
const page = (body: string): string => `data:text/html,${encodeURIComponent(`<body style="margin:0">${body}`)}`;
const red = page('<div style="background:rgb(255,0,0);height:100vh">');
const blue = page('<div style="background:rgb(0,0,255);height:100vh">');
const middle = { x: 640, y: 447 };

/** Some fonts for text have the older emoji too, without colour. */
async function assertDrawn(cdp: CdpClient): Promise<void> {
  const drawn = `(() => {
    const draw = (text) => {
      const context = new OffscreenCanvas(48, 48).getContext('2d', { willReadFrequently: true });
      context.font = '32px sans-serif';
      context.fillText(text, 4, 36);
      return [...context.getImageData(0, 0, 48, 48).data];
    };
    const missing = String(draw('\\u{10fffd}'));
    const pictures = [...'你好한국어日本語', '\\u{1f600}', '\\u{1f973}'].map(draw);
    const isColoured = (picture) => picture.some((value, at) => at % 4 === 0 && value !== picture[at + 2]);
    return JSON.stringify({
      missing: pictures.filter((picture) => String(picture) === missing || !picture.some(Boolean)).length,
      distinct: new Set(pictures.map(String)).size,
      coloured: isColoured(pictures.at(-1)),
    });
  })()`;
  const seen = JSON.parse(String(await evaluate(cdp, await cdp.openPage(), drawn))) as object;
  assert.deepEqual(seen, { missing: 0, distinct: 10, coloured: true });
}

for (const jail of ['auto', 'none'] as const) {
  /** What a jail changes nothing of. */
  const likeInJail = jail === 'none' ? nightly : {};
  describe(jail === 'auto' ? 'the display of a machine' : 'the display of a machine without a jail', () => {
    const dataDir = newDataDir();
    let runtime: Runtime;
    before(async () => {
      runtime = await createProcessRuntime(optionsFor(dataDir, { jail }));
    });
    after(async () => {
      await runtime.close();
      await rm(dataDir, { recursive: true });
    });

    const withMachine = async (work: (vm: Vm, cdp: CdpClient) => Promise<void>, kind: VmKind = 'full_browser'): Promise<void> => {
      const vm = await runtime.boot(newVmSpec({ kind }), { signal: bootSignal() });
      try {
        await work(vm, new CdpClient(vm.cdp));
      } finally {
        await vm.destroy();
      }
    };
    const shows = async (viewer: RfbViewer, colour: number[]): Promise<void> =>
      until(async () => String((await viewer.readPicture()).at(middle.x, middle.y)) === String(colour), 30_000);

    describe('that runs', () => {
      let vm: Vm;
      let cdp: CdpClient;
      before(async () => {
        vm = await runtime.boot(newVmSpec({ kind: 'full_browser' }), { signal: bootSignal() });
        cdp = new CdpClient(vm.cdp);
      });
      after(() => vm.destroy());

      it('a display shows the page that was navigated to, whole and at its place', async () => {
        const viewer = await RfbViewer.open(await vm.openVnc());
        const session = await cdp.openPage();
        await cdp.call('Page.navigate', { url: red }, session);
        await shows(viewer, [255, 0, 0]);
        const asked = '[innerWidth, innerHeight, outerWidth, outerHeight, screen.width, screen.height, screenX, screenY].join()';
        await until(async () => (await evaluate(cdp, session, asked)) === '1280,720,1280,807,1280,807,0,0', 30_000);
        const picture = await viewer.readPicture();
        assert.deepEqual([picture.width, picture.height], [1280, 807]);
        for (const [x, y] of [
          [1, 88],
          [1278, 88],
          [1, 805],
          [1278, 805],
        ] as const)
          assert.deepEqual(picture.at(x, y), [255, 0, 0], `${x}, ${y}`);
        assert.notDeepEqual(picture.at(640, 80), [255, 0, 0]);
        viewer.close();
      });

      it('a display accepts viewers after many that disconnected early', likeInJail, async () => {
        for (let left = 0; left < 30; left += 1) {
          const stream = await vm.openVnc();
          await once(stream, 'data');
          stream.destroy();
        }
        const viewer = await RfbViewer.open(await vm.openVnc());
        viewer.close();
      });

      it('a display is not reached through a link, a file or a folder that the machine puts in place of its socket', async () => {
        let reached = 0;
        const host = createServer((socket) => void ((reached += 1), socket.destroy()));
        const hostPath = join(dataDir, 'host.sock');
        host.listen(hostPath);
        await once(host, 'listening');
        const { workPath } = (await readMarker(dataDir, vm.id)) ?? {};
        const folder = workPath ? join(workPath, 'display') : hostDisplayPath(dataDir, vm.id);
        const socket = join(folder, 'vnc');
        renameSync(socket, `${socket}.away`);
        const plants: [string, () => void][] = [
          ['a link to a socket of the host', () => symlinkSync(hostPath, socket)],
          ['a link to its own socket', () => symlinkSync(`${socket}.away`, socket)],
          ['a file', () => writeFileSync(socket, '')],
          ['a pipe', () => execFileSync('mkfifo', [socket])],
          ['a folder', () => mkdirSync(socket)],
          ['nothing', () => undefined],
        ];
        for (const [what, plant] of plants) {
          plant();
          await assert.rejects(vm.openVnc(), NoDisplayError, what);
          rmSync(socket, { recursive: true, force: true });
        }
        renameSync(`${socket}.away`, socket);
        (await vm.openVnc()).destroy();
        if (jail === 'auto') {
          renameSync(folder, `${folder}.away`);
          symlinkSync(`${folder}.away`, folder);
          await assert.rejects(vm.openVnc(), NoDisplayError, 'a link in place of the folder');
          rmSync(folder);
          renameSync(`${folder}.away`, folder);
        }
        assert.equal(reached, 0);
        host.close();
      });

      it('a display rejects a resize that an impostor breaks or never answers', likeInJail, async () => {
        const { workPath } = (await readMarker(dataDir, vm.id)) ?? {};
        const socket = join(workPath ? join(workPath, 'display') : hostDisplayPath(dataDir, vm.id), 'vnc');
        renameSync(socket, `${socket}.away`);
        for (const answer of ['HTTP/1.1 200 OK\r\n', `RFB 003.008\n\x01\x01\0\0\0\0${'\xff'.repeat(200)}`, '']) {
          const impostor = createServer(
            (stream) =>
              void stream
                .on('error', () => {})
                .resume()
                .end(answer, 'latin1'),
          );
          impostor.listen(socket);
          await once(impostor, 'listening');
          await assert.rejects(vm.resizeDisplay({ width: 800, height: 600 }), NoDisplayError);
          await new Promise((resolve) => impostor.close(resolve));
          rmSync(socket, { force: true });
        }
        renameSync(`${socket}.away`, socket);
      });

      it('a display draws Chinese, Japanese, Korean and emoji', likeInJail, () => assertDrawn(cdp));

      it('a display takes the size that a page needs, and the page with it', likeInJail, async () => {
        const session = await cdp.openPage();
        const viewer = await RfbViewer.open(await vm.openVnc());
        for (const [width, height] of [
          [1920, 1080],
          [520, 240],
          [3840, 2160],
        ] as const) {
          await vm.resizeDisplay({ width, height });
          await until(async () => (await evaluate(cdp, session, '`${innerWidth} ${innerHeight}`')) === `${width} ${height}`, 30_000);
        }
        await vm.resizeDisplay({ width: 320, height: 240 });
        await until(async () => (await viewer.readPicture()).width === 520, 30_000);
        // Of concurrent requests the last one wins.
        await Promise.all([700, 800, 900].map((width) => vm.resizeDisplay({ width, height: 600 })));
        await until(async () => (await viewer.readPicture()).width === 900, 30_000);
        viewer.close();
      });
    });

    it('a display takes mouse and keyboard to the page, which is in front when its tab is activated', likeInJail, async () => {
      await withMachine(async (vm, cdp) => {
        const viewer = await RfbViewer.open(await vm.openVnc());
        const { targetId } = await cdp.call('Target.createTarget', { url: page('<input style="width:100vw;height:100vh">') });
        const { sessionId } = await cdp.call('Target.attachToTarget', { targetId, flatten: true });
        const other = await cdp.openPage();
        await cdp.call('Page.navigate', { url: blue }, other);
        await shows(viewer, [0, 0, 255]);
        // A popup is its own window of the same size.
        await evaluate(cdp, other, `window.open('', '', 'width=300,height=200').document.body.style.background = 'rgb(255, 0, 0)'`);
        await shows(viewer, [255, 0, 0]);
        await cdp.call('Target.activateTarget', { targetId });
        await shows(viewer, [255, 255, 255]);
        viewer.click(middle.x, middle.y);
        await until(async () => (await evaluate(cdp, String(sessionId), 'document.activeElement.tagName')) === 'INPUT', 30_000);
        viewer.type('hello');
        await until(async () => (await evaluate(cdp, String(sessionId), `document.querySelector('input').value`)) === 'hello', 30_000);
        viewer.close();
      });
    });

    it('a machine ends when its display or its window manager ends', likeInJail, async () => {
      for (const name of ['Xtigervnc', 'openbox']) {
        await withMachine(async (vm) => {
          await until(() => named(vm.id, name) > 0, 30_000);
          sendSignal(named(vm.id, name), 'SIGKILL');
          assert.equal((await vm.exited).reason, 'exited', name);
          await until(() => processesOf(vm.id).length === 0, 30_000);
        });
      }
    });

    it('a display dies with a worker that is killed', async () => {
      const { id, worker } = await bootInAnotherWorker(dataDir, { kind: 'full_browser', jail });
      const exit = once(worker, 'exit');
      worker.kill('SIGKILL');
      await exit;
      await until(() => processesOf(id).length === 0, 30_000);
      const artifact = (await runtime.list()).find((each) => each.id === id);
      assert.ok(artifact);
      await runtime.destroy(artifact);
      assert.equal(existsSync(machinePath(dataDir, id)), false);
    });

    it('a display leaves nothing in the shared socket folder', async () => {
      const folder = '/tmp/.X11-unix';
      const socketsOf = (uid: number): string[] =>
        readdirSync(folder).filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.uid === uid);
      let uid = 0;
      await withMachine(async (vm) => {
        uid = (await readMarker(dataDir, vm.id))?.uid ?? 0;
        if (existsSync(folder)) assert.equal(socketsOf(uid).length, jail === 'none' ? 1 : 0);
      });
      if (existsSync(folder)) assert.deepEqual(socketsOf(uid), []);
    });

    it('a browser without windows draws Chinese, Japanese, Korean and emoji too', likeInJail, () =>
      withMachine((_vm, cdp) => assertDrawn(cdp), 'headless'),
    );
  });
}

describe('a machine with a display', () => {
  it('a machine with a display is isolated like one without, and has no port for its display', async () => {
    const dataDir = newDataDir();
    const runtime = await createProcessRuntime(optionsFor(dataDir));
    const vm = await runtime.boot(newVmSpec({ kind: 'full_browser' }), { signal: bootSignal() });
    await new CdpClient(vm.cdp).openPage();
    const programs = ['Xtigervnc', 'openbox', 'chromium'];
    await until(() => programs.every((name) => named(vm.id, name) > 0), 30_000);
    const marker = await readMarker(dataDir, vm.id);
    for (const name of programs) {
      const status = readFileSync(`/proc/${named(vm.id, name)}/status`, 'utf8');
      assert.match(status, new RegExp(`^Uid:\\s+${marker?.uid}\\s`, 'm'), name);
      assert.match(status, /^CapEff:\s+0+$/m, name);
      assert.match(status, /^NoNewPrivs:\s+1$/m, name);
      for (const space of ['net', 'pid', 'mnt', 'ipc', 'uts'])
        assert.notEqual(
          readlinkSync(`/proc/${named(vm.id, name)}/ns/${space}`),
          readlinkSync(`/proc/self/ns/${space}`),
          `${name} ${space}`,
        );
    }
    // A process enters its sandbox some time after it has started.
    await until(() => processesOf(vm.id).some((pid) => statusOf(pid, 'Seccomp') === '2'), 30_000);
    const listening = ['tcp', 'tcp6']
      .flatMap((table) => readFileSync(`/proc/${named(vm.id, 'Xtigervnc')}/net/${table}`, 'utf8').split('\n'))
      .filter((line) => / 0A /.test(line))
      .map((line) => Number.parseInt(/:([0-9A-F]{4}) /.exec(line)?.[1] ?? '', 16));
    assert.deepEqual(listening, [3128]);
    await vm.destroy();
    await runtime.close();
    await rm(dataDir, { recursive: true });
  });

  it('a display is reached in a data folder whose path is longer than a socket’s may be', async () => {
    const root = newDataDir();
    const runtime = await createProcessRuntime(optionsFor(join(root, 'x'.repeat(150))));
    const vm = await runtime.boot(newVmSpec({ kind: 'full_browser' }), { signal: bootSignal() });
    (await RfbViewer.open(await vm.openVnc())).close();
    await vm.destroy();
    await runtime.close();
    await rm(root, { recursive: true });
  });
});
