import { z } from 'zod';
import { defineFlow } from '../flow.ts';
import { Url } from '../inputs.ts';
import { cookieBanners } from '../read/cookie-banners.ts';

const clickMsMax = 1500;

export const acceptCookies = defineFlow({
  name: 'accept_cookies',
  title: 'Answer a cookie banner',
  description: 'Rejects or accepts cookies in the banner of a page: of the well-known consent tools, or by the usual words.',
  version: '1',
  category: 'navigation',
  inputs: z.strictObject({
    url: Url,
    choice: z.enum(['reject', 'accept']).default('reject').describe('What to choose. Default: `reject`.'),
  }),
  output: z.object({
    vendor: z.string().nullable().describe('Consent tool, `generic` for one that was found by its words; null if there is no banner.'),
    clicked: z.boolean().describe('Whether a button was clicked.'),
    final_url: z.string().describe('URL of the page.'),
  }),
  example: { url: 'https://example.com/', choice: 'reject' },
  run: async (run, { url, choice }) => {
    await run.open(url);
    for (const { vendor, present, ...buttons } of cookieBanners) {
      const { results } = await run.run([
        { type: 'click', selectors: buttons[choice], if: { exists: present }, optional: true, timeout_ms: clickMsMax },
      ]);
      const [result] = results;
      if (result?.status === 'ok') return { vendor, clicked: true, final_url: run.url() };
      // Skipped with an error: the banner is there, and its button is not.
      if (result?.error && vendor !== 'generic') return { vendor, clicked: false, final_url: run.url() };
    }
    return { vendor: null, clicked: false, final_url: run.url() };
  },
});
