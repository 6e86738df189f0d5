/** Steps with nested steps, and the union of all steps. */
import { z } from 'zod';
import { boundedList } from '../bounds.ts';
import { Condition, Selectors, VariableName, commonFields, exactlyOne, templated } from './step-fields.ts';
import { plainSteps, type PlainStep } from './step-kinds.ts';

/** Maximum number of steps in one list. */
export const stepsMax = 50;

const NestedSteps = z.lazy((): z.ZodType<Step[]> => boundedList(Step, stepsMax));
const Iterations = z.int().min(1).max(500);

type Common = { [Name in keyof typeof commonFields]: z.infer<(typeof commonFields)[Name]> };
type Optional<T, Name extends keyof T> = Omit<T, Name> & { [Key in Name]?: T[Key] | undefined };
type StepCommon = Optional<Common, 'id' | 'description' | 'if' | 'save_as' | 'frame' | 'within'>;

export interface IfStep extends Omit<StepCommon, 'if'> {
  type: 'if';
  if: Condition;
  steps: Step[];
  else: Step[];
}
const IfStep = z
  .strictObject({
    type: z.literal('if'),
    ...commonFields,
    if: Condition.describe('Condition that decides which steps run.'),
    steps: NestedSteps.describe('Steps that run if the condition holds, at most 50.'),
    else: NestedSteps.default([]).describe('Steps that run if the condition does not hold, at most 50. Default: none.'),
  })
  .meta({ id: 'IfStep', description: 'Runs steps depending on a condition.' });

export interface ForEachStep extends StepCommon {
  type: 'for_each';
  selectors?: Selectors | undefined;
  over?: string | undefined;
  as: string;
  steps: Step[];
  max: number;
}
const ForEachStep = z
  .strictObject({
    type: z.literal('for_each'),
    ...commonFields,
    selectors: Selectors.optional().describe(
      'Elements to iterate over. They are counted again before each iteration. Steps with `within` search in the ' +
        'current element; the variable holds its `index`, `text` and `href`.',
    ),
    over: templated(1, 500).optional().describe('List to iterate over instead of elements: `{{vars.name}}` or `{{inputs.name}}`.'),
    as: VariableName.default('item').describe('Name of the variable with the current item. Default: `item`.'),
    steps: NestedSteps.describe('Steps to run in each iteration, at most 50.'),
    max: Iterations.default(100).describe('Maximum number of iterations, 1 to 500. Default: 100.'),
  })
  .check(exactlyOne('selectors', 'over'))
  .meta({ id: 'ForEachStep', description: 'Runs steps for each element, or for each item of a list.' });

export interface RepeatStep extends StepCommon {
  type: 'repeat';
  steps: Step[];
  until?: Condition | undefined;
  max: number;
}
const RepeatStep = z
  .strictObject({
    type: z.literal('repeat'),
    ...commonFields,
    steps: NestedSteps.describe('Steps to run in each iteration, at most 50.'),
    until: Condition.optional().describe('Condition that ends the loop. It is checked after each iteration.'),
    max: Iterations.default(10).describe('Maximum number of iterations, 1 to 500. Default: 10.'),
  })
  .meta({ id: 'RepeatStep', description: 'Runs steps repeatedly.' });

const anyStep = z.discriminatedUnion('type', [...plainSteps, IfStep, ForEachStep, RepeatStep]);

export type Step = PlainStep | IfStep | ForEachStep | RepeatStep;
export type StepType = Step['type'];
export const stepTypes: readonly string[] = anyStep.options.flatMap((option) => option.shape.type.value);

/** zod's issue for an unknown type does not list the known ones. */
const checkType = (value: unknown, { issues }: z.core.ParsePayload): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const type: unknown = 'type' in value ? value.type : undefined;
  if (!stepTypes.some((knownType) => knownType === type))
    issues.push({ code: 'invalid_value', values: [...stepTypes], path: ['type'], input: type });
  return value;
};
export const Step: z.ZodType<Step> = z.preprocess((value, context) => checkType(value, context), anyStep).meta({ id: 'Step' });
