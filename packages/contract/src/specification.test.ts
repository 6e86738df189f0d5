/** The contract against the specification of the API: paths, credentials, success statuses and names of components. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { apiVersion, createOpenApiDocument, endpoints, type Auth, type Endpoint } from './contract.ts';

interface Operation {
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}
interface Schema {
  $ref?: string;
  type?: string;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: string[];
}

const document = createOpenApiDocument({ endpoints, version: apiVersion }) as unknown as {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};
const { schemas } = document.components;

type Row = [request: string, auth: Auth, status: number, response?: string | [string], body?: string];

/** The tables of endpoints. A list stands for an array. */
const specified: Row[] = [
  ['POST /v1/session', 'bearer', 201, 'SessionResponse', 'CreateSessionRequest'],
  ['GET /v1/session/{session_id}', 'bearer', 200, 'SessionResponse'],
  ['DELETE /v1/session/{session_id}', 'bearer', 204],
  ['GET /v1/sessions', 'bearer', 200, ['SessionResponse']],
  ['POST /v1/session/{session_id}/navigate', 'bearer', 200, 'NavigateResponse', 'NavigateRequest'],
  ['POST /v1/session/{session_id}/rotate-ip', 'bearer', 200, 'RotateIpResponse'],
  ['GET /v1/session/{session_id}/tabs', 'bearer', 200, ['TabResponse']],
  ['POST /v1/session/{session_id}/tabs', 'bearer', 201, 'TabResponse', 'OpenTabRequest'],
  ['DELETE /v1/session/{session_id}/tabs/{tab_id}', 'bearer', 204],
  ['GET /v1/session/{session_id}/connect', 'bearer', 200, 'ConnectResponse'],
  ['POST /v1/fetch', 'bearer', 200, 'FetchResponse', 'FetchRequest'],
  ['GET /v1/fetch/job/{job_id}', 'bearer', 200, 'FetchResponse'],
  ['POST /v1/inspect', 'bearer', 200, 'InspectResponse', 'InspectRequest'],
  ['GET /v1/job/{job_id}', 'bearer', 200, 'JobResponse'],
  ['POST /v1/agent', 'bearer', 200, 'AgentResponse', 'AgentRequest'],
  ['GET /v1/agent/tasks', 'bearer', 200, ['AgentTaskResponse']],
  ['POST /v1/template', 'bearer', 200, 'TemplateResponse', 'TemplateRequest'],
  ['GET /v1/templates', 'bearer', 200, ['TemplateItemResponse']],
  ['GET /v1/regions', 'bearer', 200, 'RegionsResponse'],
  ['GET /v1/usage', 'bearer', 200, 'UsageResponse'],
  ['GET /v1/credits', 'bearer', 200, 'CreditsResponse'],
  ['POST /v1/credits/redeem', 'bearer', 200, 'CreditRedeemResponse', 'RedeemRequest'],
  ['POST /v1/session/{session_id}/view-token', 'bearer', 200, 'ViewTokenResponse', 'ViewTokenRequest'],
  ['GET /v1/session/{session_id}/live-view', 'view', 200],
  ['GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path}', 'recording', 200],
  ['POST /v1/session/{session_id}/vnc-token', 'bearer', 200, 'VncTokenResponse', 'VncTokenRequest'],
  ['GET /v1/session/{session_id}/vnc/{path}', 'vnc', 200],
  ['GET /v1/keys', 'login', 200, ['KeyResponse']],
  ['POST /v1/keys', 'login', 200, 'CreatedKeyResponse', 'CreateOwnKeyRequest'],
  ['DELETE /v1/keys/{key_id}', 'login', 200, 'RevokedKeyResponse'],
  ['POST /v1/billing/redeem', 'login', 200, 'PromoRedeemResponse', 'RedeemPromoRequest'],
  ['POST /v1/billing/checkout', 'login', 200, 'CheckoutResponse', 'CheckoutRequest'],
  ['POST /v1/billing/portal', 'login', 200, 'PortalResponse', 'PortalRequest'],
  ['POST /v1/billing-provider/webhook', 'none', 200, 'WebhookResponse'],
  ['GET /health', 'none', 200, 'HealthResponse'],
  ['GET /livez', 'none', 200],
  ['GET /metrics', 'metrics', 200],
  ['GET /dashboard', 'none', 200],
  ['GET /dashboard/config.json', 'none', 200, 'DashboardConfigResponse'],
  ['GET /admin/overview', 'admin', 200, 'OverviewResponse'],
  ['GET /admin/economics', 'admin', 200, 'EconomicsResponse'],
  ['GET /admin/pool', 'admin', 200, 'PoolResponse'],
  ['POST /admin/pool', 'admin', 200, 'PoolResponse', 'PoolTargetRequest'],
  ['GET /admin/keys', 'admin', 200, ['KeyResponse']],
  ['POST /admin/keys', 'admin', 201, 'CreatedKeyResponse', 'CreateKeyRequest'],
  ['DELETE /admin/keys/{key_id}', 'admin', 204],
  ['GET /admin/sessions', 'admin', 200, ['AdminSessionResponse']],
  ['DELETE /admin/sessions/{session_id}', 'admin', 204],
  ['GET /admin/blocks', 'admin', 200, ['BlockEventResponse']],
  ['GET /admin/health', 'admin', 200, ['SiteHealthResponse']],
  ['GET /admin/health/{domain}', 'admin', 200, 'SiteHealthResponse'],
  ['GET /admin/strategies', 'admin', 200, 'StrategiesResponse'],
  ['GET /admin/selfheal/overview', 'admin', 200, 'SelfHealOverviewResponse'],
  ['GET /v1/skills', 'bearer', 200, ['SkillResponse']],
  ['POST /v1/admin/credits', 'admin', 200, 'CreditGrantResponse', 'GrantRequest'],
];

