/** Code on the pages: blocks that scroll with the keyboard, and blocks that say the same in several languages. */
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';

export interface CodeBlock {
  language: Language;
  code: string;
}

/** The order on the pages. */
export const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python', cli: 'Command line' } as const;
export type Language = keyof typeof languages;
export const isLanguage = (name: string): name is Language => Object.hasOwn(languages, name);

export const codeBlock = (code: string): Markup => html`<pre tabindex="0"><code>${code}</code></pre>`;

/**
 * One block at a time, chosen with radio buttons, so that the choice works without scripts and with the keyboard. `id`
 * is one of the page. The script of the pages repeats a choice in all groups.
 */
export function codeTabs(id: string, blocks: readonly CodeBlock[]): Markup {
  const [first] = blocks;
  if (!first) return nothing;
  const inputs = blocks.map(
    ({ language }) =>
      html`<input
          type="radio"
          name="${id}"
          id="${id}-${language}"
          value="${language}"
          ${language === first.language ? html`checked` : nothing}
        />
        <label for="${id}-${language}">${languages[language]}</label> `,
  );
  // No line may begin or end in <pre> but those of the code.
  const panels = blocks.map(({ language, code }) => html`<div class="tab-panel" data-language="${language}">${codeBlock(code)}</div>`);
  return html`<div class="tabs" role="group" aria-label="Language">${inputs}${panels}</div>`;
}
