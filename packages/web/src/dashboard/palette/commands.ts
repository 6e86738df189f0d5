/** What the palette offers, besides the sessions. */
import type { SessionResponse } from '@berth/contract';
import { rank, type Match } from './fuzzy.ts';

/** `Icon`: names of icons. */
export interface Command<Icon extends string> {
  id: string;
  title: string;
  icon: Icon;
  /** What it leads to, beside the title; it is searched, too. */
  hint?: string;
  run: () => void | Promise<void>;
}

export interface CommandMatch<Icon extends string> {
  command: Command<Icon>;
  match: Match;
}

/** Enough to choose from; more are found by typing. */
export const shownMax = 60;

/** Best first. An empty query shows everything in its order. */
export const find = <Icon extends string>(commands: readonly Command<Icon>[], query: string): CommandMatch<Icon>[] =>
  rank(commands, query, ({ title, hint }) => (hint ? `${title} ${hint}` : title))
    .slice(0, shownMax)
    .map(({ item, match }) => ({ command: item, match }));

interface PageSummary<Icon> {
  path: string;
  title: string;
  icon: Icon;
}

export const pageCommands = <Icon extends string>(pages: readonly PageSummary<Icon>[], go: (path: string) => void): Command<Icon>[] =>
  pages
    .filter(({ path }) => !path.includes(':'))
    .map(({ path, title, icon }) => ({ id: `page:${path}`, title, icon, hint: 'Page', run: () => go(path) }));

type SessionSummary = Pick<SessionResponse, 'session_id' | 'name' | 'title' | 'status'>;

export const sessionCommands = (sessions: readonly SessionSummary[], go: (path: string) => void): Command<'window'>[] =>
  sessions.map(({ session_id: id, name, title, status }) => ({
    id: `session:${id}`,
    title: name ?? (title || id),
    icon: 'window',
    hint: `${id} ${status}`,
    run: () => go(`/sessions/${encodeURIComponent(id)}`),
  }));

/** An id that was typed or pasted leads to its page, whether or not it is in a list. */
export function idCommands(query: string, go: (path: string) => void): Command<'forward'>[] {
  const id = query.trim();
  if (!/^ses_[0-9a-z]{24}$/.test(id)) return [];
  return [{ id: `id:${id}`, title: `Go to session ${id}`, icon: 'forward', run: () => go(`/sessions/${id}`) }];
}

export interface Snippet {
  what: string;
  text: string;
}

/** Programs that work as they are pasted, with the key in the environment and never in the text. */
export function snippetsFor(origin: string): Snippet[] {
  const socket = `${origin.replace(/^http/, 'ws')}/v1/connect`;
  const headers = `const headers = { authorization: \`Bearer \${env.BERTH_API_KEY}\` };`;
  return [
    { what: 'the address of the service', text: origin },
    {
      what: 'a curl command that creates a session',
      text: `curl -s ${origin}/v1/session -H "Authorization: Bearer $BERTH_API_KEY" --json '{"start_url":"https://example.com/"}'`,
    },
    {
      what: 'a Playwright snippet',
      text: [
        `import { env } from 'node:process';`,
        `import { chromium } from 'playwright-core';`,
        '',
        headers,
        `const browser = await chromium.connectOverCDP('${socket}', { headers });`,
        'const page = browser.contexts()[0].pages()[0];',
        `await page.goto('https://example.com/');`,
        'console.log(await page.title());',
        'await browser.close();',
      ].join('\n'),
    },
    {
      what: 'a Puppeteer snippet',
      text: [
        `import { env } from 'node:process';`,
        `import puppeteer from 'puppeteer-core';`,
        '',
        headers,
        `const browser = await puppeteer.connect({ browserWSEndpoint: '${socket}', headers, defaultViewport: null });`,
        'const [page] = await browser.pages();',
        `await page.goto('https://example.com/');`,
        'console.log(await page.title());',
        'await browser.close();',
      ].join('\n'),
    },
  ];
}
