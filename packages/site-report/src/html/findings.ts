/** What an inspection has to say at first: a few sentences of a report that has hundreds of fields. */
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import { bytes as sizeText, countText, cut, type Tone } from './parts.ts';
import type { ReportView } from './view.ts';

export interface Finding {
  topic: string;
  text: string;
  tone: Exclude<Tone, 'bad'>;
}

/** The main findings of a report, in the order in which a reader asks for them. Parts that were not requested have none. */
export function toFindings(report: ReportView): Finding[] {
  return [
    ...siteFindings(report),
    ...apiFindings(report),
    ...authFindings(report),
    ...automationFindings(report),
    ...assetFindings(report),
    ...otherPartyFindings(report),
    ...securityFindings(report),
    ...limitFindings(report),
  ];
}

/** The findings by topic. The words, not only the colour, say which are warnings. */
export function findingsList(findings: readonly Finding[]): Markup {
  const topics = [...new Set(findings.map(({ topic }) => topic))];
  return topics.length === 0
    ? nothing
    : html`<dl class="facets findings">
        ${topics.map(
          (topic) =>
            html`<div>
              <dt>${topic}</dt>
              <dd>${findings.filter((each) => each.topic === topic).map(line)}</dd>
            </div>`,
        )}
      </dl>`;
}

const line = ({ text, tone }: Finding): Markup => html`<p class="${tone}">${tone === 'warn' ? 'Warning: ' : ''}${cut(text)}</p>`;

const namesMax = 6;

/** The first names, and how many others there are. */
function namesText(names: readonly string[]): string {
  const others = names.length - namesMax;
  return names.slice(0, namesMax).join(', ') + (others > 0 ? ` and ${countText(others, 'other')}` : '');
}

const finding = (topic: string, text: string, tone: Finding['tone'] = 'plain'): Finding => ({ topic, text, tone });

const renderings: Readonly<Record<string, string>> = {
  ssr: 'The text is made on the server',
  csr: 'The text is made by scripts in the browser',
  hybrid: 'The text is made partly on the server, partly by scripts',
};

function siteFindings({ site }: ReportView): Finding[] {
  if (!site) return [];
  const { technologies, rendering, cdn, server } = site;
  const before = [server && `Server: ${server}`, cdn && `Behind ${cdn.name}`, renderings[rendering.type]].filter(Boolean).join('. ');
  return [
    ...(before === '' ? [] : [finding('Site', `${before}.`)]),
    ...(technologies.length === 0 ? [] : [finding('Built with', `${namesText(technologies.map(({ name }) => name))}.`)]),
  ];
}

function apiFindings({ api }: ReportView): Finding[] {
  if (!api) return [];
  const {
    endpoints,
    first_party: own,
    graphql_operations: operations,
    websockets,
    event_streams: streams,
    total_calls: calls,
  } = api.summary;
  const others = [
    operations > 0 && countText(operations, 'GraphQL operation'),
    websockets > 0 && countText(websockets, 'WebSocket'),
    streams > 0 && countText(streams, 'event stream'),
  ].filter((text) => text !== false);
  if (endpoints === 0 && others.length === 0) return [finding('API', 'The pages called no API.')];
  const text = [`${countText(endpoints, 'endpoint')}${ofSite(own, endpoints)}`, countText(calls, 'call'), ...others].join('; ');
  const documents = api.specs_found.map(({ type }) => type);
  return [
    finding('API', `${text}.`),
    ...(documents.length > 0 ? [finding('API', `The site publishes its own description: ${namesText(documents)}.`, 'good')] : []),
  ];
}

const ofSite = (own: number, all: number): string => (all === 0 ? '' : own === all ? ' of the site itself' : `, ${own} of the site itself`);

function authFindings({ auth }: ReportView): Finding[] {
  if (!auth) return [];
  const mechanisms = auth.mechanisms
    .filter(({ type }) => type !== 'none')
    .map(({ type, name }) => toWords(type) + (name ? ` (${name})` : ''));
  const sso = auth.sso.map(({ provider }) => provider);
  return [
    ...(auth.required_for_page ? [finding('Sign-in', 'The page needs a sign-in.', 'warn')] : []),
    finding('Sign-in', mechanisms.length > 0 ? `Requests carry ${namesText(mechanisms)}.` : 'No request carried a credential.'),
    ...(auth.login_forms.length > 0 ? [finding('Sign-in', `${countText(auth.login_forms.length, 'sign-in form')}.`)] : []),
    ...(sso.length > 0 ? [finding('Sign-in', `Sign-in by ${namesText(sso)}.`)] : []),
  ];
}

const toWords = (name: string): string => name.replaceAll('_', ' ');

const modes: Readonly<Record<string, string>> = {
  http: 'Fetch it with plain HTTP',
  browser: 'Fetch it with a browser',
  api_replay: 'Call its API instead of reading pages',
};

function automationFindings({ automation }: ReportView): Finding[] {
  if (!automation) return [];
  const { recommended_mode: mode, reason, anti_automation: protections, robots_note: robots } = automation;
  return [
    finding('Automation', `${modes[mode] ?? mode}. ${reason}`),
    ...protections.map(({ vendor, challenge_seen: isChallenged }) =>
      finding('Automation', `Protected by ${vendor}${isChallenged ? ', which showed a challenge' : ''}.`, 'warn'),
    ),
    ...(robots === null ? [] : [finding('Automation', robots)]),
  ];
}

function assetFindings({ assets }: ReportView): Finding[] {
  if (!assets) return [];
  const { requests, transfer_bytes: bytes, failed, timings } = assets.summary;
  const lcp = timings.lcp_ms === null ? '' : ` Largest paint after ${Math.round(timings.lcp_ms)} ms.`;
  return [
    finding('Load', `${countText(requests, 'request')}, ${sizeText(bytes)}.${lcp}`, timings.ratings['lcp'] === 'good' ? 'good' : 'plain'),
    ...(failed > 0 ? [finding('Load', `${countText(failed, 'request')} failed.`, 'warn')] : []),
  ];
}

function otherPartyFindings({ third_parties: parties, cookies }: ReportView): Finding[] {
  return [
    ...(parties && parties.length > 0
      ? [
          finding(
            'Third parties',
            `${countText(parties.length, 'third party', 'third parties')}: ${namesText(parties.map(({ entity }) => entity))}.`,
          ),
        ]
      : []),
    ...(cookies && cookies.length > 0
      ? [
          finding(
            'Cookies',
            `${countText(cookies.length, 'cookie')}, ${cookies.filter((cookie) => !cookie.first_party).length} of third parties.`,
          ),
        ]
      : []),
  ];
}

/** Notes beyond these stand in the section about security. */
const notesMax = 5;

function securityFindings({ security }: ReportView): Finding[] {
  const notes = security?.score_notes.filter(({ level }) => level === 'warning') ?? [];
  return [
    ...notes.slice(0, notesMax).map(({ text }) => finding('Security', text, 'warn')),
    ...(notes.length > notesMax ? [finding('Security', `${countText(notes.length - notesMax, 'other warning')} in its section.`)] : []),
  ];
}

function limitFindings({ limits, redactions }: ReportView): Finding[] {
  const places = redactions.headers + redactions.body_keys + redactions.body_values;
  return [
    ...(places > 0 ? [finding('Secrets', `Replaced in ${countText(places, 'place')} before anything was kept.`, 'good')] : []),
    ...(limits.truncated ? [finding('Limits', `Parts were left out: ${limits.reason ?? 'a limit applied'}.`, 'warn')] : []),
  ];
}
