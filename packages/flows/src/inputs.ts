/** Fields that the inputs of several flows have. */
import { Selectors, WebUrl, boundedString } from '@berth/contract';
import { z } from 'zod';

export const Url = WebUrl.describe('URL of the page, `http` or `https`, at most 8192 characters.');

/** A value that is never stored, logged or returned. */
export const secretInput = (description: string): z.ZodString =>
  boundedString(1, 1000).meta({ writeOnly: true, format: 'password', description });

export const selectorsInput = (description: string): typeof Selectors =>
  Selectors.describe(`${description} 1 to 20 selectors of the step language, tried in order.`);

export const FieldSpec = z
  .strictObject({
    selectors: selectorsInput('Where the value is:'),
    attr: boundedString(1, 100)
      .regex(/^[A-Za-z_:][\w:.-]*$/)
      .optional()
      .describe('Attribute to read instead of the text. URLs become absolute.'),
    type: z
      .enum(['text', 'html', 'value', 'number', 'boolean', 'date', 'url'])
      .default('text')
      .describe('Type of the value. Default: `text`.'),
    list: z.boolean().default(false).describe('Whether to return all matches instead of the first. Default: `false`.'),
  })
  .meta({ description: 'A value to extract.' });
export type FieldSpec = z.infer<typeof FieldSpec>;

export const toStepField = ({ selectors, attr, type, list }: FieldSpec): Record<string, unknown> => ({
  selectors: literal(selectors),
  ...(attr === undefined ? {} : { attribute: attr }),
  as: type,
  list,
});

/** The value with its `{{` escaped, so that what a caller sent is never filled in as a template. */
export function literal<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('{{', '{{"{{"}}') as T;
  if (Array.isArray(value)) return value.map((inner: unknown) => literal(inner)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, literal<unknown>(inner)])) as T;
}
