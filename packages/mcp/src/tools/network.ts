/** What a page requested and logged. */
import { z } from 'zod';
import { inLine } from '../answer.ts';
import { tool, type ToolContext } from '../tool.ts';
import { session } from './inputs.ts';

/** The latest: older ones are found by a filter. */
const linesMax = 50;

export const network = tool({
  name: 'network',
  family: 'network',
  description: 'List the latest requests of the session, or its console lines, that contain `filter`.',
  input: z.object({ session, console: z.boolean().optional(), filter: z.string().max(500).optional() }),
  isReadOnly: true,
  async run({ session, console: isConsole = false, filter = '' }, context) {
    const lines = (isConsole ? await consoleLines(context, session) : await requestLines(context, session)).filter((line) =>
      line.includes(filter),
    );
    const left = lines.length - linesMax;
    return { page: lines.slice(-linesMax).join('\n'), tail: [left > 0 ? `${left} older ones left out: use a filter` : null] };
  },
});

async function consoleLines({ berth, options }: ToolContext, session: string): Promise<string[]> {
  const lines = await berth.sessions.console(session, {}, options);
  return lines.map(({ level, text, url, line }) => `${level} ${inLine(text)}${url === null ? '' : ` (${inLine(url, 100)}:${line ?? 0})`}`);
}

interface HarEntry {
  request?: { method?: string; url?: string };
  response?: { status?: number; content?: { mimeType?: string; size?: number } };
  time?: number;
}

async function requestLines({ berth, options }: ToolContext, session: string): Promise<string[]> {
  const { log } = await berth.sessions.har(session, options);
  const { entries = [] } = log as { entries?: HarEntry[] };
  return entries.map(({ request = {}, response = {}, time = 0 }) => {
    const { mimeType = '', size = 0 } = response.content ?? {};
    return `${request.method} ${response.status || 'failed'} ${inLine(request.url ?? '', 200)} ${inLine(mimeType, 40)} ${size} B ${Math.round(time)} ms`;
  });
}
