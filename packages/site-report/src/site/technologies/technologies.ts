/** What a site is built with: the rules of `technology-rules.ts`, on responses, cookies and pages. */
import type { InspectSite } from '@berth/contract';
import type { CapturedExchange, ReportInput } from '../../exchange.ts';
import { isDocument, oncePerReport, readPages, toEvidence } from '../../page/pages.ts';
import { technologyRules, type TechnologyRule } from './technology-rules.ts';
import { readCookies } from '../set-cookies.ts';

type Technology = InspectSite['technologies'][number];

interface Match {
  rule: TechnologyRule;
  version: string | null;
  reasons: Set<string>;
  exchanges: Set<CapturedExchange>;
  confidence: Technology['confidence'];
}

const technologiesMax = 100;
const reasonsMax = 5;
const matchedCharsMax = 500;

export const readTechnologies = oncePerReport(detectTechnologies);

function detectTechnologies(input: ReportInput): Technology[] {
  const matches = new Matches();
  matchHeaders(input, matches);
  matchCookies(input, matches);
  matchRequests(input, matches);
  matchPages(input, matches);
  return matches.withImplied().slice(0, technologiesMax);
}

interface Detection {
  reason: string;
  exchange: CapturedExchange | null;
  version?: string | undefined;
  confidence?: Technology['confidence'];
}

class Matches {
  readonly #matches = new Map<string, Match>();

  add(rule: TechnologyRule, { reason, exchange, version, confidence = 'high' }: Detection): void {
    let match = this.#matches.get(rule.name);
    if (!match) this.#matches.set(rule.name, (match = { rule, version: null, reasons: new Set(), exchanges: new Set(), confidence }));
    if (confidence === 'high') match.confidence = 'high';
    match.version ??= version ?? null;
    if (match.reasons.size < reasonsMax) match.reasons.add(reason);
    if (exchange && match.exchanges.size < 20) match.exchanges.add(exchange);
  }

  /** The technologies with those that they imply, in the order of the rules. */
  withImplied(): Technology[] {
    for (const { rule, exchanges } of this.#matches.values()) {
      for (const name of rule.implies ?? []) {
        const implied = technologyRules.find((other) => other.name === name);
        if (implied && !this.#matches.has(name))
          this.add(implied, { reason: `${rule.name} is made with it`, exchange: [...exchanges][0] ?? null, confidence: 'medium' });
      }
    }
    return technologyRules.flatMap((rule) => {
      const match = this.#matches.get(rule.name);
      if (!match) return [];
      const { version, reasons, exchanges, confidence } = match;
      return { name: rule.name, category: rule.category, version, reasons: [...reasons], confidence, evidence: toEvidence(exchanges) };
    });
  }
}

/** Matches headers of the site's own responses, as those of others are about the others. */
function matchHeaders({ exchanges }: ReportInput, matches: Matches): void {
  const own = exchanges.filter(
    (exchange) => exchange.isFirstParty && (isDocument(exchange) || /^(?:xhr|fetch)$/.test(exchange.resourceType)),
  );
  const rules = technologyRules.flatMap((rule) => Object.entries(rule.headers ?? {}).map(([name, pattern]) => ({ rule, name, pattern })));
  // Responses of a site resemble each other.
  const known = new Set<string>();
  for (const exchange of own) {
    for (const { rule, name, pattern } of rules) {
      const value = exchange.responseHeaders.get(name)?.slice(0, matchedCharsMax);
      if (value === undefined || known.has(`${rule.name} ${name} ${value}`)) continue;
      const match = pattern.exec(value);
      if (!match) continue;
      if (known.size < 10_000) known.add(`${rule.name} ${name} ${value}`);
      matches.add(rule, { reason: `response header ${name}`, exchange, version: match.groups?.['version'] });
    }
  }
}

function matchCookies(input: ReportInput, matches: Matches): void {
  const rules = technologyRules.filter(({ cookies }) => cookies);
  for (const { name, setBy } of readCookies(input)) {
    for (const rule of rules)
      if (rule.cookies?.test(name.slice(0, 128))) matches.add(rule, { reason: `cookie ${name.slice(0, 60)}`, exchange: setBy });
  }
}

function matchRequests({ exchanges }: ReportInput, matches: Matches): void {
  const byHost = new Map(technologyRules.flatMap((rule) => (rule.hosts ?? []).map((host) => [host, rule] as const)));
  const fileRules = technologyRules.filter(({ files }) => files);
  for (const exchange of exchanges) {
    const { hostname, path } = exchange.url;
    for (const host of suffixesOf(hostname)) {
      const rule = byHost.get(host);
      if (rule) matches.add(rule, { reason: `request to ${host}`, exchange });
    }
    if (!/^(?:script|stylesheet|font)$/.test(exchange.resourceType)) continue;
    for (const rule of fileRules) {
      const match = rule.files?.exec(path.slice(0, matchedCharsMax));
      if (match) matches.add(rule, { reason: `${exchange.resourceType} of its name`, exchange, version: match.groups?.['version'] });
    }
  }
}

/** `a.b.c`, `b.c`; a top-level domain is nobody's. */
function suffixesOf(hostname: string): string[] {
  const labels = hostname.slice(0, 253).split('.');
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
}

function matchPages(input: ReportInput, matches: Matches): void {
  const byGlobal = groupBy(({ globals }) => globals);
  const byId = groupBy(({ ids }) => ids);
  const byAttribute = groupBy(({ attributes }) => attributes);
  for (const { tree, snapshot, document } of readPages(input)) {
    const globals = new Set([...(snapshot?.globals ?? []), ...(snapshot?.dataBlobs ?? []).map(({ name }) => name)]);
    for (const name of globals)
      for (const rule of byGlobal.get(name) ?? []) matches.add(rule, { reason: `property ${name} of window`, exchange: document });
    for (const { attributes } of tree.named('meta')) {
      if (attributes.get('name')?.toLowerCase() === 'generator') matchGenerator(attributes.get('content') ?? '', document, matches);
    }
    for (const { attributes } of tree.elements) {
      const id = attributes.get('id');
      if (id !== undefined) for (const rule of byId.get(id) ?? []) matches.add(rule, { reason: `element #${id}`, exchange: document });
      for (const name of attributes.keys())
        for (const rule of byAttribute.get(name) ?? byAttribute.get(prefixOf(name)) ?? [])
          matches.add(rule, { reason: `attribute ${name.slice(0, 40)}`, exchange: document, confidence: 'medium' });
    }
  }
}

function matchGenerator(content: string, exchange: CapturedExchange | null, matches: Matches): void {
  for (const rule of technologyRules) {
    const match = rule.generator?.exec(content.slice(0, matchedCharsMax));
    if (match) matches.add(rule, { reason: 'meta element generator', exchange, version: match.groups?.['version'] });
  }
}

const prefixes = technologyRules.flatMap(({ attributes = [] }) =>
  attributes.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)),
);

function prefixOf(name: string): string {
  const prefix = name.startsWith('data-') || name.startsWith('_ng') ? prefixes.find((each) => name.startsWith(each)) : undefined;
  return prefix === undefined ? '' : `${prefix}*`;
}

function groupBy(keysOf: (rule: TechnologyRule) => readonly string[] | undefined): ReadonlyMap<string, TechnologyRule[]> {
  const groups = new Map<string, TechnologyRule[]>();
  for (const rule of technologyRules) for (const key of keysOf(rule) ?? []) groups.set(key, [...(groups.get(key) ?? []), rule]);
  return groups;
}
