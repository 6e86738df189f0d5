import { NavigateRequest, OpenTabRequest, RunActionsRequest, ServiceError, type Step } from '@berth/contract';
import type { LiveViewMessage } from '@berth/contract/live-view';
import { BrowserGone, PageError, TabNotFound, type Hands } from '../browser/browser.ts';
import type { Drive, Target } from '../drive/drive.ts';
import type { Log } from '../lib/log.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import { pageSize, type Command, type ControlCommand } from './live-view-commands.ts';

export interface ControlParts {
  session: LiveSession;
  machine: Machine;
  sessions: Sessions;
  drive: Drive;
  log: Log;
  say(message: LiveViewMessage): void;
}

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>;
type InputCommand = CommandOf<'mouse' | 'wheel' | 'key' | 'text' | 'compose'>;
type Work = (target: Target) => Promise<unknown>;

/** A page that hangs takes no input: what comes on top of this many is left out. */
const inputsMax = 256;
/** Tabs and addresses that one person may have under way: each waits its turn among the session's drive calls. */
const worksMax = 4;
/** The page can be seen and used from then on; programs wait no longer than that for a person's navigation. */
const waitUntil = 'domcontentloaded';

/**
 * What one viewer does to the session. Mouse and keyboard go to the active tab
 * as they come; what a drive call does as well waits its turn like one.
 */
export class Control {
  readonly #parts: ControlParts;
  #held: { tabId: string; hands: Hands } | null = null;
  #inputs = 0;
  readonly #works = new Set<AbortController>();
  /** The latest navigation. */
  #underWay: AbortController | null = null;
  #isOver = false;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  run(command: ControlCommand): void {
    this.#parts.session.touch();
    switch (command.type) {
      case 'mouse':
      case 'wheel':
      case 'key':
      case 'text':
      case 'compose':
        return this.#input(command);
      case 'copy':
        return this.#copy();
      case 'tab':
        this.#work(this.#tabWork(command));
        return;
      case 'navigate':
        return this.#navigate(command);
      case 'resize':
        this.#work(this.#step({ type: 'set_viewport', ...pageSize(command), device_scale_factor: this.#scale() }));
    }
  }

  /** Gives up what is under way, and lets go of what is held down. Idempotent. */
  end(): void {
    this.#isOver = true;
    for (const work of [...this.#works]) this.#giveUp(work, 'the viewer left');
    this.#letGo();
  }

  #input(command: InputCommand): void {
    const action = 'action' in command ? command.action : null;
    // What was pressed must come up again, or it stays pressed.
    if (this.#inputs >= inputsMax && action !== 'up') return;
    // The next move makes up for one that was lost.
    void this.#counted(() => give(this.#hands(), command)).catch((error: unknown) => (action === 'move' ? undefined : this.#tell(error)));
  }

  #copy(): void {
    if (this.#inputs >= inputsMax) return this.#tell(busy());
    void this.#counted(async () => this.#parts.say({ type: 'clipboard', text: await this.#hands().selection() })).catch((error: unknown) =>
      this.#tell(error),
    );
  }

  async #counted(act: () => Promise<void>): Promise<void> {
    this.#inputs += 1;
    try {
      await act();
    } finally {
      this.#inputs -= 1;
    }
  }

  /** On the active tab, whichever that is by now. */
  #hands(): Hands {
    const { browser } = this.#parts.machine;
    const { tabId } = browser.activeTab();
    if (this.#held?.tabId !== tabId) {
      this.#letGo();
      this.#held = { tabId, hands: browser.hands(tabId) };
    }
    return this.#held.hands;
  }

  #letGo(): void {
    const held = this.#held;
    this.#held = null;
    // A tab that is gone holds nothing any more.
    void held?.hands.release().catch(() => undefined);
  }

  #tabWork(command: CommandOf<'tab'>): Work {
    const { drive, sessions } = this.#parts;
    if (command.action === 'open') return (target) => drive.openTab(target, OpenTabRequest.parse({}));
    const { tab_id: tabId } = command;
    if (command.action === 'close') return (target) => drive.closeTab(target, tabId);
    return ({ owner, sessionId, signal: asked }) =>
      sessions.besideBrowser(owner, sessionId, { signal: asked }, ({ browser }, signal) => browser.activateTab(tabId, { signal }));
  }

  /** A person who goes elsewhere does not wait for the page that was slow to come. */
  #navigate(command: CommandOf<'navigate'>): void {
    const work = this.#navigation(command);
    if (!work) return this.#fail('bad_request', 'Only addresses that begin with http:// or https:// can be opened.');
    this.#giveUp(this.#underWay, 'the viewer went elsewhere');
    this.#underWay = this.#work(work);
  }

  #navigation(command: CommandOf<'navigate'>): Work | null {
    if (command.to !== 'url') return this.#step({ type: command.to, wait_until: waitUntil });
    const { success, data } = NavigateRequest.safeParse({ url: command.url, wait_until: waitUntil });
    return success ? (target) => this.#parts.drive.navigate(target, data) : null;
  }

  #step(step: { type: Step['type']; [field: string]: unknown }): Work {
    return async (target) => {
      const { results } = await this.#parts.drive.runActions(target, RunActionsRequest.parse({ actions: [step] }));
      const [result] = results;
      if (result?.error) this.#fail(result.error.code, result.error.message);
    };
  }

  /** What aborts it; null where too much is under way. */
  #work(work: Work): AbortController | null {
    if (this.#works.size >= worksMax) {
      this.#tell(busy());
      return null;
    }
    const controller = new AbortController();
    this.#works.add(controller);
    const { owner, sessionId } = this.#parts.session.record;
    const { signal } = controller;
    void work({ owner, sessionId, signal, isFree: true })
      // What was given up on purpose is no failure.
      .catch((error: unknown) => (signal.aborted ? undefined : this.#tell(error)))
      .finally(() => this.#works.delete(controller));
    return controller;
  }

  #giveUp(work: AbortController | null, why: string): void {
    if (!work) return;
    work.abort(new Error(why));
    this.#works.delete(work);
  }

  #scale(): number {
    return this.#parts.session.record.settings.viewport.device_scale_factor;
  }

  #tell(error: unknown): void {
    if (error instanceof ServiceError) return this.#fail(error.code, error.publicMessage);
    if (error instanceof TabNotFound) return this.#fail('tab_not_found', 'There is no such tab in this session.');
    if (error instanceof PageError) return this.#fail('page_failed', error.message);
    // The session ends by that, and everybody is told.
    if (error instanceof BrowserGone) return;
    this.#parts.log.warn({ error, session: this.#parts.session.record.sessionId }, 'a command of a live view failed');
    this.#fail('internal_error', 'That did not work.');
  }

  #fail(code: string, message: string): void {
    if (!this.#isOver) this.#parts.say({ type: 'failed', code, message });
  }
}

const busy = (): ServiceError => new ServiceError('session_busy', 'The page is busy. Try again in a moment.');

function give(hands: Hands, command: InputCommand): Promise<void> {
  const { type: _, ...event } = command;
  if ('button' in event) return hands.mouse(event);
  if ('dx' in event) return hands.wheel(event);
  if ('key' in event) return hands.key(event);
  return 'start' in event ? hands.compose(event.text, event.start, event.end) : hands.insertText(event.text);
}
