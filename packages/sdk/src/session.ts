/** The handle of a session: its calls without the id, and what takes more than one call. */
import { connectPlaywright, connectPuppeteer, type PlaywrightBrowser, type PuppeteerBrowser } from './browsers.ts';
import type { Call, RequestOptions, WithResponse } from './call.ts';
import { BerthError } from './errors.ts';
import { toForm, type FileSource } from './files.ts';
import type { SessionCalls } from './generated/calls.ts';
import type {
  ActionsResponse,
  NavigateRequest,
  NavigateResponse,
  RunActionsRequest,
  SessionResponse,
  Step,
  StepResult,
  UploadedFileResponse,
} from './generated/types.ts';
import { createSessionCalls } from './operations.ts';
import { targetOf } from './target.ts';
import { mapCall, StreamedForm, type Transport } from './transport.ts';

type Selectors = string | ReadonlyArray<string | string[]>;
type StepOf<T extends Step['type']> = Partial<Omit<Extract<Step, { type: T }>, 'type' | 'selectors'>>;

/** A session: every operation of the API on it, and those of its handle. `await using` ends it with the block. */
export type Session = SessionHandle & Omit<SessionCalls, keyof SessionHandle>;

export class SessionHandle {
  /** Id of the session, or the name by which it was asked for. */
  readonly id: string;
  /** Every operation of this session, also those that the handle has in another form. */
  readonly #calls: SessionCalls;
  #data: SessionResponse | null;

  constructor(transport: Transport, id: string, data: SessionResponse | null) {
    this.id = id;
    this.#data = data;
    this.#calls = createSessionCalls(transport, id);
    for (const [name, call] of Object.entries(this.#calls)) if (!(name in this)) Object.assign(this, { [name]: call });
  }

  /** The session as it was when it was created or read last; null before that. */
  get data(): SessionResponse | null {
    return this.#data;
  }

  /** Reads the session again. */
  async refresh(options?: RequestOptions): Promise<SessionResponse> {
    this.#data = await this.#calls.get(options);
    return this.#data;
  }

  /** Opens a URL in the active tab. */
  navigate(url: string | NavigateRequest, params?: Omit<NavigateRequest, 'url'>, options?: RequestOptions): Call<NavigateResponse> {
    return this.#calls.navigate(typeof url === 'string' ? { url, ...params } : url, options);
  }

  /**
   * Runs steps in order and returns their results. A step that failed is an error with the code of the step, unless `stop_on_error`
   * is false; `error.details` has the response, with what the step says of its failure.
   */
  act(steps: readonly Step[], params: Omit<RunActionsRequest, 'actions'> = {}, options?: RequestOptions): Call<ActionsResponse> {
    const call = this.#calls.act({ actions: [...steps], ...params }, options);
    return params.stop_on_error === false ? call : mapCall(call, refuseFailure);
  }

  /** Clicks an element: a selector, several to try in order, or a reference of `session.snapshot`. */
  click(selectors: Selectors, step: StepOf<'click'> = {}, options?: RequestOptions): Promise<StepResult> {
    return this.#step({ type: 'click', ...step, ...target(selectors) }, options);
  }

  /** Moves the mouse over an element. */
  hover(selectors: Selectors, step: StepOf<'hover'> = {}, options?: RequestOptions): Promise<StepResult> {
    return this.#step({ type: 'hover', ...step, ...target(selectors) }, options);
  }

  /** Replaces the text of a field. */
  fill(selectors: Selectors, value: string, step: Omit<StepOf<'fill'>, 'value'> = {}, options?: RequestOptions): Promise<StepResult> {
    return this.#step({ type: 'fill', ...step, ...target(selectors), value }, options);
  }

  /** Types text into a field, key by key. */
  type(selectors: Selectors, text: string, step: Omit<StepOf<'type'>, 'text'> = {}, options?: RequestOptions): Promise<StepResult> {
    return this.#step({ type: 'type', ...step, ...target(selectors), text }, options);
  }

  /** Presses a key or a chord, such as `Enter` or `Control+A`, where the focus is. */
  press(keys: string, step: Omit<StepOf<'press'>, 'keys'> = {}, options?: RequestOptions): Promise<StepResult> {
    return this.#step({ type: 'press', ...step, keys }, options);
  }

  /** Stores a file in the session, for `upload` steps and DevTools clients. A stream is sent while it is read, and once. */
  upload(file: FileSource, { name }: { name: string }, options: RequestOptions = {}): Call<UploadedFileResponse> {
    const form = toForm(file, name);
    // What was read of a stream cannot be sent again.
    return this.#calls.upload(form as never, form instanceof StreamedForm ? { ...options, maxRetries: 0 } : options);
  }

  /** Connects Playwright, which you install as `playwright-core`. Closing the browser closes the connection, not the session. */
  async playwright(options?: RequestOptions): Promise<PlaywrightBrowser> {
    return connectPlaywright((await this.#calls.connect(options)).cdp_url);
  }

  /** Connects Puppeteer, which you install as `puppeteer-core`. Disconnecting it leaves the session as it is. */
  async puppeteer(options?: RequestOptions): Promise<PuppeteerBrowser> {
    return connectPuppeteer((await this.#calls.connect(options)).cdp_url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#calls.end();
  }

  async #step(step: Step, options?: RequestOptions): Promise<StepResult> {
    const { results } = await this.act([step], {}, options);
    return results[0] as StepResult;
  }
}

export const openSession = (transport: Transport, id: string, data: SessionResponse | null): Session =>
  new SessionHandle(transport, id, data) as unknown as Session;

const target = (selectors: Selectors): { ref: string } | { selectors: Array<string | string[]> } =>
  typeof selectors === 'string' ? targetOf(selectors) : { selectors: [...selectors] };

function refuseFailure(response: ActionsResponse, { requestId }: WithResponse<ActionsResponse>): ActionsResponse {
  if (response.status === 'ok') return response;
  const { failed_index: index, results } = response;
  const { code = 'step_failed', message = 'A step failed.', details } = results.find(({ status }) => status === 'error')?.error ?? {};
  throw new BerthError({ code, message: `Step ${index}: ${message}`, status: 200, requestId, details: { ...response, ...details } });
}
