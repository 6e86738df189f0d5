import { boundedRecord, boundedString } from '@berth/contract';
import { z } from 'zod';
import type { FormField } from '@berth/page-scripts/act/forms.ts';
import { defineFlow } from '../flow.ts';
import { Url, literal, selectorsInput } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';

const fieldsMax = 300;

export const formFill = defineFlow({
  name: 'form_fill',
  title: 'Fill in a form',
  description: 'Fills in a form by the labels or names of its fields, and sends it on request.',
  version: '1',
  category: 'forms',
  inputs: z.strictObject({
    url: Url,
    fields: boundedRecord(boundedString(1, 200), z.union([boundedString(0, 100_000), z.boolean()]), 50).describe(
      'Values by label, name, id, placeholder or CSS selector of the field, at most 50. Booleans set checkboxes. A group of radio buttons is found by its legend or name, and its value is the label or value of the button.',
    ),
    submit: z.boolean().default(false).describe('Whether to send the form. Default: `false`.'),
    success: selectorsInput('An element that the page shows after a successful submission:').optional(),
  }),
  output: z.object({
    filled: z.array(z.string()).describe('Keys of `fields` that were set.'),
    unmatched: z.array(z.string()).describe('Keys of `fields` for which the page has no field.'),
    validation_messages: z
      .array(
        z.object({ field: z.string().describe('Name of the field.'), message: z.string().describe('What the browser says about it.') }),
      )
      .describe('Fields whose values are not valid.'),
    submitted: z.boolean().describe('Whether the form was sent.'),
    succeeded: z.boolean().nullable().describe('Whether the element of `success` appeared; null without it.'),
    final_url: z.string().describe('URL of the page at the end.'),
  }),
  example: { url: 'https://example.com/contact', fields: { Message: 'Good day' } },
  run: async (run, { url, fields, submit, success }) => {
    await run.open(url);
    const controls = await run.act('find_fields', () => run.call<FormField[]>(flowScripts.listFields, [fieldsMax]));
    const filled: string[] = [];
    const unmatched: string[] = [];
    let last: string | null = null;
    for (const [key, value] of Object.entries(fields)) {
      const control = findControl(controls, key, value);
      if (!control) {
        unmatched.push(key);
        continue;
      }
      await run.run([toStep(control, value)], { value });
      filled.push(key);
      last = control.selector;
    }
    const messages = await run.act('validate', () =>
      run.call<{ field: string; message: string }[]>(flowScripts.listValidationMessages, [last]),
    );
    const canSend = submit && last !== null && messages.length === 0;
    if (canSend) {
      const button = await run.act('find_submit', () => run.call<string | null>(flowScripts.submitOf, [last]));
      await run.run([button === null ? { type: 'press', keys: 'Enter' } : { type: 'click', selectors: literal([button]) }]);
    }
    let succeeded = null;
    if (success) {
      const { results } = await run.run([{ type: 'wait', selectors: literal(success), timeout_ms: 5000, optional: true }]);
      succeeded = results[0]?.status === 'ok';
    }
    return { filled, unmatched, validation_messages: messages, submitted: canSend, succeeded, final_url: run.url() };
  },
});

/** Finds a control by its exact name, else by the beginning of it, case ignored, else by its selector, which is unique in the page. */
export function findControl(controls: readonly FormField[], key: string, value: string | boolean): FormField | null {
  const wanted = key.trim().toLowerCase();
  const suits = ({ kind }: FormField): boolean => kind !== 'file' && (typeof value === 'boolean') === (kind === 'check');
  const usable = controls.filter(suits);
  const names = ({ names: all }: FormField): string[] => all.map((name) => name.trim().toLowerCase());
  return (
    usable.find((control) => names(control).includes(wanted)) ??
    (typeof value === 'string' ? findRadio(controls, wanted, value) : undefined) ??
    usable.find((control) => wanted.length >= 3 && names(control).some((name) => name.startsWith(wanted))) ??
    usable.find(({ selector }) => selector === key) ??
    null
  );
}

/** The radio button of a group by its label or value. A legend may end with a colon or an asterisk. */
function findRadio(controls: readonly FormField[], group: string, value: string): FormField | undefined {
  const fold = (text: string): string => text.replaceAll(/[:*]/g, ' ').trim().toLowerCase();
  const options = controls.filter(({ groups }) => groups.some((name) => fold(name) === fold(group)));
  return options.find(({ label, names }) =>
    [label, ...names.slice(-1).map((name) => name.slice(name.indexOf('=') + 1))].some((each) => fold(each) === fold(value)),
  );
}

function toStep({ selector, kind }: FormField, value: string | boolean): Record<string, unknown> {
  const selectors = literal([selector]);
  if (kind === 'check') return { type: 'check', selectors, state: value === true || typeof value === 'string' };
  // `fill` takes the value or the label of an option as well.
  return { type: 'fill', selectors, value: '{{inputs.value}}' };
}
