/** The live view, the browser window (VNC), their tokens and their pages. */
import { Readable } from 'node:stream';
import {
  ServiceError,
  type openLiveView,
  type openVnc,
  type saveLiveViewDownload,
  type watchLiveView,
  type watchVnc,
} from '@berth/contract';
import type { Call, FileReply, Upgrade } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import { toFileReply, type Drive } from '../../sessions/drive/drive.ts';
import type { Loop } from '@berth/lib/loop.ts';
import type { RunningSession, Sessions } from '../../sessions/sessions/sessions.ts';
import { liveViewBounds } from '@berth/contract/live-view';
import { LiveView } from './live-view/live-view.ts';
import type { PageName, Pages } from './pages.ts';
import { Tokens, type TokensDeps } from './tokens.ts';
import { Vnc } from './vnc.ts';

export { Pages, type HtmlPage, type PageName } from './pages.ts';

export interface ViewDeps extends TokensDeps {
  sessions: Sessions;
  drive: Drive;
  pages: Pages;
}

/** Maximum bytes of a message: more than any valid command, so that one that is too long closes the socket with a reason. */
const messageBytesMax = 2 * liveViewBounds.commandBytes;
const vncPageName = 'vnc.html';

export class View {
  readonly tokens: Tokens;
  readonly pages: Pages;
  readonly #deps: ViewDeps;
  readonly #vnc: Vnc;
  /** The live views of sessions with viewers, by session id. */
  readonly #liveViews = new Map<string, LiveView>();

  constructor(deps: ViewDeps) {
    this.#deps = deps;
    this.tokens = new Tokens(deps);
    this.pages = deps.pages;
    this.#vnc = new Vnc(deps);
  }

  get loops(): readonly Loop[] {
    return this.tokens.loops;
  }

  async livePage(call: Call<typeof openLiveView>): Promise<string> {
    await this.tokens.setViewCookie(call);
    const { html, headers } = this.pages.page('live-view', call.origin);
    for (const [name, value] of Object.entries(headers)) call.setHeader(name, value);
    return html;
  }

  /** @throws ServiceError session_not_ready while the session starts; the page retries */
  async watchLive(call: Call<typeof watchLiveView>, upgrade: Upgrade): Promise<void> {
    const { principal } = call;
    const target = await this.#readySession(call);
    const socket = await upgrade.accept({ messageBytesMax });
    const scope = principal.viewer?.scope === 'control' ? 'control' : 'view';
    this.#liveViewOf(target).join(socket, { scope, registerConnection: (close) => this.tokens.registerConnection(principal, close) });
  }

  /** Sends a download to a viewer with control. @throws ServiceError invalid_view_token, download_not_found, download_not_ready */
  async saveDownload({ principal, params, signal }: Call<typeof saveLiveViewDownload>): Promise<FileReply> {
    if (principal.viewer?.scope !== 'control')
      throw new ServiceError('invalid_view_token', 'This link is view-only. Ask for an interactive live view link.');
    const target = { owner: ownerOf(principal), sessionId: params.session_id, signal };
    return toFileReply(await this.#whileLive(() => this.#deps.drive.openDownload(target, params.download_id)));
  }

  /** Serves the only file under `vnc/`, by its name or none. @throws ServiceError asset_not_found for every other name */
  async vncPage(call: Call<typeof openVnc>): Promise<FileReply> {
    if (call.params.path !== '' && call.params.path !== vncPageName)
      throw new ServiceError('asset_not_found', 'File not found. The browser window is at `vnc.html`.');
    return this.pageFile(call, 'vnc', vncPageName);
  }

  /** A page that is served as a file. Sets the cookie on the first load. */
  async pageFile(call: Call, page: PageName, filename: string): Promise<FileReply> {
    await this.tokens.setViewCookie(call);
    const { html, headers } = this.pages.page(page, call.origin);
    const { 'content-security-policy': policy = '', ...otherHeaders } = headers;
    for (const [name, value] of Object.entries(otherHeaders)) call.setHeader(name, value);
    const data = Buffer.from(html);
    return {
      bytes: data.length,
      contentType: 'text/html; charset=utf-8',
      filename,
      inline: true,
      policy,
      stream: () => Readable.from([data]),
      close: () => Promise.resolve(),
    };
  }

  async watchVnc(call: Call<typeof watchVnc>, upgrade: Upgrade): Promise<void> {
    const { principal } = call;
    const target = await this.#readySession(call);
    await this.#vnc.open(target, { upgrade, registerConnection: (close) => this.tokens.registerConnection(principal, close) });
  }

  #liveViewOf({ session, machine }: RunningSession): LiveView {
    const { sessionId } = session.record;
    const existing = this.#liveViews.get(sessionId);
    if (existing) return existing;
    const { sessions, drive, clock, log } = this.#deps;
    const live = new LiveView({ session, machine, sessions, drive, clock, log, onEmpty: () => this.#liveViews.delete(sessionId) });
    this.#liveViews.set(sessionId, live);
    return live;
  }

  async #readySession({ principal, params, signal }: Call<typeof watchLiveView>): Promise<RunningSession> {
    return await this.#whileLive(() => this.#deps.sessions.ready(ownerOf(principal), params.session_id, { signal }));
  }

  async #whileLive<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // The session ended after the guard's check, so the link is invalid now.
      if (error instanceof ServiceError && (error.code === 'session_ended' || error.code === 'session_not_found'))
        throw this.tokens.invalidTokenError(error);
      throw error;
    }
  }
}
