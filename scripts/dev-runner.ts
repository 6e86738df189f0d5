/** Runs a service from its sources, and starts it again after a change. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

type Command = readonly [name: string, ...args: string[]];

export interface DevOptions {
  root: string;
  serve: Command;
  /** Builds the pages. */
  build: Command;
  /** Folders of the service, below `root`. */
  serviceDirs: readonly string[];
  /** Folders that the pages are made of. They are built before the service starts again. */
  pageDirs: readonly string[];
  print: (line: string) => void;
}

/** Editors and version control write several files, or one file several times. */
const quietMs = 150;
/** A service that finishes running calls is waited for this long. What it leaves when it is killed, its next start cleans up. */
const stopMs = 10_000;

/** Serves until the signal is aborted. Then no process of it is left. */
export async function runDev(options: DevOptions, signal: AbortSignal): Promise<void> {
  const { print } = options;
  const changes = new Changes(options, signal);
  let service = new Service(options);
  let arePagesStale = false;
  while (await changes.next()) {
    const changed = changes.take();
    print(`Changed: ${summaryOf(changed.files)}`);
    // Pages that could not be built are tried again with each change.
    if (changed.arePages || arePagesStale) arePagesStale = !(await build(options, signal));
    if (signal.aborted) break;
    if (arePagesStale && !changed.isService) continue;
    await service.stop();
    service = new Service(options);
  }
  await service.stop();
}

/** A change of branch changes hundreds of files. */
const filesShown = 5;

const summaryOf = (files: readonly string[]): string =>
  [...files.slice(0, filesShown), ...(files.length > filesShown ? [`and ${files.length - filesShown} more`] : [])].join(', ');

/** Returns whether the build succeeded. Its output says why not. */
async function build({ root, build: [name, ...args], print }: DevOptions, signal: AbortSignal): Promise<boolean> {
  print('Building the pages ...');
  // A group of its own, which ends as a whole: a build starts processes that outlive its shell.
  const child = spawn(name, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  const end = (): void => endGroup(child);
  signal.addEventListener('abort', end, { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  signal.removeEventListener('abort', end);
  if (code !== 0 && !signal.aborted) print('The pages could not be built; the service runs on with those before.');
  return code === 0;
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGTERM');
  } catch (error) {
    // Its last process may have ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

class Service {
  #child: ChildProcess;
  #exited: Promise<unknown>;
  #isStopping = false;

  constructor({ root, serve, print }: DevOptions) {
    // The kernel ends the service with this process, also where this one is killed.
    this.#child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', ...serve], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    this.#exited = once(this.#child, 'exit').then(([code, exitSignal]: unknown[]) => {
      if (!this.#isStopping) print(`The service has ended (${String(code ?? exitSignal)}). It starts again after the next change.`);
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopMs);
    await this.#exited;
    clearTimeout(timer);
  }
}

interface Changed {
  files: string[];
  isService: boolean;
  arePages: boolean;
}

/** The files that have changed and were not taken yet. */
class Changes {
  #files = new Set<string>();
  #isService = false;
  #arePages = false;
  #signal: AbortSignal;
  #wake = Promise.withResolvers<void>();

  constructor({ root, serviceDirs, pageDirs }: DevOptions, signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake.resolve(), { once: true });
    for (const dir of new Set([...serviceDirs, ...pageDirs]))
      void this.#watch(root, dir, { isService: serviceDirs.includes(dir), isPage: pageDirs.includes(dir) }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
  }

  async #watch(root: string, dir: string, { isService, isPage }: { isService: boolean; isPage: boolean }): Promise<void> {
    for await (const { filename } of watch(join(root, dir), { recursive: true, signal: this.#signal })) {
      if (filename === null || !isSource(filename)) continue;
      this.#files.add(join(dir, filename));
      this.#isService ||= isService;
      this.#arePages ||= isPage;
      this.#wake.resolve();
    }
  }

  /** Resolves when files have changed and no more follow: to false if the signal is aborted. */
  async next(): Promise<boolean> {
    await this.#wake.promise;
    for (let count = -1; count !== this.#files.size && !this.#signal.aborted;) {
      count = this.#files.size;
      await sleep(quietMs);
    }
    return !this.#signal.aborted;
  }

  take(): Changed {
    const changed = { files: [...this.#files], isService: this.#isService, arePages: this.#arePages };
    this.#files.clear();
    this.#isService = false;
    this.#arePages = false;
    this.#wake = Promise.withResolvers();
    if (this.#signal.aborted) this.#wake.resolve();
    return changed;
  }
}

/** Tests, build results, and what editors write beside a file do not change the service. */
const isSource = (file: string): boolean =>
  !/\.(test|fixture|microvm)\.tsx?$|~$/.test(file) &&
  !basename(file).startsWith('.') &&
  !file.split(sep).some((part) => part === 'dist' || part === 'node_modules');
