import type { Duplex } from 'node:stream';
import {
  guestPaths,
  guestProtocol,
  type BrowserExitResult,
  type StartBrowserResult,
  type GuestHello,
  type GuestStats,
  type Identity,
  type IdentityResult,
  type PageSize,
  type QuietResult,
  type StartBrowser,
} from '@berth/contract/guest';
import { Browser, type BrowserEnvironment } from '../browser/browser.ts';
import { Display, NoDisplayError } from '../browser/display.ts';
import type { Egress } from './egress.ts';
import type { Identities } from '../identity/identity.ts';
import { MachineFiles } from './machine-files.ts';
import { waitForQuiet, countProcesses, readMemory, readProcessorSeconds } from '../browser/processes.ts';
import { CdpClient } from '../browser/cdp-client.ts';

/** The request does not fit the state of the browser: not started, already started, or its pipe is in use. */
export class InvalidStateError extends Error {}

export interface MachinePaths {
  chromiumPath: string;
  /** The browser's user. */
  uid: number;
  downloads: string;
  uploads: string;
  display: string;
  home: string;
}

/** Paths in the image. */
export const imagePaths: MachinePaths = { chromiumPath: '/usr/lib/chromium/chromium', uid: 1000, ...guestPaths };

export interface MachineDeps {
  paths: MachinePaths;
  egress: Egress;
  identities: Pick<Identities, 'assume' | 'warmUp'>;
}

/** The machine that this program runs in, and everything that the host can request of it. */
export class Machine {
  readonly files: MachineFiles;
  readonly #deps: MachineDeps;
  #browser: Browser | undefined;
  #display: Display | undefined;
  #product = '';
  #pipeTaken = false;

  constructor(deps: MachineDeps) {
    const { downloads, uploads } = deps.paths;
    this.#deps = deps;
    this.files = new MachineFiles({ downloads, uploads, uploadsInside: uploads });
  }

  hello(): GuestHello {
    return { protocol: guestProtocol, browser: this.#product };
  }

  /** @throws InvalidStateError when called twice, BrowserNotStartedError */
  async start(request: StartBrowser): Promise<StartBrowserResult> {
    if (this.#browser) throw new InvalidStateError('the browser has already been started');
    const { paths, egress } = this.#deps;
    const { home: homePath, display: displayPath, chromiumPath, uid } = paths;
    const environment: BrowserEnvironment = { chromiumPath, uid, homePath, displayPath, proxyPort: egress.port };
    this.#browser = new Browser(request, environment);
    if (request.kind === 'full_browser') this.#display = new Display(displayPath);
    this.#product = await this.#browser.waitUntilReady();
    return { product: this.#product };
  }

  /** Prepares the machine to be saved as a template. */
  async prepareSnapshot(): Promise<QuietResult> {
    if (this.#browser && !this.#pipeTaken) await warmUp(this.#browser.pipe);
    await this.#deps.identities.warmUp();
    return waitForQuiet();
  }

  /** @throws EgressUnavailableError, or an error with what the kernel refused */
  async identify(identity: Identity): Promise<IdentityResult> {
    const taken = await this.#deps.identities.assume(identity);
    await this.#deps.egress.open();
    return taken;
  }

  /** Returns the DevTools pipe, once. The browser exits when it closes. @throws InvalidStateError */
  takePipe(): Duplex {
    if (this.#product === '') throw new InvalidStateError('the browser has not been started');
    if (this.#pipeTaken || !this.#browser) throw new InvalidStateError('the DevTools pipe is in use');
    this.#pipeTaken = true;
    return this.#browser.pipe;
  }

  /** @throws NoDisplayError */
  async openVnc(): Promise<Duplex> {
    return this.#displayOrNone().connect();
  }

  /** @throws NoDisplayError */
  async resizeDisplay(page: PageSize): Promise<void> {
    await this.#displayOrNone().resize(page);
  }

  stats(): GuestStats {
    const { totalBytes, availableBytes } = readMemory();
    return {
      processes: countProcesses(),
      memory_total_bytes: totalBytes,
      memory_available_bytes: availableBytes,
      cpu_seconds: readProcessorSeconds(),
    };
  }

  /** Resolves when the browser has exited. @throws InvalidStateError when it has not been started */
  async exit(): Promise<BrowserExitResult> {
    if (!this.#browser) throw new InvalidStateError('the browser has not been started');
    return this.#browser.exited;
  }

  #displayOrNone(): Display {
    if (!this.#display) throw new NoDisplayError('the machine has no display');
    return this.#display;
  }
}

/** Under emulation a first page takes seconds, on a busy host minutes. */
const pageMsMax = 120_000;

/**
 * Opens and closes a page before a machine is saved, so that copies start with
 * everything that a first page needs loaded. Nothing of the page remains: its
 * process and its browser context end. Rejects if the browser fails or times
 * out. Leaves the pipe to its next reader.
 */
export async function warmUp(pipe: Duplex): Promise<void> {
  const cdp = new CdpClient(pipe, { signal: AbortSignal.timeout(pageMsMax) });
  const { browserContextId } = await cdp.call('Target.createBrowserContext');
  const { targetId } = await cdp.call('Target.createTarget', { url: 'about:blank', browserContextId });
  const { sessionId } = await cdp.call('Target.attachToTarget', { targetId, flatten: true });
  await cdp.call('Runtime.evaluate', { expression: '1' }, String(sessionId));
  await cdp.call('Target.disposeBrowserContext', { browserContextId });
  // The detach event may follow the reply: the next reply comes after it.
  await cdp.call('Target.getTargets');
  await cdp.end();
}
