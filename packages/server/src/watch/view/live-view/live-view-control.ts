import { NavigateRequest, OpenTabRequest, RunActionsRequest, ServiceError, type Step } from '@berth/contract';
import { modifierBits, type LiveViewMessage } from '@berth/contract/live-view';
import { BrowserClosedError, NavigationError, PageError, TabNotFoundError, type BrowserEvent, type RemoteInput } from '@berth/devtools';
import type { Drive, Target } from '../../../sessions/drive/drive.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { LiveSession, Machine, Sessions } from '../../../sessions/sessions/sessions.ts';
import { clampPageSize, type Command, type ControlCommand } from './live-view-commands.ts';
import { Uploads } from './live-view-uploads.ts';

export interface ControlDeps {
  session: LiveSession;
  machine: Machine;
  sessions: Sessions;
  drive: Drive;
  clock: Clock;
  log: Log;
  sendMessage(message: LiveViewMessage): void;
}

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>;
type InputCommand = CommandOf<'mouse' | 'wheel' | 'key' | 'text' | 'compose'>;
type Task = (target: Target) => Promise<unknown>;

/** A hanging page takes no input. Input beyond this limit is dropped, and the viewer reads so. */
const pendingInputsMax = 256;
/** Tab and navigation commands of one viewer that may be pending. Each queues with the session's other drive calls. */
const tasksMax = 4;
/** A viewer who has done nothing for so long is not asked what pages ask. */
const presentMs = 60_000;
/** A page opens a window within this time of the press that asks for it. */
const followMs = 3000;
/** The page is usable from then on. Programs wait no longer than that for a viewer's navigation. */
const waitUntil = 'domcontentloaded';
const historyTimeoutMs = 30_000;

/**
 * Executes the commands of one viewer. Mouse and keyboard input goes to the
 * active tab at once; tab and navigation commands queue like drive calls.
 */
export class LiveViewControl {
  readonly #deps: ControlDeps;
  #active: { tabId: string; input: RemoteInput } | null = null;
  #pendingInputs = 0;
  readonly #tasks = new Set<AbortController>();
  #currentNavigation: AbortController | null = null;
  #hasEnded = false;
  readonly #uploads: Uploads;
  readonly #undo: (() => void)[];
  /** Monotonic times of the last command, and of the last press that may open a tab in front. */
  #commandMs = -Infinity;
  #pressMs = -Infinity;

