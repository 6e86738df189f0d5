/** The context of a running command: its options, the service, and the session that it is about. */
import type { Berth } from '@berth/sdk';
import { readAccess, type Access } from './settings/config-file.ts';
import { CommandError, exitCodes } from './failures.ts';
import type { Options } from './options.ts';
import type { Output, Report, Stream } from './output.ts';
import { SessionFile } from './settings/session-file.ts';

/** The work of a command. */
export type Action = (context: Context) => Promise<Report | Stream | undefined>;

/** A session as commands see it. */
export interface OpenSession {
  id: string;
  /** Tab that was selected for it; null for the active one. */
  tabId: string | undefined;
}

export interface ContextFields {
  args: readonly string[];
  options: Options;
  output: Output;
  signal: AbortSignal;
  env: Readonly<Record<string, string | undefined>>;
  /** Runs another command line, for `batch`. */
  run: (words: readonly string[], output: Output) => Promise<number>;
}

const sessionId = /^ses_\w+$/;

export class Context {
  readonly args: readonly string[];
  readonly options: Options;
  readonly output: Output;
  readonly signal: AbortSignal;
  readonly env: ContextFields['env'];
  readonly run: ContextFields['run'];
  #access: Access | undefined;
  #berth: Berth | undefined;

  constructor({ args, options, output, signal, env, run }: ContextFields) {
    this.args = args;
    this.options = options;
    this.output = output;
    this.signal = signal;
    this.env = env;
    this.run = run;
  }

  /** An argument by its place; the parser has refused the command where a required one is missing. */
  arg(index: number): string {
    return this.args[index] ?? '';
  }

  get access(): Access {
    return (this.#access ??= readAccess(this.env));
  }

  /** The client, which is loaded when it is first needed: help and completion do without. */
  async berth(): Promise<Berth> {
    const { apiKey, adminKey } = this.access;
    if (apiKey === undefined && adminKey === undefined)
      throw new CommandError(exitCodes.unauthorized, 'no_key', 'There is no API key.', 'Run `berth login`, or set BERTH_API_KEY.');
    return (this.#berth ??= await this.berthWith(apiKey ?? null));
  }

  /** A client with another key, or with one that does not matter. */
  async berthWith(apiKey: string | null): Promise<Berth> {
    const { Berth } = await import('@berth/sdk');
    return new Berth({ baseUrl: this.access.url, apiKey, adminKey: this.access.adminKey ?? null });
  }

  /** The name after `-s`, or of BERTH_SESSION; undefined for the folder's session. */
  get sessionName(): string | undefined {
    return this.options.text('session') ?? (this.env['BERTH_SESSION'] || undefined);
  }

  /** The file that keeps the id of the session; undefined where the caller names it by its id. */
  get sessionFile(): SessionFile | undefined {
    const name = this.sessionName;
    if (name !== undefined && sessionId.test(name)) return undefined;
    return new SessionFile({ env: this.env, service: this.access.url, name, folder: process.cwd() });
  }

  /** The session of the folder, or of the name. Commands that need one say how to get it. */
  session(): OpenSession {
    const found = this.findSession();
    if (found) return found;
    const of = this.sessionName === undefined ? 'in this folder' : `named ${JSON.stringify(this.sessionName)}`;
    throw new CommandError(exitCodes.notFound, 'no_session', `There is no session ${of}.`, 'Run `berth open URL` to start one.');
  }

  findSession(): OpenSession | undefined {
    const tab = this.options.text('tab');
    const file = this.sessionFile;
    if (!file) return { id: this.sessionName ?? '', tabId: tab };
    const stored = file.read();
    return stored && { id: stored.session_id, tabId: tab ?? stored.tab_id };
  }
}
