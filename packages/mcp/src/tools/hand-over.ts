/** A person takes over: to sign in, to solve a captcha, to confirm a payment. */
import { abortAfter } from '@berth/lib/deadline.ts';
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import { tool, type ToolContext } from '../tool.ts';
import { session } from './inputs.ts';

/** Clients give up after a minute unless they were told otherwise. */
const waitSecondsMax = 50;
/** A person may come back from lunch. */
const linkSeconds = 3600;

export const handOver = tool({
  name: 'hand_over',
  family: 'people',
  description:
    'Let a person act in the live view, to sign in or confirm. Show them the link, then call again with `after` to wait until they are done.',
  input: z.object({
    session,
    reason: z.string().max(500).optional(),
    after: z.string().max(40).optional(),
    timeout: z.int().min(1).max(waitSecondsMax).optional(),
  }),
  run: ({ session, reason = '', after, timeout = waitSecondsMax }, context) =>
    after === undefined ? createLink(context, session, reason) : waitForPerson(context, session, { after, timeout }),
});

async function createLink({ berth, options }: ToolContext, session: string, reason: string): Promise<Answer> {
  const link = await berth.sessions.liveView(session, { scope: 'control', ttl_seconds: linkSeconds }, options);
  // By the clock of the service, as its events are.
  const now = new Date(Date.parse(link.expires_at) - link.expires_in * 1000).toISOString();
  return {
    head: [`Ask the person${reason === '' ? '' : `: ${inLine(reason)}`}`, `link: ${link.url ?? ''}`, `then: hand_over with after "${now}"`],
  };
}

/** The person is done when the last viewer has closed the view. */
async function waitForPerson(
  { berth, options }: ToolContext,
  session: string,
  { after, timeout }: { after: string; timeout: number },
): Promise<Answer> {
  const since = Date.parse(after);
  if (Number.isNaN(since)) return { head: ['`after` is not one that hand_over has returned.'], isError: true };
  const until = abortAfter(timeout * 1000);
  const signal = options.signal ? AbortSignal.any([options.signal, until]) : until;
  let hasJoined = false;
  try {
    // All that the session remembers: the person may have come and gone before this call.
    for await (const { type, at, data } of berth.sessions.events(session, { signal, lastEventId: 0 })) {
      if (Date.parse(at) < since) continue;
      if (type === 'session.ended') return { head: ['The session has ended.'], isError: true };
      if (type === 'viewer.joined') hasJoined = true;
      if (type === 'viewer.left' && data['viewers'] === 0) return { head: ['done: the person has closed the view'] };
    }
  } catch (error) {
    if (!until.aborted) throw error;
  }
  return { head: [hasJoined ? 'The person is still there: call again.' : 'Nobody has opened the link yet: call again.'] };
}
