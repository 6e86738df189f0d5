/** Texts with placeholders such as `{{inputs.name}}` and `{{vars.name.0 | trim | lower}}`. `{{"{{"}}` is a literal `{{`. */

export const templateFilters = ['trim', 'lower', 'slug', 'number', 'date'] as const;
export type TemplateFilter = (typeof templateFilters)[number];

export interface TemplateValue {
  from: 'inputs' | 'vars' | 'secret';
  path: string[];
  filters: TemplateFilter[];
}
export type TemplatePart = string | TemplateValue;

/** Far more than a text written by hand has. */
const valuesMax = 100;
const expression = /^(inputs|vars|secret)((?:\.[\w-]{1,64}){1,8})((?:\|[a-z]{1,20}){0,8})$/;

/** Returns the parts in order, or the problem with the text. Runs in linear time. */
export function parseTemplate(text: string): { parts: TemplatePart[]; problem?: string } {
  const parts: TemplatePart[] = [];
  let from = 0;
  while (true) {
    const start = text.indexOf('{{', from);
    if (start === -1) break;
    const end = text.indexOf('}}', start);
    if (end === -1) return { parts: [], problem: 'A {{ is not closed' };
    const part = parseExpression(text.slice(start + 2, end));
    if (typeof part === 'object' && 'problem' in part) return { parts: [], ...part };
    parts.push(text.slice(from, start), part);
    if (parts.length > 2 * valuesMax) return { parts: [], problem: `A text may have at most ${valuesMax} placeholders` };
    from = end + 2;
  }
  return { parts: [...parts, text.slice(from)].filter((part) => part !== '') };
}

function parseExpression(text: string): TemplatePart | { problem: string } {
  if (text.length > 800) return { problem: 'The expression between {{ and }} is too long' };
  const dense = text.replace(/\s/g, '');
  if (dense === '"{{"') return '{{';
  const [, from, path = '', filters = ''] = expression.exec(dense) ?? [];
  if (from !== 'inputs' && from !== 'vars' && from !== 'secret')
    return { problem: 'The expression between {{ and }} should be inputs.name, vars.name or secret.name' };
  const names = filters.split('|').slice(1);
  const known = names.filter((name): name is TemplateFilter => templateFilters.some((filter) => filter === name));
  if (known.length < names.length) return { problem: `A filter should be one of ${templateFilters.join(', ')}` };
  return { from, path: path.split('.').slice(1), filters: known };
}
