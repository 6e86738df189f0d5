/** What the site says to programs: `robots.txt`, `security.txt`, `llms.txt`. */
import type { InspectSite } from '@berth/contract';
import { parseRobotsAtOnce, readRobotsLines, robotsAgent } from '@berth/reading';
import type { ProbedFile } from '../capture.ts';
import type { ReportInput } from '../exchange.ts';

/** Crawlers that collect pages for language models, as their operators name them. */
const aiAgents: ReadonlySet<string> = new Set(
  (
    'gptbot chatgpt-user oai-searchbot claudebot claude-web anthropic-ai google-extended perplexitybot ccbot bytespider ' +
    'applebot-extended amazonbot meta-externalagent facebookbot cohere-ai diffbot mistralai-user'
  ).split(' '),
);
const linesMax = 20_000;
const sitemapsMax = 50;

/** A probe, or a page that the browser itself requested. */
export function readFile(input: ReportInput, paths: readonly string[]): ProbedFile | null {
  for (const path of paths) {
    const probe = input.capture.probes.find((each) => each.path === path && each.statusCode !== null);
    if (probe) return probe;
    const exchange = input.exchanges.find(({ url, isFirstParty, statusCode }) => url.path === path && isFirstParty && statusCode !== null);
    if (exchange) return { path, statusCode: exchange.statusCode, contentType: exchange.responseType, body: exchange.responseText };
  }
  return null;
}

export function readRobots(input: ReportInput): InspectSite['robots'] {
  const file = readFile(input, ['/robots.txt']);
  if (!file || file.statusCode === null) return null;
  // RFC 9309, 2.3.1: an unavailable file allows everything, an unreachable one nothing.
  if (file.statusCode === 429 || file.statusCode >= 500)
    return { allowed_for_us: false, crawl_delay: null, sitemaps: [], ai_agents_disallowed: [] };
  if (file.statusCode >= 400 || isPage(file)) return null;
  const url = URL.parse(input.capture.url);
  const allowed = url === null ? null : parseRobotsAtOnce(file.body, robotsAgent).allowsAtOnce(url.href);
  return { allowed_for_us: allowed, ...readOthers(file.body) };
}

/** Many applications answer every path with their page. */
const isPage = ({ contentType, body }: ProbedFile): boolean => /html/i.test(contentType) || /^\s{0,100}<(?:!doctype|html)/i.test(body);

interface Group {
  agents: string[];
  hasRules: boolean;
}

/** What the matcher of rules does not read. */
function readOthers(text: string): Pick<NonNullable<InspectSite['robots']>, 'crawl_delay' | 'sitemaps' | 'ai_agents_disallowed'> {
  const delays = new Map<string, number>();
  const sitemaps = new Set<string>();
  const disallowed = new Set<string>();
  let group: Group = { agents: [], hasRules: false };
  let lines = 0;
  readRobotsLines(text, (key, value) => {
    if ((lines += 1) > linesMax) return;
    if (key === 'sitemap' && sitemaps.size < sitemapsMax && URL.canParse(value)) sitemaps.add(value);
    if (key === 'user-agent') {
      if (group.hasRules) group = { agents: [], hasRules: false };
      if (group.agents.length < 100) group.agents.push(value.toLowerCase());
    } else if (key === 'crawl-delay') {
      const seconds = Number.parseFloat(value);
      for (const agent of group.agents) if (seconds >= 0 && Number.isFinite(seconds) && !delays.has(agent)) delays.set(agent, seconds);
      group.hasRules = true;
    } else if (key === 'disallow' || key === 'allow') {
      group.hasRules = true;
      if (key === 'disallow' && (value === '/' || value === '/*'))
        for (const agent of group.agents) if (aiAgents.has(agent)) disallowed.add(agent);
    }
  });
  return {
    crawl_delay: delays.get(robotsAgent.toLowerCase()) ?? delays.get('*') ?? null,
    sitemaps: [...sitemaps],
    ai_agents_disallowed: [...disallowed],
  };
}

export function readSecurityTxt(input: ReportInput): InspectSite['security_txt'] {
  const file = readFile(input, ['/.well-known/security.txt', '/security.txt']);
  const lines = file?.statusCode === 200 && !isPage(file) ? file.body.slice(0, 20_000).split(/\r\n?|\n/) : [];
  const values = (name: string): string[] =>
    lines.flatMap((line) =>
      line.toLowerCase().startsWith(`${name}:`)
        ? [
            line
              .slice(name.length + 1)
              .trim()
              .slice(0, 500),
          ]
        : [],
    );
  const contact = values('contact').slice(0, 5);
  return { present: contact.length > 0, contact, expires: values('expires')[0] ?? null };
}

export function readLlmsTxt(input: ReportInput): InspectSite['llms_txt'] {
  const file = readFile(input, ['/llms.txt']);
  if (!file) return { present: null, bytes: 0 };
  const present = file.statusCode === 200 && !isPage(file);
  return { present, bytes: present ? Buffer.byteLength(file.body) : 0 };
}
