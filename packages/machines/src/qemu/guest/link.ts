/**
 * The service's end of both ports of a virtual machine. The guest may be
 * compromised, so everything it sends is limited, and a protocol error closes the
 * link. The owner of the machine then ends it.
 */
import type { Duplex } from 'node:stream';
import {
  BrowserExitResult,
  StartBrowserResult,
  GuestHello,
  GuestStats,
  IdentityResult,
  QuietResult,
  guestProtocol,
  guestRequests,
  type Identity,
} from '@berth/contract/guest';
import { NoDisplayError, type VmFiles } from '../../runtime.ts';
import { GuestControl, GuestError } from './control.ts';
import { GuestEgress } from './egress.ts';
import { GuestFiles } from './files.ts';
import { randomBytes, randomUUID } from 'node:crypto';

export { GuestError } from './control.ts';

/** Timeouts without emulation; `hello` includes the boot. The agent's own limits are lower. */
const msMax = { hello: 20_000, start: 30_000, waitForQuiet: 60_000, identify: 5000, open: 5000, display: 10_000, stats: 5000 } as const;
/** Maximum attempts to give an identity: on a busy host the time may arrive late, so it is sent again. */
const identityAttemptsMax = 3;

interface GuestLinkOptions {
  control: Duplex;
  egress: Duplex;
  /** Called for each connection of the browser. */
  acceptEgress: (connection: Duplex) => void;
  /** Multiplies every timeout. */
  slowdown: number;
}

interface Signalled {
  signal: AbortSignal;
}

export class GuestLink {
  readonly files: VmFiles;
  /** Requested after `start` or `identify`. Never resolves if the link closes before. */
  readonly browserExit: Promise<BrowserExitResult>;
  /** Resolves once with the reason: connection ended, protocol error, limit exceeded, or closed by us. */
  readonly closed: Promise<string>;

  readonly #control: GuestControl;
  readonly #egress: GuestEgress;
  #resolveExit: (exit: BrowserExitResult) => void = () => {};
  #resolveClosed: (why: string) => void = () => {};
  #isWatchingExit = false;

  constructor({ control, egress, acceptEgress, slowdown }: GuestLinkOptions) {
    this.browserExit = new Promise((resolve) => {
      this.#resolveExit = resolve;
    });
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#control = new GuestControl({ port: control, slowdown, onClosed: (why) => this.#onClosed(why) });
    this.#egress = new GuestEgress({ port: egress, accept: acceptEgress, onClosed: (why) => this.#onClosed(why) });
    this.files = new GuestFiles(this.#control, slowdown);
  }

  /** @throws GuestError when there is no agent or it speaks another protocol version */
  async hello({ signal }: Signalled): Promise<GuestHello> {
    const hello = await this.#control.ask(guestRequests.hello, GuestHello, { msMax: msMax.hello, signal });
    if (hello.protocol !== guestProtocol) throw new GuestError(`the agent speaks protocol ${hello.protocol}, not ${guestProtocol}`);
    return hello;
  }

  async start(kind: 'headless' | 'full_browser', { signal }: Signalled): Promise<StartBrowserResult> {
    const started = await this.#control.ask(guestRequests.start, StartBrowserResult, { body: { kind }, msMax: msMax.start, signal });
    this.#watchExit();
    return started;
  }

  waitForQuiet({ signal }: Signalled): Promise<QuietResult> {
    return this.#control.ask(guestRequests.waitForQuiet, QuietResult, { msMax: msMax.waitForQuiet, signal });
  }

  /** Gives the machine a new identity. @throws GuestError unless it confirms identity and time */
  async identify({ signal }: Signalled): Promise<IdentityResult> {
    for (let attempt = 1; attempt <= identityAttemptsMax; attempt += 1) {
      const identity = newIdentity(Date.now());
      const taken = await this.#control.ask(guestRequests.identify, IdentityResult, { body: identity, msMax: msMax.identify, signal });
      if (!isIdentityTaken(identity, taken)) throw new GuestError('the machine did not apply its identity');
      if (!isClockCorrect(taken, Date.now())) continue;
      this.#watchExit();
      return taken;
    }
    throw new GuestError('the machine has a wrong clock');
  }

  /** The browser's DevTools pipe. */
  async openDevtools(): Promise<Duplex> {
    const { status, stream } = await this.#control.open(guestRequests.devtools, { msMax: msMax.open });
    if (status === 200) return stream;
    stream.destroy();
    throw new GuestError(`DevTools: status ${status}`);
  }

  /** @throws NoDisplayError */
  async openVnc(): Promise<Duplex> {
    const { status, stream } = await this.#control.open(guestRequests.vnc, { msMax: msMax.open }).catch(noDisplay);
    if (status === 200) return stream;
    stream.destroy();
    throw new NoDisplayError(`the display cannot be reached: status ${status}`);
  }

  /** @throws NoDisplayError */
  async resizeDisplay(page: { width: number; height: number }): Promise<void> {
    const { status } = await this.#control.exchange(guestRequests.display, { body: page, msMax: msMax.display }).catch(noDisplay);
    if (status !== 204) throw new NoDisplayError(`the display could not be resized: status ${status}`);
  }

  stats({ signal }: Signalled): Promise<GuestStats> {
    return this.#control.ask(guestRequests.stats, GuestStats, { msMax: msMax.stats, signal });
  }

  close(): void {
    this.#onClosed('closed');
  }

  #onClosed(why: string): void {
    this.#resolveClosed(why);
    this.#control.close(why);
    this.#egress.close(why);
  }

  #watchExit(): void {
    if (this.#isWatchingExit) return;
    this.#isWatchingExit = true;
    this.#control
      .ask(guestRequests.exit, BrowserExitResult, { msMax: null })
      .then(this.#resolveExit, (error: GuestError) => this.#onClosed(error.message));
  }
}

const noDisplay = (cause: unknown): never => {
  throw new NoDisplayError('the display cannot be reached', { cause });
};

/** Maximum error of the guest's clock, which sites and certificate checks see. */
const skewMsMax = 1000;

/** Clones of a template start identical, so each gets an identity of its own before it is used. */
const newIdentity = (nowMs: number): Identity => ({
  entropy: randomBytes(64).toString('base64'),
  time_ms: nowMs,
  machine_id: randomBytes(16).toString('hex'),
  boot_id: randomUUID(),
  hostname: `berth-${randomBytes(4).toString('hex')}`,
});

const isIdentityTaken = (identity: Identity, taken: IdentityResult): boolean =>
  taken.machine_id === identity.machine_id && taken.boot_id === identity.boot_id;

/** Whether a response that has just arrived proves that the guest's clock is correct. A late one proves nothing. */
const isClockCorrect = ({ time_ms: timeMs }: IdentityResult, nowMs: number): boolean => Math.abs(timeMs - nowMs) <= skewMsMax;
