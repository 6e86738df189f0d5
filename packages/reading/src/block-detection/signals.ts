import type { BlockEvidence, BlockVendor } from '@berth/contract';
import { redactText } from '@berth/lib/secrets/redact/redact.ts';
import { findElement, meetsCondition, type DetectedCaptcha, type Page } from './parsed-page.ts';
import type { Rule, SignalSource } from './rules/rule.ts';
import { rules } from './rules/rules.ts';

/** A rule that matches a page, and the evidence. */
export interface Signal {
  rule: Rule;
  evidence: BlockEvidence;
}

/** Collects the signals in the rules' order of precedence. */
export function collectSignals(page: Page, captcha: DetectedCaptcha): Signal[] {
  return rules.flatMap((rule) => {
    const match = meetsCondition(page, rule.when) ? matchSource(page, rule, captcha) : null;
    if (match === null) return [];
    return [{ rule, evidence: { kind: match.kind, id: rule.id, value_redacted: redact(match.value) } }];
  });
}

interface Match {
  kind: BlockEvidence['kind'];
  value: string;
}

function matchSource(page: Page, rule: Rule, captcha: DetectedCaptcha): Match | null {
  const { source } = rule;
  switch (source.kind) {
    case 'header':
      return matchHeader(page, source);
    case 'cookie_name':
      return toMatch(
        'cookie_name',
        page.info.cookieNames.find((name) => source.name.test(name)),
      );
    case 'title':
      return toMatch('title', source.value.exec(page.title)?.[0]);
    case 'url':
      return toMatch('url', source.value.exec(page.hostAndPath)?.[0]);
    case 'status':
      return toMatch('status', String(page.status));
    case 'selector':
      return toMatch('selector', page.info.dom?.selectors.includes(rule.id) ? source.css : undefined);
    case 'element':
      return matchElement(page, rule.id, source);
    case 'script':
      return toMatch('body_signature', firstMatch(page.markup?.scripts, source.value));
    case 'text':
      return matchText(page, source);
    case 'captcha':
      return matchCaptcha(rule.vendor, source, captcha);
  }
}

const toMatch = (kind: Match['kind'], value: string | undefined): Match | null => (value === undefined ? null : { kind, value });

const firstMatch = (texts: readonly string[] | undefined, value: RegExp): string | undefined => {
  for (const text of texts ?? []) {
    const match = value.exec(text);
    if (match) return match[0];
  }
  return undefined;
};

/** A value that no pattern matched may be a token: then the evidence holds only the name. */
function matchHeader({ info }: Page, { name, value }: SignalSource & { kind: 'header' }): Match | null {
  const header = info.headers[name];
  if (header === undefined) return null;
  if (!value) return toMatch('header', name);
  const match = value.exec(header);
  return match ? toMatch('header', `${name}: ${match[0]}`) : null;
}

function matchElement(page: Page, id: string, source: SignalSource & { kind: 'element' }): Match | null {
  if (page.markup && page.info.dom?.selectors.includes(id)) return toMatch('selector', source.css);
  const element = findElement(page, source);
  return element
    ? toMatch('body_signature', `<${element.tag} ${source.attribute}="${element.attributes.get(source.attribute) ?? ''}">`)
    : null;
}

function matchText({ markup, visibleLength }: Page, { value, textMax }: SignalSource & { kind: 'text' }): Match | null {
  return markup && visibleLength <= textMax ? toMatch('body_signature', value.exec(markup.text)?.[0]) : null;
}

function matchCaptcha(vendor: BlockVendor, { displayed }: SignalSource & { kind: 'captcha' }, captcha: DetectedCaptcha): Match | null {
  if (captcha.vendor !== vendor || (displayed && captcha.visible !== true)) return null;
  return toMatch('selector', displayed ? `${vendor} on display` : vendor);
}

const evidenceCharsMax = 80;

/** Makes evidence safe to store and show: neither a query nor what may be an id, in one line. */
const redact = (text: string): string =>
  redactText(text.replaceAll(/\s+/g, ' '), { placeholder: '…', rule: 'bare', charsMax: evidenceCharsMax })
    // oxlint-disable-next-line no-control-regex -- Removes control characters.
    .replaceAll(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