/** A schema as it reads with what it refers to and extends. */
function resolved(schema: Schema | undefined): Schema {
  const { allOf = [], ...own } = schema?.$ref === undefined ? (schema ?? {}) : (schemas[nameOf(schema) ?? ''] ?? {});
  const bases = allOf.map(resolved);
  return {
    ...own,
    properties: Object.assign({}, ...bases.map(({ properties }) => properties), own.properties) as Record<string, Schema>,
    required: [...bases.flatMap(({ required = [] }) => required), ...(own.required ?? [])],
  };
}
const propertiesOf = (component: string): Record<string, Schema> => resolved(schemas[component]).properties ?? {};

const nameOf = (schema: Schema | undefined): string | undefined => schema?.$ref?.replace('#/components/schemas/', '');
const operationOf = ({ method, path }: Endpoint): Operation => {
  const operation = document.paths[path]?.[method.toLowerCase()];
  assert.ok(operation, `${method} ${path}`);
  return operation;
};
const responseOf = (endpoint: Endpoint): Schema | undefined =>
  operationOf(endpoint).responses[endpoint.status]?.content?.['application/json']?.schema;
const find = (request: string): Endpoint | undefined => endpoints.find(({ method, path }) => `${method} ${path}` === request);

describe('the contract', () => {
  for (const [request, auth, status, response, body] of specified)
    it(`the contract has ${request} as the specification says`, () => {
      const endpoint = find(request);
      assert.ok(endpoint);
      assert.deepEqual([endpoint.auth, endpoint.status], [auth, status]);
      const schema = responseOf(endpoint);
      if (Array.isArray(response)) assert.deepEqual([schema?.type, nameOf(schema?.items)], ['array', response[0]]);
      else if (response !== undefined) assert.equal(nameOf(schema), response);
      if (body !== undefined) assert.equal(nameOf(operationOf(endpoint).requestBody?.content['application/json']?.schema), body);
    });

  it('the contract names the component of each response after it', () => {
    const names = endpoints.flatMap((endpoint) => {
      const schema = responseOf(endpoint);
      return nameOf(schema) ?? nameOf(schema?.items) ?? [];
    });
    // Playwright's own name, of a document that is also a request.
    assert.deepEqual(
      [...new Set(names)].filter((name) => !name.endsWith('Response') && name !== 'StorageState'),
      [],
    );
  });

  it('the contract has the version of the specification', () => {
    assert.equal(document.info.version, '0.1.0');
  });
});

