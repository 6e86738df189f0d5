/** Named flows. */
import type { AgentResponse, AgentTaskResponse } from '@berth/sdk';
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import { tool } from '../tool.ts';
import { session } from './inputs.ts';
import { jobAnswer, jobArgs, startOrWait } from './jobs.ts';
import { jsonAnswer } from './read.ts';

export const run = tool({
  name: 'run',
  family: 'flows',
  description: 'Run a named flow, such as search, login or crawl. Without `task`: list them; with `task` and no `inputs`: its inputs.',
  input: z.object({
    task: z.string().max(100).optional(),
    inputs: z.record(z.string().max(100), z.unknown()).optional(),
    session: session.optional(),
    ...jobArgs,
  }),
  async run({ task, inputs, session, job, wait }, context) {
    const { berth, options } = context;
    if (job === undefined && (task === undefined || inputs === undefined)) return describeFlows(await berth.flows.list(options), task);
    const body = { task: task ?? '', inputs: inputs ?? {}, async: true, ...(session === undefined ? {} : { session_id: session }) };
    const done = await startOrWait(context, { job, wait, start: () => berth.run(body, undefined, undefined, options) });
    return jobAnswer(done, (result) => describeRun(result as unknown as AgentResponse));
  },
});

function describeFlows(flows: readonly AgentTaskResponse[], task: string | undefined): Answer {
  if (task === undefined) return { head: flows.map(({ name, title }) => `${name}: ${title}`) };
  const flow = flows.find(({ name }) => name === task);
  if (!flow) return { head: [`There is no flow of this name. There are: ${flows.map(({ name }) => name).join(', ')}`], isError: true };
  return { head: [flow.description], page: JSON.stringify({ inputs: flow.inputs, example: flow.example }) };
}

function describeRun({ status, output, steps, error, block, warnings, usage, final_url: url }: AgentResponse): Answer {
  const healed = steps.filter(({ healed }) => healed).map(({ index, type }) => `${index + 1} ${type}`);
  const answer = jsonAnswer(output);
  return {
    head: [
      `${status}, ${steps.length} steps, ${usage.credits} credits`,
      error === null ? null : `${error.code}: ${inLine(error.message, 500)}`,
      block === null ? null : `blocked: ${block.type}`,
      healed.length === 0 ? null : `healed: ${healed.join(', ')}`,
      warnings.length === 0 ? null : `warnings: ${inLine(warnings.join(', '))}`,
    ],
    page: `${inLine(url ?? '')}\n${answer.page ?? ''}`,
    tail: answer.tail ?? [],
    isError: status !== 'ok',
  };
}
