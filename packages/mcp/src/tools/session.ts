/** Sessions: a browser is opened, its tabs are listed, and it is given back. */
import type { NavigateResponse, StartNavigation } from '@berth/sdk';
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import { takeSnapshot } from '../snapshots.ts';
import { tool, type ToolContext } from '../tool.ts';
import { session, tab, url } from './inputs.ts';

/** A screenshot of it is as wide as models see images, and needs no scaling: its pixels are those of the page. */
const viewport = { width: 1024, height: 768 };

/** Of a page that was just opened: enough to act on the first thing. */
const outlineTokens = 600;

export const open = tool({
  name: 'open',
  family: 'browse',
  description: 'Open a browser session, or a URL in one. Returns its handle and an outline of the page.',
  input: z.object({
    url: url.optional(),
    session: session.optional(),
    profile: z.string().max(200).optional().describe('name of saved sign-ins'),
    record: z.boolean().optional(),
  }),
  async run({ url, session, profile, record }, context) {
    const opened = session === undefined ? await create(context, { url, profile, record }) : await navigate(context, session, url);
    const shown: Answer = opened.isPage
      ? await takeSnapshot(context, opened.session, { mode: 'interactive', maxTokens: outlineTokens })
      : {};
    return { ...shown, head: [`session ${opened.session}`, ...opened.head], isError: opened.isError };
  },
});

interface Opened {
  session: string;
  head: (string | null)[];
  /** Whether there is a page to show. */
  isPage: boolean;
  isError: boolean;
}

async function create(
  { berth, options, settings }: ToolContext,
  { url, profile, record }: { url?: string | undefined; profile?: string | undefined; record?: boolean | undefined },
): Promise<Opened> {
  const created = await berth.sessions.create(
    {
      ...(url === undefined ? {} : { start_url: url }),
      ...(profile === undefined ? {} : { profile: { name: profile, save_changes: true } }),
      ...{ record: record ?? false, har: true, viewport, idle_timeout_seconds: settings.idleSeconds, metadata: { client: 'mcp' } },
    },
    options,
  );
  return { session: created.id, ...startOf(created.data?.start_navigation ?? null) };
}

function startOf(start: StartNavigation | null): Omit<Opened, 'session'> {
  if (start === null) return { head: [], isPage: false, isError: false };
  const isOk = start.status === 'ok';
  const status = `status ${start.status_code ?? 'unknown'}`;
  return { head: [isOk ? status : `The page did not open: ${inLine(start.message ?? start.reason ?? '')}`], isPage: isOk, isError: !isOk };
}

async function navigate({ berth, options }: ToolContext, session: string, url: string | undefined): Promise<Opened> {
  if (url === undefined) return { session, head: [], isPage: true, isError: false };
  const reply = await berth.sessions.navigate(session, { url }, options);
  return { session, head: describeNavigation(reply), isPage: true, isError: false };
}

const describeNavigation = ({ status_code: status, block, captcha, warnings }: NavigateResponse): (string | null)[] => [
  `status ${status ?? 'unknown'}`,
  block === null ? null : `This is no page but a block: ${block.type} of ${block.vendor}.`,
  captcha.present ? 'A captcha is on the page: `hand_over` lets a person solve it.' : null,
  warnings.length === 0 ? null : `warnings: ${inLine(warnings.join(', '))}`,
];

export const tabs = tool({
  name: 'tabs',
  family: 'browse',
  description: 'List tabs, open one (`url`) or close one (`close`).',
  input: z.object({ session, url: url.optional(), close: tab }),
  async run({ session, url, close }, { berth, options }) {
    if (close !== undefined) await berth.sessions.tabs.close(session, close, options);
    if (url !== undefined) await berth.sessions.tabs.open(session, { url }, options);
    const list = await berth.sessions.tabs.list(session, options);
    const page = list.map(({ tab_id: id, active, url, title }) => `${id}${active ? ' *' : ''} ${inLine(title, 80)} ${inLine(url, 200)}`);
    return { page: page.join('\n') };
  },
});

export const end = tool({
  name: 'end',
  family: 'browse',
  description: 'End a session. Returns its cost and recording.',
  input: z.object({ session }),
  async run({ session }, context) {
    const { berth, options } = context;
    await berth.sessions.end(session, options);
    const { usage, recording } = await berth.sessions.get(session, options);
    const spent = `ended: ${usage.actions} actions, ${usage.browser_seconds} s, ${usage.credits} credits`;
    return { head: [spent, recording.rec_id === null ? null : await recordingLink(context, session)] };
  },
});

async function recordingLink({ berth, options }: ToolContext, session: string): Promise<string> {
  const { url } = await berth.sessions.liveView(session, { scope: 'recording', ttl_seconds: 3600 }, options);
  return `recording, for an hour: ${url ?? 'in the dashboard'}`;
}
