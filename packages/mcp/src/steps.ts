/** Steps as models write them, as steps of the API. */
import { targetOf, type RunActionsRequest } from '@berth/sdk';
import { z } from 'zod';

type ApiStep = NonNullable<RunActionsRequest['actions']>[number];

const types = [
  'click',
  'fill',
  'type',
  'press',
  'select',
  'check',
  'uncheck',
  'hover',
  'drag',
  'upload',
  'scroll',
  'wait',
  'navigate',
  'back',
  'forward',
  'reload',
  'dialog',
  'download',
] as const;

/** Other fields of the API's steps pass as they are, for who knows them. */
export const Step = z.looseObject({
  type: z.enum(types),
  ref: z.string().max(2000).optional(),
  value: z.union([z.string().max(100_000), z.number(), z.boolean()]).optional(),
  to: z.string().max(2000).optional(),
});
export type Step = z.infer<typeof Step>;

/** What `value` is of each type. */
const valueFields: Partial<Record<Step['type'], (value: string) => object>> = {
  fill: (value) => ({ value }),
  type: (text) => ({ text }),
  press: (keys) => ({ keys: keys.trim().split(/\s+/) }),
  select: (label) => ({ label }),
  check: (value) => ({ state: value !== 'false' }),
  upload: (value) => ({ file_ids: value.split(/[\s,]+/).filter((id) => id !== '') }),
  scroll: (value) => (value === 'top' || value === 'bottom' ? { to: value } : { by: { x: 0, y: Number(value) || 0 } }),
  wait: (value) => (/^\d{1,5}$/.test(value) ? { ms: Number(value) } : { text: value }),
  navigate: (url) => ({ url }),
  dialog: (value) => (value === 'false' ? { accept: false } : { accept: true, ...(value === 'true' ? {} : { text: value }) }),
};

/** @throws z.ZodError */
export function toApiStep({ type, ref, value, to, ...rest }: Step): ApiStep {
  const fields = value === undefined ? {} : (valueFields[type]?.(String(value)) ?? {});
  const step = { ...fields, ...(ref === undefined ? {} : targetOf(ref)), ...(to === undefined ? {} : destinationOf(type, to)), ...rest };
  // The service checks it: a step of its language has more fields than a model is told of.
  return { type: type === 'uncheck' ? 'check' : type, ...(type === 'uncheck' ? { state: false } : {}), ...step } as ApiStep;
}

function destinationOf(type: Step['type'], to: string): object {
  if (type === 'scroll') return to === 'top' || to === 'bottom' ? { to } : targetOf(to);
  const target = targetOf(to);
  return 'ref' in target ? { to_ref: target.ref } : { to: target.selectors };
}