  constructor(deps: ControlDeps) {
    this.#deps = deps;
    this.#uploads = new Uploads(deps);
    const { browser } = deps.machine;
    this.#undo = [
      browser.attend({ isPresent: () => deps.clock.monotonicMs() - this.#commandMs < presentMs }),
      browser.onEvent((event) => this.#follow(event)),
    ];
    // The person who opens the page may be asked at once.
    this.#commandMs = deps.clock.monotonicMs();
  }

  run(command: ControlCommand): void {
    this.#deps.session.touch();
    this.#commandMs = this.#deps.clock.monotonicMs();
    if (opensInFront(command)) this.#pressMs = this.#commandMs;
    switch (command.type) {
      case 'mouse':
      case 'wheel':
      case 'key':
      case 'text':
      case 'compose':
        return this.#handleInput(command);
      case 'copy':
        return this.#handleCopy();
      case 'tab':
        this.#startTask(this.#tabTask(command));
        return;
      case 'navigate':
        return this.#navigate(command);
      case 'answer':
        return this.#answer(command);
      case 'upload':
        void this.#uploads.receive(command).catch((error: unknown) => this.#reportError(error));
        return;
      case 'resize':
        this.#startTask(
          this.#stepTask({ type: 'set_viewport', ...clampPageSize(command), device_scale_factor: this.#deviceScaleFactor() }),
        );
    }
  }

  /** Cancels pending tasks and releases pressed keys and buttons. Idempotent. */
  end(): void {
    this.#hasEnded = true;
    for (const undo of this.#undo.splice(0)) undo();
    this.#uploads.end();
    for (const task of [...this.#tasks]) this.#cancel(task, 'the viewer disconnected');
    this.#releaseInput();
  }

  #handleInput(command: InputCommand): void {
    const action = 'action' in command ? command.action : null;
    // A release is never dropped, or the key would stay pressed.
    if (this.#pendingInputs >= pendingInputsMax && action !== 'up')
      return action === 'move' || command.type === 'wheel' ? undefined : this.#reportError(createBusyError());
    // The next mouse move supersedes a lost one. A page that waits for an answer takes no input.
    void this.#countInput(() => dispatchInput(this.#inputOfActiveTab(), command)).catch((error: unknown) =>
      action === 'move' || this.#isBlocked() ? undefined : this.#reportError(error),
    );
  }

  #isBlocked(): boolean {
    const { browser } = this.#deps.machine;
    const activeId = browser.tabs().find(({ active }) => active)?.tabId;
    return browser.prompts().some(({ tabId, question }) => tabId === activeId && question.kind === 'dialog');
  }

  #answer({ prompt_id: promptId, accept, text, option, file_ids: fileIds }: CommandOf<'answer'>): void {
    const { machine, session } = this.#deps;
    const paths = fileIds?.flatMap((fileId) => session.uploads.find(fileId)?.path ?? []);
    machine.browser.answerPrompt(promptId, { accept, text, option, paths }).catch((error: unknown) => this.#reportError(error));
  }

  /** A tab that the person's press has opened comes to the front, as in a browser's window. */
  #follow(event: BrowserEvent): void {
    const { clock, machine } = this.#deps;
    if (event.type !== 'tab.opened' || event.openerTabId === null || clock.monotonicMs() - this.#pressMs > followMs) return;
    if (machine.browser.tabs().find(({ active }) => active)?.tabId !== event.openerTabId) return;
    this.#startTask(this.#tabTask({ type: 'tab', action: 'activate', tab_id: event.tabId }));
  }

  #handleCopy(): void {
    if (this.#pendingInputs >= pendingInputsMax) return this.#reportError(createBusyError());
    void this.#countInput(async () =>
      this.#deps.sendMessage({ type: 'clipboard', text: await this.#inputOfActiveTab().selection() }),
    ).catch((error: unknown) => this.#reportError(error));
  }

  async #countInput(dispatch: () => Promise<void>): Promise<void> {
    this.#pendingInputs += 1;
    try {
      await dispatch();
    } finally {
      this.#pendingInputs -= 1;
    }
  }

  /** Input of the tab that is active now. Switching tabs releases what is pressed on the previous one. */
  #inputOfActiveTab(): RemoteInput {
    const { browser } = this.#deps.machine;
    const { tabId } = browser.activeTab();
    if (this.#active?.tabId !== tabId) {
      this.#releaseInput();
      this.#active = { tabId, input: browser.remoteInput(tabId) };
    }
    return this.#active.input;
  }

