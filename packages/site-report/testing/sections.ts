/** Reports for the tests of the report's page. */
import { createAssetsSection } from '../src/assets/assets.ts';
import { createAuth } from '../src/auth/auth.ts';
import type { ReportView } from '../src/html/html.ts';
import { createAutomation } from '../src/site/automation.ts';
import { createCookies } from '../src/site/cookies.ts';
import { createSecurity } from '../src/site/security.ts';
import { createSeo } from '../src/site/seo.ts';
import { createSite } from '../src/site/site.ts';
import { createThirdParties } from '../src/site/third-parties.ts';
import { smallCapture } from './small-capture.ts';
import { inputOf } from './captures.ts';

export { reportHeaders, toReportHtml } from '../src/html/html.ts';
export { plantPlaces, shownIn, type PlantedSecret } from './places.ts';

export function sampleReport(capture = smallCapture()): ReportView {
  const input = inputOf(capture);
  return {
    ...{
      url: 'http://shop.test/',
      final_url: 'https://shop.test/',
      status: 'ok',
      started_at: '2026-03-01T12:00:00.000Z',
      duration_ms: 1240,
    },
    pages: [{ url: 'https://shop.test/', title: 'Quay Street Bakery', status_code: 200, requests: 12, load_ms: 700 }],
    limits: { truncated: false, dropped_requests: 0, dropped_bytes: 0, reason: null },
    redactions: { headers: 3, body_keys: 2, body_values: 1 },
    warnings: [],
    site: createSite(input),
    auth: createAuth(input),
    assets: createAssetsSection(input),
    third_parties: createThirdParties(input),
    cookies: createCookies(input),
    security: createSecurity(input),
    seo: createSeo(input),
    automation: createAutomation(input),
    api: sampleApi,
  };
}

const loaf = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' }, price: { type: 'number' } } };
const parameter = { name: 'page', type: 'integer', format: null, required: true, example: '1' };
const shared = {
  kind: 'rest',
  operation_name: null,
  first_party: true,
  confidence: 'high',
  auth_reason: 'Each call had an Authorization header.',
};

const sampleApi: NonNullable<ReportView['api']> = {
  summary: {
    ...{ endpoints: 2, first_party: 2, graphql_operations: 1, websockets: 1, event_streams: 1 },
    ...{ total_calls: 3, errors_4xx: 0, errors_5xx: 1 },
  },
  specs_found: [],
  endpoints: [
    {
      ...{
        ...shared,
        id: 'E1',
        method: 'GET',
        host: 'api.shop.test',
        path_template: '/loaves',
        calls: 2,
        auth_required: 'yes',
        replayable: 'needs_token',
      },
      params: { path: [], query: [parameter], header: [] },
      request: null,
      responses: [
        { status_code: 200, count: 2, content_type: 'application/json', schema: { type: 'array', items: loaf }, latency_p50_ms: 60 },
      ],
      pagination: { style: 'page', params: ['page'] },
      depends_on: [],
      curl: "curl 'https://api.shop.test/loaves?page=1' -H 'authorization: Bearer {{jwt_1}}'",
      evidence: ['r9'],
    },
    {
      ...{
        ...shared,
        id: 'E2',
        method: 'POST',
        host: 'api.shop.test',
        path_template: '/orders/{order_id}',
        calls: 1,
        auth_required: 'yes',
        replayable: 'needs_token',
      },
      params: { path: [{ ...parameter, name: 'order_id', format: 'uuid' }], query: [], header: [] },
      request: { content_type: 'application/json', schema: loaf },
      responses: [{ status_code: 500, count: 1, content_type: 'application/json', schema: null, latency_p50_ms: 30 }],
      pagination: null,
      depends_on: [{ endpoint_id: 'E1', json_path: '$[*].id', field: 'order_id' }],
      curl: "curl -X POST 'https://api.shop.test/orders/1'",
      evidence: ['r10'],
    },
  ],
  graphql: [{ endpoint: 'https://shop.test/graphql', operations: [{ name: 'Loaves', type: 'query', calls: 2 }] }],
  websockets: [
    { url: 'wss://shop.test/ws', protocol_guess: 'json', confidence: 'high', evidence: ['r1'], frames_sent: 1, frames_received: 9 },
  ],
  event_streams: [],
};

/** The same report with this text in place of each of its texts; what the contract's enumerations allow stays. */
export function reportWithText(text: string): ReportView {
  const enumerated =
    /^(?:status|type|in|source|storage|format|purpose|same_site|recommended_mode|level|rel|by|as|data_base64|content_type|initiator)$/;
  const replaced = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return enumerated.test(key) ? value : text;
    if (Array.isArray(value)) return value.map((item) => replaced(item, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaced(item, name)]));
  };
  return replaced(sampleReport(), '') as ReportView;
}
