/** People who watch: links, the live view, the whole window, and the pages that show them. */
import { Readable } from 'node:stream';
import { ServiceError, type openLiveView, type openVnc, type watchLiveView, type watchVnc } from '@berth/contract';
import { ownerOf, type Call, type FileReply, type Principal, type Upgrade } from '../http/call.ts';
import type { Drive } from '../drive/drive.ts';
import type { Loop } from '../lib/loop.ts';
import type { LiveSession, Machine } from '../sessions/sessions.ts';
import { liveViewBounds } from '@berth/contract/live-view';
import { LiveView } from './live-view.ts';
import type { PageName, Pages } from './pages.ts';
import { Tokens, type TokensDeps } from './tokens.ts';
import { Vnc } from './vnc.ts';

export { Pages, type HtmlPage, type PageName } from './pages.ts';

export interface ViewDeps extends TokensDeps {
  drive: Drive;
  pages: Pages;
}

/** What is longer than a command may be is read that far, so that it can be refused with a reason. */
const messageBytesMax = 2 * liveViewBounds.commandBytes;
const windowPage = 'vnc.html';

export class View {
  readonly tokens: Tokens;
  readonly pages: Pages;
  readonly #deps: ViewDeps;
  readonly #vnc: Vnc;
  /** Of sessions that somebody watches now. */
  readonly #liveViews = new Map<string, LiveView>();

  constructor(deps: ViewDeps) {
    this.#deps = deps;
    this.tokens = new Tokens(deps);
    this.pages = deps.pages;
    this.#vnc = new Vnc(deps.clock);
  }

  get loops(): readonly Loop[] {
    return this.tokens.loops;
  }

  livePage(call: Call<typeof openLiveView>): string {
    this.tokens.welcome(call);
    const { html, headers } = this.pages.page('live-view', call.origin);
    for (const [name, value] of Object.entries(headers)) call.setHeader(name, value);
    return html;
  }

  /** Throws session_not_ready while the session starts: the page comes again. */
  async watchLive(call: Call<typeof watchLiveView>, upgrade: Upgrade): Promise<void> {
    const { principal } = call;
    const place = await this.#ready(principal, call.params.session_id);
    const socket = await upgrade.accept({ messageBytesMax });
    const scope = principal.viewer?.scope === 'control' ? 'control' : 'view';
    this.#liveViewOf(place).join(socket, { scope, hold: (close) => this.tokens.hold(principal, close) });
  }

  /** The one file that there is under `vnc/`. Throws asset_not_found for every other name. */
  windowPage(call: Call<typeof openVnc>): FileReply {
    if (call.params.path !== windowPage)
      throw new ServiceError('asset_not_found', 'There is no such file. The window’s page is `vnc.html`.');
    return this.pageFile(call, 'vnc', windowPage);
  }

  /** A page that lies among files, with the cookie of a first load. */
  pageFile(call: Call, page: PageName, filename: string): FileReply {
    this.tokens.welcome(call);
    const { html, headers } = this.pages.page(page, call.origin);
    const { 'content-security-policy': policy = '', ...others } = headers;
    for (const [name, value] of Object.entries(others)) call.setHeader(name, value);
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
    const place = await this.#ready(principal, call.params.session_id);
    await this.#vnc.open(place, { upgrade, hold: (close) => this.tokens.hold(principal, close) });
  }

  #liveViewOf({ session, machine }: { session: LiveSession; machine: Machine }): LiveView {
    const { sessionId } = session.record;
    const known = this.#liveViews.get(sessionId);
    if (known) return known;
    const { sessions, drive, clock, log } = this.#deps;
    const live = new LiveView({ session, machine, sessions, drive, clock, log, onEmpty: () => this.#liveViews.delete(sessionId) });
    this.#liveViews.set(sessionId, live);
    return live;
  }

  async #ready(principal: Principal, sessionId: string): Promise<{ session: LiveSession; machine: Machine }> {
    try {
      return await this.#deps.sessions.ready(ownerOf(principal), sessionId);
    } catch (error) {
      // It ended after the guard had looked: what the link is from now on.
      if (error instanceof ServiceError && (error.code === 'session_ended' || error.code === 'session_not_found'))
        throw this.tokens.invalid(error);
      throw error;
    }
  }
}
