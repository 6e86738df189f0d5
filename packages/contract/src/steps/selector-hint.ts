/** Selectors that are written as other tools write them, and how the step language writes the same. */

const shownCharsMax = 80;

/** One form of another tool, and what to write instead; `text` is what the form's first group matched. */
interface ForeignForm {
  pattern: RegExp;
  replacement: (text: string) => string;
}

/** Playwright's engines, `>>` chains, and the pseudo-classes that Playwright, jQuery and Cypress add to CSS. */
const foreignForms: readonly ForeignForm[] = [
  { pattern: /^text\s*=\s*["']?([^"']+)/i, replacement: (text) => `text/${text}` },
  { pattern: /^xpath\s*=\s*(.+)/i, replacement: (text) => `xpath/${text}` },
  { pattern: /^css\s*=\s*(.+)/i, replacement: (text) => text },
  { pattern: /^id\s*=\s*([\w-]+)$/i, replacement: (text) => `#${text}` },
  { pattern: /^(?:data-)?test-?id\s*=\s*["']?([^"']+)/i, replacement: (text) => `testid/${text}` },
  { pattern: /^label\s*=\s*["']?([^"']+)/i, replacement: (text) => `label/${text}` },
  { pattern: /^placeholder\s*=\s*["']?([^"']+)/i, replacement: (text) => `placeholder/${text}` },
  { pattern: /^(?:page\.)?getByText\(\s*["']([^"']+)/, replacement: (text) => `text/${text}` },
  { pattern: /^(?:page\.)?getByLabel\(\s*["']([^"']+)/, replacement: (text) => `label/${text}` },
  { pattern: /^(?:page\.)?getByPlaceholder\(\s*["']([^"']+)/, replacement: (text) => `placeholder/${text}` },
  { pattern: /^(?:page\.)?getByTestId\(\s*["']([^"']+)/, replacement: (text) => `testid/${text}` },
];
const roleForm = /^role\s*=\s*([a-z]+)(?:\[\s*name\s*=\s*["']?([^"'\]]+))?/i;
const getByRoleForm = /^(?:page\.)?getByRole\(\s*["']([a-z]+)["'](?:\s*,\s*\{\s*name:\s*["']([^"']+))?/i;
const textPseudoClass = /:(?:has-text|text|text-is|contains)\(\s*["']?([^"')]+)/i;
const leftOutPseudoClass = /:(?:visible|first|last|eq\(\d+\)|nth-match\([^():]*\))$/i;

/** What to write instead of a selector that only another tool understands; undefined for every other selector. */
export function selectorHint(selector: string): string | undefined {
  const text = selector.trim();
  if (outsideQuotes(text).includes('>>')) return write(JSON.stringify(text.split(/>{2,}/).map((part) => part.trim())), 'a list: ');
  for (const { pattern, replacement } of foreignForms) {
    const match = pattern.exec(text)?.[1];
    if (match !== undefined) return write(replacement(match.trim()));
  }
  const role = roleForm.exec(text) ?? getByRoleForm.exec(text);
  if (role) return write(`aria/${role[2] ?? ''}[role="${role[1]}"]`);
  if (leftOutPseudoClass.test(text)) return 'Leave out the last pseudo-class, which is not CSS: the first visible match is used.';
  const shown = /:(?:has-text|text|text-is|contains)\(/i.test(outsideQuotes(text)) && textPseudoClass.exec(text)?.[1];
  return shown ? write(`text/${shown.trim()}`) : undefined;
}

const write = (form: string, what = ''): string =>
  form.length > shownCharsMax ? 'Write it in the step language: docs/steps.md has its selectors.' : `Write ${what}\`${form}\`.`;

/** A quoted text may contain anything. */
const outsideQuotes = (text: string): string => text.replace(/"[^"]*"|'[^']*'/g, '""');
