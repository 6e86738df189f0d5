import type { BlockEvidence, BlockVendor } from '@berth/contract';
import { findElement, holds, type CaptchaFound, type Page } from './page.ts';
import { redact } from './redact.ts';
import type { Rule, Sight } from './rule.ts';
import { rules } from './rules.ts';

/** A rule that is true of a page, and what made it true. */
export interface Sighting {
  rule: Rule;
  evidence: BlockEvidence;
}

/** In the rules' order of precedence. */
export function sightingsOn(page: Page, captcha: CaptchaFound): Sighting[] {
  return rules.flatMap((rule) => {
    const seen = holds(page, rule.when) ? see(page, rule, captcha) : null;
    if (seen === null) return [];
    return [{ rule, evidence: { kind: seen.kind, id: rule.id, value_redacted: redact(seen.value) } }];
  });
}

interface Seen {
  kind: BlockEvidence['kind'];
  value: string;
}

function see(page: Page, rule: Rule, captcha: CaptchaFound): Seen | null {
  const { sight } = rule;
  switch (sight.kind) {
    case 'header':
      return seeHeader(page, sight);
    case 'cookie_name':
      return told(
        'cookie_name',
        page.facts.cookieNames.find((name) => sight.name.test(name)),
      );
    case 'title':
      return told('title', sight.value.exec(page.title)?.[0]);
    case 'url':
      return told('url', sight.value.exec(page.place)?.[0]);
    case 'status':
      return told('status', String(page.status));
    case 'selector':
      return told('selector', page.facts.dom?.selectors.includes(rule.id) ? sight.css : undefined);
    case 'element':
      return seeElement(page, rule.id, sight);
    case 'script':
      return told('body_signature', matchOf(page.markup?.scripts, sight.value));
    case 'text':
      return seeText(page, sight);
    case 'captcha':
      return seeCaptcha(rule.vendor, sight, captcha);
  }
}

const told = (kind: Seen['kind'], value: string | undefined): Seen | null => (value === undefined ? null : { kind, value });

const matchOf = (texts: readonly string[] | undefined, value: RegExp): string | undefined => {
  for (const text of texts ?? []) {
    const found = value.exec(text);
    if (found) return found[0];
  }
  return undefined;
};

/** A value that no pattern vouches for may be a token: then only the name is told. */
function seeHeader({ facts }: Page, { name, value }: Sight & { kind: 'header' }): Seen | null {
  const held = facts.headers[name];
  if (held === undefined) return null;
  if (!value) return told('header', name);
  const found = value.exec(held);
  return found ? told('header', `${name}: ${found[0]}`) : null;
}

function seeElement(page: Page, id: string, sight: Sight & { kind: 'element' }): Seen | null {
  if (page.markup && page.facts.dom?.selectors.includes(id)) return told('selector', sight.css);
  const element = findElement(page, sight);
  return element ? told('body_signature', `<${element.tag} ${sight.attribute}="${element.attributes.get(sight.attribute) ?? ''}">`) : null;
}

function seeText({ markup, visibleLength }: Page, { value, textMax }: Sight & { kind: 'text' }): Seen | null {
  return markup && visibleLength <= textMax ? told('body_signature', value.exec(markup.text)?.[0]) : null;
}

function seeCaptcha(vendor: BlockVendor, { displayed }: Sight & { kind: 'captcha' }, captcha: CaptchaFound): Seen | null {
  if (captcha.vendor !== vendor || (displayed && captcha.visible !== true)) return null;
  return told('selector', displayed ? `${vendor} on display` : vendor);
}
