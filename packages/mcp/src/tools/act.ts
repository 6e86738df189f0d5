/** Acting on a page. */
import type { ActionsResponse } from '@berth/sdk';
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import { changesSince, lastSeen } from '../snapshots.ts';
import { Step, toApiStep } from '../steps.ts';
import { tool } from '../tool.ts';
import { session, tab } from './inputs.ts';

/** More in one call act on a page that the model has not seen. */
const stepsMax = 20;

export const act = tool({
  name: 'act',
  family: 'browse',
  description:
    'Run steps in order and return what changed. `ref`: a ref, or a selector (CSS, text/…, label/…, aria/…). `value`: text to fill or type, keys to press, option to select, URL, text or ms to wait for, top/bottom/pixels to scroll, file ids. `to`: where to drag.',
  input: z.object({ session, steps: z.array(Step).min(1).max(stepsMax), tab }),
  async run({ session, steps, tab }, context) {
    const { berth, options } = context;
    const before = await lastSeen(context, session, tab);
    const actions = steps.map(toApiStep);
    const reply = await berth.sessions.act(session, { actions, ...(tab === undefined ? {} : { tab_id: tab }) }, options);
    const changes = await changesSince(context, session, { before, tab });
    return toAnswer(reply, changes);
  },
});

function toAnswer(reply: ActionsResponse, changes: Answer): Answer {
  const lines = reply.results.map(({ index, type, status, error, output, warnings = [] }) => {
    const said = error ? `${error.code}: ${error.message}` : [output === undefined ? '' : JSON.stringify(output), ...warnings].join(' ');
    return `${index + 1} ${type} ${status}${said.trim() === '' ? '' : ` ${inLine(said, 300)}`}`;
  });
  const isError = reply.status === 'error';
  return {
    head: [isError ? `Step ${(reply.failed_index ?? 0) + 1} failed; those after it did not run.` : 'ok'],
    page: [...lines, changes.page ?? ''].join('\n'),
    tail: changes.tail ?? [],
    isError,
  };
}
