/** The report on a capture: a pure function, which runs in a thread with limits. Its sections see redacted values only. */
import type { InspectRequest, InspectResponse, InspectSection } from '@berth/contract';
import type { Entry } from 'har-format';
import type { Capture } from './capture.ts';
import { createApi } from './api/api.ts';
import { createAssetsSection } from './assets/assets.ts';
import { createAuth } from './auth/auth.ts';
import { createReportInput, type ReportInput } from './exchange.ts';
import { redact } from './redact/redact.ts';
import { createAutomation } from './site/automation.ts';
import { createCookies } from './site/cookies.ts';
import { createSecurity } from './site/security.ts';
import { createSeo } from './site/seo.ts';
import { createSite } from './site/site.ts';
import { createThirdParties } from './site/third-parties.ts';

export type ReportOptions = Pick<InspectRequest, 'include' | 'capture_bodies'>;

/** The part of a response that is made of the capture alone. */
export interface Report extends Pick<InspectResponse, 'url' | 'final_url' | 'pages' | 'limits' | 'redactions' | 'warnings'>, Sections {
  /** Time of the first request; null without one. */
  startedAt: string | null;
  /** Time from the first request to the end of the last one. */
  durationMs: number;
}

export function createReport(captured: Capture, options: ReportOptions): Report {
  const { mask, warnings, ...clean } = redact(captured);
  const input = createReportInput(clean);
  const { capture, redactions } = input;
  const pages = listPages(capture);
  return {
    url: capture.url === '' ? null : capture.url,
    final_url: pages[0]?.url ?? null,
    pages,
    limits: toLimits(capture),
    redactions: { headers: redactions.headers, body_keys: redactions.bodyKeys, body_values: redactions.bodyValues },
    warnings,
    ...withoutSecrets(createSections(input, options), mask),
    ...spanOf(capture.har.log.entries),
  };
}

type Sections = Pick<InspectResponse, Exclude<InspectSection, 'screenshot' | 'openapi' | 'client'>>;

/** The sections without secrets. The HAR is the redacted capture itself: nothing of it was decoded. */
const withoutSecrets = ({ har, ...sections }: Sections, mask: <T>(value: T) => T): Sections => ({ ...mask(sections), har });

/** A section that is not requested is null. */
function createSections(input: ReportInput, { include, capture_bodies: bodies }: ReportOptions): Sections {
  const when = <T>(section: InspectSection, create: (input: ReportInput) => T): T | null =>
    include.includes(section) ? create(input) : null;
  const wants = (section: InspectSection): boolean => include.includes(section);
  const wantsApi = wants('api') || wants('openapi') || wants('client');
  const api =
    wantsApi || wants('auth') || wants('automation')
      ? createApi(input, { openapi: wants('openapi'), client: wants('client'), samples: bodies === 'samples' })
      : null;
  return {
    site: when('site', createSite),
    api: wantsApi && api ? api.section : null,
    auth: when('auth', (from) => createAuth(from, api?.endpointOf)),
    assets: when('assets', createAssetsSection),
    third_parties: when('third_parties', createThirdParties),
    cookies: when('cookies', createCookies),
    security: when('security', createSecurity),
    seo: when('seo', createSeo),
    automation: when('automation', (from) => createAutomation(from, api?.section.endpoints)),
    har: when('har', ({ capture }) => ({ log: { ...capture.har.log } })),
  };
}

const pagesMax = 100;

function listPages({ har, pages: snapshots }: Capture): Report['pages'] {
  const { pages = [], entries } = har.log;
  return pages.slice(0, pagesMax).map(({ id, title, pageTimings }) => {
    const own = entries.filter(({ pageref }) => pageref === id);
    const snapshot = snapshots.find(({ pageId }) => pageId === id);
    const document = own.find((entry) => isDocument(entry) && entry.response.redirectURL === '') ?? own[0];
    const loadMs = snapshot?.vitals.loadMs ?? pageTimings.onLoad ?? -1;
    return {
      page_id: id,
      url: snapshot?.url ?? document?.request.url ?? '',
      title: snapshot?.title ?? title,
      status_code: document && document.response.status > 0 ? document.response.status : null,
      requests: own.length,
      load_ms: loadMs >= 0 ? Math.round(loadMs) : null,
    };
  });
}

const isDocument = ({ _resourceType: type, response }: Entry): boolean =>
  type === 'document' || (type === undefined && response.content.mimeType.startsWith('text/html'));

const toLimits = ({ loss: { droppedRequests, droppedBytes, reasons } }: Capture): Report['limits'] => ({
  truncated: reasons.length > 0,
  dropped_requests: droppedRequests,
  dropped_bytes: droppedBytes,
  reason: reasons.length > 0 ? reasons.join(', ') : null,
});

function spanOf(entries: readonly Entry[]): Pick<Report, 'startedAt' | 'durationMs'> {
  let firstMs = Infinity;
  let lastMs = -Infinity;
  for (const { startedDateTime, time } of entries) {
    const startMs = Date.parse(startedDateTime);
    if (Number.isNaN(startMs)) continue;
    firstMs = Math.min(firstMs, startMs);
    lastMs = Math.max(lastMs, startMs + Math.max(0, time));
  }
  if (firstMs === Infinity) return { startedAt: null, durationMs: 0 };
  return { startedAt: new Date(firstMs).toISOString(), durationMs: Math.round(lastMs - firstMs) };
}