describe('a response', () => {
  const fields: [component: string, Record<string, string>][] = [
    ['NavigateResponse', { session_id: 'string', final_url: 'string', title: 'string', status: 'string' }],
    ['RotateIpResponse', { session_id: 'string', rotated: 'boolean', note: 'string' }],
    [
      'UsageResponse',
      {
        tier: 'string',
        month: 'string',
        usage: 'object',
        limits: 'object',
        remaining: 'object',
        concurrency_limit: 'integer',
        premium_egress: 'boolean',
        overage_allowed: 'boolean',
        enforced: 'boolean',
      },
    ],
    ['CreditsResponse', { owner: 'string', balance: 'number', enforced: 'boolean', cost: 'object' }],
    ['CreditRedeemResponse', { ok: 'boolean', granted: 'number', balance: 'number' }],
    ['ValidationIssue', { loc: 'array', msg: 'string', type: 'string', ctx: 'object' }],
  ];
  for (const [component, expected] of fields)
    it(`the response ${component} has the fields and types of the specification`, () => {
      const { properties = {}, required = [] } = schemas[component] ?? {};
      assert.deepEqual(
        Object.keys(expected).map((name) => [name, resolved(properties[name]).type, required.includes(name)]),
        Object.entries(expected).map(([name, type]) => [name, type, true]),
      );
    });

  it('the response of a session has each field from the start, also that of a planned feature', () => {
    const names =
      'session_id object status ended_reason kind region name metadata created_at started_at last_activity_at expires_at ended_at ' +
      'timeout_seconds idle_timeout_seconds keep_alive current_url title viewport user_agent locale timezone connect_url live_view_url ' +
      'cdp_url proxy egress profile tabs connections recording usage isolation runtime start_navigation warm';
    const { required = [] } = schemas['SessionResponse'] ?? {};
    assert.deepEqual(
      names.split(' ').filter((name) => !required.includes(name)),
      [],
    );
  });

  it('the response of usage has its axes, of which sessions are unlimited', () => {
    const { usage, limits, remaining } = propertiesOf('UsageResponse');
    const axes = ['actions', 'egress_bytes', 'browser_seconds', 'captcha_solves'];
    assert.deepEqual(Object.keys(usage?.properties ?? {}).toSorted(), [...axes, 'sessions'].toSorted());
    for (const part of [limits, remaining]) assert.deepEqual(Object.keys(resolved(part).properties ?? {}).toSorted(), axes.toSorted());
  });

  it('the responses of jobs have the statuses of the specification', () => {
    for (const component of ['JobResponse', 'FetchResponse'])
      assert.deepEqual(propertiesOf(component)['status']?.enum, ['pending', 'ok', 'blocked', 'error']);
  });

  it('the responses for operators have what they read about strategies, flows and skills', () => {
    const strategy = schemas['StrategiesResponse']?.properties?.['strategies']?.items;
    assert.ok(strategy?.required?.includes('avg_cost_credits'));
    const { selector_heals: heals, skills } = schemas['SelfHealOverviewResponse']?.properties ?? {};
    assert.deepEqual(
      [heals, skills].map((part) => Object.keys(part?.properties ?? {})),
      [
        ['verified', 'unverified', 'failed'],
        ['active', 'quarantined'],
      ],
    );
  });
});

describe('a query', () => {
  it('a query of block events takes any type, and its limit has the bounds of the specification', () => {
    const query = find('GET /admin/blocks')?.query;
    assert.ok(query);
    assert.deepEqual(query.parse({ type: 'no-such-type', since: '1.5' }), { type: 'no-such-type', since: 1.5, limit: 100 });
    assert.equal(z.object({ limit: z.int() }).parse(query.parse({ limit: '1000' })).limit, 1000);
    for (const limit of ['0', '1001']) assert.equal(query.safeParse({ limit }).success, false);
  });

  it('a query of keys is paged', () => {
    for (const request of ['GET /v1/keys', 'GET /admin/keys'])
      assert.deepEqual(find(request)?.query?.parse({ limit: '2', cursor: 'x' }), { limit: 2, cursor: 'x' });
  });
});

describe('the body of a create', () => {
  it('the body of a create has room for a storage state of four megabytes', () => {
    assert.ok((find('POST /v1/session')?.bodyLimitBytes ?? 0) > 4 * 1024 * 1024);
  });
});
