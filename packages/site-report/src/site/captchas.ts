/** Captchas that a page embeds, by the hosts and classes of their widgets. */
import type { PageElement, PageTree } from '../page/tree.ts';

const hosts: readonly [vendor: string, source: RegExp][] = [
  ['recaptcha', /^https:\/\/(?:www\.)?(?:google\.com|recaptcha\.net|gstatic\.com)\/recaptcha\//],
  ['hcaptcha', /^https:\/\/(?:[\w-]+\.)?hcaptcha\.com\//],
  ['turnstile', /^https:\/\/challenges\.cloudflare\.com\/turnstile\//],
  ['arkose', /^https:\/\/(?:[\w.-]+\.)?(?:arkoselabs|funcaptcha)\.com\//],
  ['friendly_captcha', /^https:\/\/(?:[\w.-]+\.)?friendlycaptcha\.(?:com|eu)\//],
  ['geetest', /^https:\/\/(?:[\w.-]+\.)?geetest\.com\//],
  ['mtcaptcha', /^https:\/\/(?:[\w.-]+\.)?mtcaptcha\.com\//],
];
const classes: ReadonlyMap<string, string> = new Map([
  ['g-recaptcha', 'recaptcha'],
  ['h-captcha', 'hcaptcha'],
  ['cf-turnstile', 'turnstile'],
  ['frc-captcha', 'friendly_captcha'],
]);

export const captchaOf = (tree: PageTree): string | null => captchasOf(tree)[0] ?? null;

export function captchasOf(tree: PageTree): string[] {
  const vendors = new Set<string>();
  for (const element of tree.named('script', 'iframe')) {
    const source = element.attributes.get('src') ?? '';
    for (const [vendor, pattern] of hosts) if (pattern.test(source)) vendors.add(vendor);
  }
  for (const element of tree.named('div')) for (const vendor of vendorsByClass(element)) vendors.add(vendor);
  return [...vendors];
}

const vendorsByClass = ({ attributes }: PageElement): string[] =>
  (attributes.get('class') ?? '').split(/\s+/).flatMap((name) => classes.get(name) ?? []);
