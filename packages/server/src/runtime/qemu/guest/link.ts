/**
 * The service's end of both ports of a virtual machine. Whatever comes out of
 * them may be said by somebody who has taken the machine over: it is bounded,
 * and where it is not what the protocol says, the link is lost. Whoever holds
 * the machine then ends it.
 */
import type { Duplex } from 'node:stream';
import {
  BrowserExited,
  BrowserStarted,
  GuestHello,
  GuestStats,
  IdentityTaken,
  Settled,
  guestProtocol,
  guestRequests,
} from '@berth/contract/guest';
import { NoDisplay } from '../../runtime.ts';
import type { VmFiles } from '../../runtime.ts';
import { GuestControl } from './control.ts';
import { GuestEgress } from './egress.ts';
import { GuestFault } from './fault.ts';
import { GuestFiles } from './files.ts';
import { isTaken, knowsTime, newIdentity } from './identity.ts';

export { GuestFault } from './fault.ts';

/** How long the agent may take where nothing is emulated; for the first word, the machine's boot too. It has limits of its own below these. */
const msMax = { hello: 20_000, start: 30_000, settle: 60_000, identify: 5000, open: 5000, display: 10_000, stats: 5000 } as const;
/** On a busy host the time may be late when it comes; told again it is not. */
const identityAttemptsMax = 3;

export interface GuestLinkOptions {
  control: Duplex;
  egress: Duplex;
  /** Called for each connection that the browser opens. */
  acceptEgress: (connection: Duplex) => void;
  /** Stretches every deadline. */
  slowness: number;
}

interface Signalled {
  signal: AbortSignal;
}

export class GuestLink {
  readonly files: VmFiles;
  /** Asked from the browser's start on, or from the clone's identity on. Never settles when the link is lost before. */
  readonly browserExit: Promise<BrowserExited>;
  /** Once, with why: the control connection ended, the protocol was broken, a limit passed, or it was closed by us. */
  readonly gone: Promise<string>;

  readonly #control: GuestControl;
  readonly #egress: GuestEgress;
  #resolveExit: (exit: BrowserExited) => void = () => {};
  #resolveGone: (why: string) => void = () => {};
  #asksForExit = false;

  constructor({ control, egress, acceptEgress, slowness }: GuestLinkOptions) {
    this.browserExit = new Promise((resolve) => {
      this.#resolveExit = resolve;
    });
    this.gone = new Promise((resolve) => {
      this.#resolveGone = resolve;
    });
    this.#control = new GuestControl({ port: control, slowness, onLost: (why) => this.#onLost(why) });
    this.#egress = new GuestEgress({ port: egress, accept: acceptEgress, onLost: (why) => this.#onLost(why) });
    this.files = new GuestFiles(this.#control, slowness);
  }

  /** Throws GuestFault: no agent, or one that speaks another protocol. */
  async hello({ signal }: Signalled): Promise<GuestHello> {
    const hello = await this.#control.ask(guestRequests.hello, GuestHello, { msMax: msMax.hello, signal });
    if (hello.protocol !== guestProtocol) throw new GuestFault(`the agent speaks protocol ${hello.protocol}, not ${guestProtocol}`);
    return hello;
  }

  async start(kind: 'headless' | 'full_browser', { signal }: Signalled): Promise<BrowserStarted> {
    const started = await this.#control.ask(guestRequests.start, BrowserStarted, { body: { kind }, msMax: msMax.start, signal });
    this.#askForExit();
    return started;
  }

  settle({ signal }: Signalled): Promise<Settled> {
    return this.#control.ask(guestRequests.settle, Settled, { msMax: msMax.settle, signal });
  }

  /** Throws GuestFault unless the machine shows that it is who it was told to be, and knows the time. */
  async identify({ signal }: Signalled): Promise<IdentityTaken> {
    for (let attempt = 1; attempt <= identityAttemptsMax; attempt += 1) {
      const identity = newIdentity(Date.now());
      const taken = await this.#control.ask(guestRequests.identify, IdentityTaken, { body: identity, msMax: msMax.identify, signal });
      if (!isTaken(identity, taken)) throw new GuestFault('the machine did not take its identity');
      if (!knowsTime(taken, Date.now())) continue;
      this.#askForExit();
      return taken;
    }
    throw new GuestFault('the machine does not know the time');
  }

  /** The browser's DevTools pipe. */
  async openDevtools(): Promise<Duplex> {
    const { status, stream } = await this.#control.open(guestRequests.devtools, { msMax: msMax.open });
    if (status === 200) return stream;
    stream.destroy();
    throw new GuestFault(`DevTools: status ${status}`);
  }

  /** Throws NoDisplay. */
  async openVnc(): Promise<Duplex> {
    const { status, stream } = await this.#control.open(guestRequests.vnc, { msMax: msMax.open }).catch(noDisplay);
    if (status === 200) return stream;
    stream.destroy();
    throw new NoDisplay(`the display cannot be reached: status ${status}`);
  }

  /** Throws NoDisplay. */
  async sizeDisplay(page: { width: number; height: number }): Promise<void> {
    const { status } = await this.#control.exchange(guestRequests.display, { body: page, msMax: msMax.display }).catch(noDisplay);
    if (status !== 204) throw new NoDisplay(`the display did not take its size: status ${status}`);
  }

  stats({ signal }: Signalled): Promise<GuestStats> {
    return this.#control.ask(guestRequests.stats, GuestStats, { msMax: msMax.stats, signal });
  }

  close(): void {
    this.#onLost('closed');
  }

  #onLost(why: string): void {
    this.#resolveGone(why);
    this.#control.lose(why);
    this.#egress.lose(why);
  }

  #askForExit(): void {
    if (this.#asksForExit) return;
    this.#asksForExit = true;
    this.#control
      .ask(guestRequests.exit, BrowserExited, { msMax: null })
      .then(this.#resolveExit, (error: GuestFault) => this.#onLost(error.message));
  }
}

const noDisplay = (cause: unknown): never => {
  throw new NoDisplay('the display cannot be reached', { cause });
};
