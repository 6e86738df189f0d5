/** A flow: named work in a browser with schemas for its inputs and output. One file of `catalog/` each. */
import type { flowCategories } from '@berth/contract';
import { z } from 'zod';
import type { FlowRun } from './flow-run.ts';
import type { FlowStep } from './flow-step.ts';

export type { FlowStep } from './flow-step.ts';

type Category = (typeof flowCategories)[number];

export interface FlowInfo {
  name: string;
  title: string;
  description: string;
  /** Version, which changes with the inputs or the output. */
  version: string;
  category: Category;
  inputs: z.ZodType;
  output: z.ZodType;
  /** Valid inputs. */
  example: Record<string, unknown>;
}

export interface Flow extends FlowInfo {
  /** Whether these inputs need a session, with tabs and downloads, and not only a page. */
  needsSession(inputs: unknown): boolean;
  run(run: FlowRun, inputs: unknown): Promise<unknown>;
  /** Steps of a flow that is a step list; null for any other flow. */
  steps: readonly FlowStep[] | null;
}

interface FlowDefinition<I extends z.ZodType, O extends z.ZodType> extends Omit<FlowInfo, 'inputs' | 'output' | 'example'> {
  inputs: I;
  output: O;
  example: z.input<I> & Record<string, unknown>;
  needsSession?(inputs: z.output<I>): boolean;
}

/** A flow that a step list cannot say. */
export const defineFlow = <I extends z.ZodType, O extends z.ZodType>(
  flow: FlowDefinition<I, O> & { run(run: FlowRun, inputs: z.output<I>): Promise<z.input<O>> },
): Flow => ({
  needsSession: () => false,
  steps: null,
  // Safe: the inputs of a run are the output of the flow's schema.
  ...(flow as unknown as Pick<Flow, keyof FlowInfo | 'run'>),
});

/**
 * A flow that is a step list. Its output has the variables that the steps save
 * under the names of the output's fields, `final_url` and `title`.
 */
export const defineSteps = <I extends z.ZodType, O extends z.ZodObject>(
  flow: FlowDefinition<I, O> & { steps: readonly FlowStep[] },
): Flow => ({
  needsSession: () => false,
  ...flow,
  run: async (run: FlowRun, inputs: unknown) => {
    const { vars } = await run.run(flow.steps, inputs as Record<string, unknown>);
    const page = { final_url: run.url(), title: run.title() };
    return Object.fromEntries(Object.keys(flow.output.shape).map((name) => [name, { ...page, ...vars }[name] ?? null]));
  },
});

export type JsonSchema = Record<string, unknown>;

/** The schema in draft 2020-12. References stay within it. */
export const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema =>
  z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // The id of a component of the API's document is no reference here.
      delete (jsonSchema as JsonSchema)['id'];
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  }) as JsonSchema;