  #releaseInput(): void {
    const active = this.#active;
    this.#active = null;
    // A closed tab holds no pressed keys.
    void active?.input.release().catch(() => undefined);
  }

  #tabTask(command: CommandOf<'tab'>): Task {
    const { drive, sessions } = this.#deps;
    if (command.action === 'open') return (target) => drive.openTab(target, OpenTabRequest.parse({}));
    const { tab_id: tabId } = command;
    if (command.action === 'close') return (target) => drive.closeTab(target, tabId);
    return ({ owner, sessionId, signal: callerSignal }) =>
      sessions.withBrowserConcurrently(owner, sessionId, { signal: callerSignal }, ({ browser }, signal) =>
        browser.activateTab(tabId, { signal }),
      );
  }

  /** A new navigation cancels the pending one. */
  #navigate(command: CommandOf<'navigate'>): void {
    const task = this.#navigationTask(command);
    if (!task) return this.#sendFailure('bad_request', 'This address cannot be opened. Enter one that starts with http:// or https://.');
    this.#cancel(this.#currentNavigation, 'the viewer started another navigation');
    this.#currentNavigation = this.#startTask(task);
  }

  #navigationTask(command: CommandOf<'navigate'>): Task | null {
    if (command.to !== 'url') return this.#historyTask(command.to);
    const { success, data } = NavigateRequest.safeParse({ url: command.url, wait_until: waitUntil });
    return success ? (target) => this.#deps.drive.navigate(target, data) : null;
  }

  /** Goes through the history by a direct call: a step would answer the dialog of a page that asks before it is left. */
  #historyTask(to: 'back' | 'forward' | 'reload'): Task {
    const request = { waitUntil, timeoutMs: historyTimeoutMs } as const;
    return ({ owner, sessionId, signal: callerSignal }) =>
      this.#deps.sessions.withBrowser(owner, sessionId, { signal: callerSignal }, async ({ browser }, signal) => {
        const page = browser.page(browser.activeTab().tabId);
        if (to === 'reload') await page.reload(request, { signal });
        else await page.history(to === 'back' ? -1 : 1, request, { signal });
      });
  }

  #stepTask(step: { type: Step['type']; [field: string]: unknown }): Task {
    return async (target) => {
      const { results } = await this.#deps.drive.runActions(target, RunActionsRequest.parse({ actions: [step] }));
      const [result] = results;
      if (result?.error) this.#sendFailure(result.error.code, result.error.message);
    };
  }

  /** Returns what aborts the task, or null when too many are pending. */
  #startTask(task: Task): AbortController | null {
    if (this.#tasks.size >= tasksMax) {
      this.#reportError(createBusyError());
      return null;
    }
    const controller = new AbortController();
    this.#tasks.add(controller);
    const { owner, sessionId } = this.#deps.session.record;
    const { signal } = controller;
    void task({ owner, sessionId, signal, isFree: true })
      // A cancelled task is not a failure.
      .catch((error: unknown) => (signal.aborted ? undefined : this.#reportError(error)))
      .finally(() => this.#tasks.delete(controller));
    return controller;
  }

  #cancel(task: AbortController | null, reason: string): void {
    if (!task) return;
    task.abort(new Error(reason));
    this.#tasks.delete(task);
  }

  #deviceScaleFactor(): number {
    return this.#deps.session.record.settings.viewport.device_scale_factor;
  }

  #reportError(error: unknown): void {
    if (error instanceof ServiceError && isShownOtherwise(error.details['reason'])) return;
    if (error instanceof ServiceError) return this.#sendFailure(error.code, error.publicMessage);
    if (error instanceof TabNotFoundError) return this.#sendFailure('tab_not_found', 'This tab no longer exists. Select another tab.');
    // The page itself shows that it did not load.
    if (error instanceof NavigationError && error.reason !== 'timeout') return;
    if (error instanceof NavigationError) return this.#sendFailure('navigation_failed', error.message);
    if (error instanceof PageError) return this.#sendFailure('page_failed', error.message);
    // The session ends then, and every viewer is notified.
    if (error instanceof BrowserClosedError) return;
    this.#deps.log.warn({ err: error, session_id: this.#deps.session.record.sessionId }, 'live view command failed');
    this.#sendFailure('internal_error', 'The command failed. Try again.');
  }

  #sendFailure(code: string, message: string): void {
    if (!this.#hasEnded) this.#deps.sendMessage({ type: 'failed', code, message });
  }
}

/** The person chose to stay, or something else has replaced the navigation; or the list of downloads has the file. */
const isShownOtherwise = (reason: unknown): boolean => reason === 'aborted' || reason === 'download';

const createBusyError = (): ServiceError => new ServiceError('session_busy', 'The page is busy. Try again in a moment.');

function dispatchInput(input: RemoteInput, command: InputCommand): Promise<void> {
  const { type: _, ...event } = command;
  if ('button' in event) return input.mouse(event);
  if ('dx' in event) return input.wheel(event);
  if ('key' in event) return input.key(event);
  return 'start' in event ? input.compose(event.text, event.start, event.end) : input.insertText(event.text);
}

/** Whether a page that it makes open a tab is followed: not with Control or the middle button, which open tabs in the background. */
function opensInFront(command: ControlCommand): boolean {
  if (command.type === 'key') return command.action === 'down' && (command.key === 'Enter' || command.key === ' ');
  const isBackground = 'modifiers' in command && (command.modifiers & (modifierBits.control | modifierBits.meta)) !== 0;
  return command.type === 'mouse' && command.action === 'up' && command.button === 'left' && !isBackground;
}
