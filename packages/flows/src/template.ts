/** A template: a step list for a common task. A step of the type `call` runs a flow. */
import { parseTemplate } from '@berth/contract';
import type { z } from 'zod';
import { FlowError } from './failure.ts';
import type { Flow, FlowInfo } from './flow.ts';
import type { FlowRun } from './flow-run.ts';
import type { FlowStep } from './flow-step.ts';

interface TemplateDefinition<I extends z.ZodType, O extends z.ZodObject> extends Omit<FlowInfo, 'inputs' | 'output' | 'example'> {
  inputs: I;
  output: O;
  example: Record<string, unknown>;
  steps: readonly FlowStep[];
  /** The flows that its `call` steps name. */
  uses?: readonly Flow[];
  needsSession?: boolean;
}

type Values = Readonly<Record<'inputs' | 'vars' | 'secret', Readonly<Record<string, unknown>>>>;

/** Its output has the variables that the steps save under the names of the output's fields, and `final_url`. */
export const defineTemplate = <I extends z.ZodType, O extends z.ZodObject>({
  uses = [],
  needsSession = false,
  ...template
}: TemplateDefinition<I, O>): Flow => ({
  ...template,
  needsSession: () => needsSession,
  run: async (run, inputs) => {
    let vars: Record<string, unknown> = {};
    let list: FlowStep[] = [];
    const flush = async (): Promise<void> => {
      if (list.length > 0) vars = (await run.run(list, inputs as Record<string, unknown>, vars)).vars;
      list = [];
    };
    for (const step of template.steps) {
      if (step['type'] !== 'call') {
        list.push(step);
        continue;
      }
      await flush();
      const values = { inputs: inputs as Record<string, unknown>, vars, secret: run.secrets };
      vars[String(step['save_as'])] = await callFlow(run, uses, { task: String(step['task']), inputs: fillValues(step['inputs'], values) });
    }
    await flush();
    const saved: Record<string, unknown> = { final_url: run.url(), ...vars };
    return Object.fromEntries(Object.keys(template.output.shape).map((name) => [name, saved[name] ?? null]));
  },
});

async function callFlow(run: FlowRun, uses: readonly Flow[], { task, inputs }: { task: string; inputs: unknown }): Promise<unknown> {
  const flow = uses.find(({ name }) => name === task);
  if (!flow) throw new Error(`the template does not use the flow ${task}`);
  const parsed = flow.inputs.safeParse(inputs);
  if (!parsed.success) throw new FlowError('invalid_value', `The flow ${task} does not take these inputs.`);
  return flow.run(run, parsed.data);
}

/** Whole values only: `{{inputs.url}}`. A value that is not there is left out. */
function fillValues(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    const [part, ...others] = parseTemplate(value).parts;
    if (typeof part !== 'object' || others.length > 0) return value;
    return part.path.reduce<unknown>(
      (inner, key) =>
        typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key) ? (inner as Record<string, unknown>)[key] : undefined,
      values[part.from],
    );
  }
  if (Array.isArray(value)) return value.map((inner: unknown) => fillValues(inner, values));
  if (typeof value !== 'object' || value === null) return value;
  const filled = Object.entries(value).map(([name, inner]) => [name, fillValues(inner, values)] as const);
  return Object.fromEntries(filled.filter(([, inner]) => inner !== undefined));
}
