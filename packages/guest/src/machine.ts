import type { Duplex } from 'node:stream';
import { guestPaths, guestProtocol } from '@berth/contract/guest';
import type {
  BrowserExited,
  BrowserStarted,
  GuestHello,
  GuestStats,
  Identity,
  IdentityTaken,
  PageSize,
  Settled,
  StartBrowser,
} from '@berth/contract/guest';
import { Browser } from './browser.ts';
import type { BrowserPlace } from './browser.ts';
import { Display, NoDisplay } from './display.ts';
import type { Egress } from './egress.ts';
import type { Identities } from './identity.ts';
import { MachineFiles } from './machine-files.ts';
import { rehearse } from './rehearsal.ts';
import { settle } from './settle.ts';
import { countProcesses, readMemory, readProcessorSeconds } from './processes.ts';

/** What is asked for cannot be had now: there is no browser yet, or none any more, or somebody else has it. */
export class NotNow extends Error {}

export interface MachinePlace {
  chromiumPath: string;
  /** The browser's user. */
  uid: number;
  downloads: string;
  uploads: string;
  display: string;
  home: string;
}

/** As the image has it. */
export const imagePlace: MachinePlace = { chromiumPath: '/usr/lib/chromium/chromium', uid: 1000, ...guestPaths };

export interface MachineParts {
  place: MachinePlace;
  egress: Egress;
  identities: Pick<Identities, 'take' | 'rehearse'>;
}

/** The machine that this program runs in: all that can be asked of it. */
export class Machine {
  readonly files: MachineFiles;
  readonly #parts: MachineParts;
  #browser: Browser | undefined;
  #display: Display | undefined;
  #product = '';
  #pipeTaken = false;

  constructor(parts: MachineParts) {
    const { downloads, uploads } = parts.place;
    this.#parts = parts;
    this.files = new MachineFiles({ downloads, uploads, uploadsInside: uploads });
  }

  hello(): GuestHello {
    return { protocol: guestProtocol, browser: this.#product };
  }

  /** Throws NotNow when asked again, and BrowserNotStarted. */
  async start(order: StartBrowser): Promise<BrowserStarted> {
    if (this.#browser) throw new NotNow('the browser has been started');
    const { place, egress } = this.#parts;
    const { home: homePath, display: displayPath, chromiumPath, uid } = place;
    const browserPlace: BrowserPlace = { chromiumPath, uid, homePath, displayPath, proxyPort: egress.port };
    this.#browser = new Browser(order, browserPlace);
    if (order.kind === 'full_browser') this.#display = new Display(displayPath);
    this.#product = await this.#browser.firstAnswer();
    return { product: this.#product };
  }

  /** Makes ready to be copied. */
  async settle(): Promise<Settled> {
    if (this.#browser && !this.#pipeTaken) await rehearse(this.#browser.pipe);
    await this.#parts.identities.rehearse();
    return settle();
  }

  /** Throws NoWayOut, or what the kernel refused. */
  async identify(identity: Identity): Promise<IdentityTaken> {
    const taken = await this.#parts.identities.take(identity);
    await this.#parts.egress.open();
    return taken;
  }

  /** The browser's DevTools, for one who lets go of the browser with them. Throws NotNow. */
  takePipe(): Duplex {
    if (this.#product === '') throw new NotNow('the browser has not been started');
    if (this.#pipeTaken || !this.#browser) throw new NotNow('somebody has the pipe');
    this.#pipeTaken = true;
    return this.#browser.pipe;
  }

  /** Throws NoDisplay. */
  async openVnc(): Promise<Duplex> {
    return this.#displayOrNone().connect();
  }

  /** Throws NoDisplay. */
  async sizeDisplay(page: PageSize): Promise<void> {
    await this.#displayOrNone().size(page);
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

  /** Resolves when the browser is no more. Throws NotNow where there has been none. */
  async exit(): Promise<BrowserExited> {
    if (!this.#browser) throw new NotNow('the browser has not been started');
    return this.#browser.exited;
  }

  #displayOrNone(): Display {
    if (!this.#display) throw new NoDisplay('the machine has no display');
    return this.#display;
  }
}
