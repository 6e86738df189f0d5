/** The request body of session creation. */
import { z } from 'zod';
import { boundedList, boundedRecord, boundedString } from '../bounds.ts';
import { captchaProviders } from './captcha.ts';
import { BrowsableUrl, Locale, Timezone, connectionHeaders } from '../fields.ts';
import { ProfileRequest } from './profiles.ts';
import { StorageStateRequest } from './storage-state.ts';

export const resourceTypes = ['image', 'media', 'font', 'stylesheet', 'websocket'] as const;

/** `example.com` or `*.example.com`, lower case, in ASCII form. */
/** Names of hosts are the same in any case. */
export const DomainPattern = boundedString(1, 253)
  .regex(/^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/)
  .toLowerCase()
  .meta({ examples: ['example.com', '*.example.com'] });

/** `http://`, `https://` or `socks5://`, with host and port, optionally with credentials. */
export const ProxyServer = boundedString(0, 2048)
  .refine((text) => URL.canParse(text), { error: 'Input should be a valid URL', abort: true, params: { type: 'url_parsing' } })
  .refine((text) => /^(https?|socks5):\/\/\S+$/.test(text), {
    error: "URL scheme should be 'http', 'https' or 'socks5'",
    params: { type: 'url_scheme', ctx: { expected_schemes: "'http', 'https' or 'socks5'" } },
  })
  .meta({ format: 'uri', examples: ['http://proxy.example:3128', 'socks5://proxy.example:1080'] });

/** How traffic leaves: directly, or through proxies of a type. */
export const egressTypes = ['direct', 'managed', 'rotating', 'external'] as const;
export type EgressType = (typeof egressTypes)[number];

export const ProxyRequest = z
  .strictObject({
    type: z
      .enum(['none', 'managed', 'rotating', 'external'])
      .describe(
        'Type of proxy. `none`: direct connection, only in the region of the worker. `managed`: the region’s own proxies. `rotating`: a list of proxies ' +
          'through which `rotate-ip` moves. `external`: your own proxy, given in `server`.',
      ),
    server: ProxyServer.optional().describe(
      'Proxy address for `type: external`: `http://`, `https://` or `socks5://`, with host and port. Required for that type.',
    ),
    username: boundedString(0, 256).optional().describe('User name for the proxy, at most 256 characters.'),
    password: boundedString(0, 1024).optional().describe('Password for the proxy, at most 1024 characters. Never returned.'),
    servers: boundedList(ProxyServer, 50)
      .min(1)
      .optional()
      .describe('For `type: rotating`: 1 to 50 proxy addresses of your own, each optionally with credentials. Default: the region’s list.'),
    country: boundedString(2, 2)
      .regex(/^[A-Z]{2}$/)
      .optional()
      .describe('Use only the region’s proxies in this country, ISO 3166-1 alpha-2. Default: any country.'),
    rotate: z
      .enum(['on_request', 'every_connection'])
      .default('on_request')
      .describe(
        'For `type: rotating`: when the next proxy is used. `on_request`: after a call to `rotate-ip`. ' +
          '`every_connection`: for each new connection. Default: `on_request`.',
      ),
    bypass: boundedList(DomainPattern, 50)
      .default([])
      .describe('Up to 50 hosts that are reached without the proxy, such as `example.com` or `*.example.com`. Default: none.'),
  })
  .check((context) => {
    const { type, server, servers } = context.value;
    const addIssue = (field: string, message: string) =>
      context.issues.push({ code: 'custom', message, path: [field], input: context.value, params: { type: 'value_error' } });
    if (type === 'external' && !server)
      context.issues.push({
        code: 'custom',
        message: 'Field required',
        path: ['server'],
        input: context.value,
        params: { type: 'missing' },
      });
    if (type !== 'external' && server) addIssue('server', '`server` requires the proxy type `external`');
    if (type !== 'rotating' && servers) addIssue('servers', '`servers` requires the proxy type `rotating`');
  })
  .meta({ id: 'ProxyRequest' });
export type ProxyRequest = z.infer<typeof ProxyRequest>;

export const Viewport = z
  .strictObject({
    width: z.int().min(320).max(3840).describe('Width in CSS pixels, 320 to 3840.'),
    height: z.int().min(240).max(2160).describe('Height in CSS pixels, 240 to 2160.'),
    device_scale_factor: z.number().min(0.5).max(4).default(1).describe('Physical pixels per CSS pixel, 0.5 to 4. Default: 1.'),
  })
  .meta({ id: 'Viewport' });
export type Viewport = z.infer<typeof Viewport>;

const HeaderName = boundedString(1, 128)
  .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
  .refine((name) => !connectionHeaders.has(name.toLowerCase()), {
    error: 'This header is set by the connection and cannot be changed',
    params: { type: 'header_not_allowed' },
  });
const HeaderValue = boundedString(0, 4096).regex(/^[\t\x20-\x7e\x80-\xff]*$/);

export const HeaderMap = boundedRecord(HeaderName, HeaderValue, 20).check(({ value, issues }) => {
  for (const [name, referer] of Object.entries(value))
    if (name.toLowerCase() === 'referer' && referer !== '' && !isWebUrl(referer))
      issues.push({
        code: 'custom',
        message: 'The Referer must be an absolute http or https URL',
        path: [name],
        input: referer,
        params: { type: 'value_error' },
      });
});

const isWebUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

export const sessionNameMax = 64;
export const SessionName = boundedString(1, sessionNameMax);
export const Metadata = boundedRecord(boundedString(1, 64), boundedString(0, 512), 50).meta({ examples: [{ job: 'prices' }] });

/** Bounds of the timeouts. The maximum of the owner's plan is checked later. */
export const timerBounds = { timeoutSeconds: { min: 30, max: 86_400 }, idleTimeoutSeconds: { min: 10 } } as const;
export const TimeoutSeconds = z.int().min(timerBounds.timeoutSeconds.min).max(timerBounds.timeoutSeconds.max);
export const IdleTimeoutSeconds = z.int().min(timerBounds.idleTimeoutSeconds.min).max(timerBounds.timeoutSeconds.max);

export const CaptchaRequest = z
  .strictObject({
    mode: z
      .enum(['detect', 'solve'])
      .default('detect')
      .describe(
        'What to do about captchas. `detect`: report them. `solve`: also solve them with a provider that the operator ' +
          'has configured. Default: `detect`.',
      ),
    provider: z
      .enum(captchaProviders)
      .optional()
      .describe(
        'Who solves captchas: `http`, the operator’s solver endpoint, or `human`, a person in the live view. Default: ' +
          'all configured providers, `http` first.',
      ),
  })
  .meta({ id: 'CaptchaRequest' });
export type CaptchaRequest = z.infer<typeof CaptchaRequest>;

export const sessionKinds = ['headless', 'full_browser'] as const;
export const SessionKind = z.enum(sessionKinds);
export type SessionKind = z.infer<typeof SessionKind>;

export const CreateSessionRequest = z
  .strictObject({
    kind: SessionKind.default('headless').describe(
      'Kind of browser. `full_browser` has windows on a display, which `vnc-token` gives access to. Default: `headless`.',
    ),
    region: boundedString(0, 64)
      .optional()
      .describe(
        'Region code from `GET /v1/regions`, from which the session’s traffic leaves. Default: the region of the worker ' +
          'that receives the request.',
      ),
    timeout_seconds: TimeoutSeconds.optional().describe(
      'Maximum lifetime in seconds, 30 to 86400. The plan may set a lower maximum. Default: 900, or the plan’s maximum if that is less.',
    ),
    idle_timeout_seconds: IdleTimeoutSeconds.optional().describe(
      'Seconds after which the session ends if nothing calls it and no DevTools client is connected: 10 to 86400, and at ' +
        'most `timeout_seconds`. Default: 300, or `timeout_seconds` if that is less.',
    ),
    keep_alive: z
      .boolean()
      .default(true)
      .describe('Whether the session continues after its last DevTools client disconnects. Default: `true`.'),
    start_url: BrowsableUrl.nullable()
      .default(null)
      .describe(
        'URL to open before the session is ready, `http`, `https` or `about:blank`. If it fails, the session starts ' +
          'anyway and reports the failure in `start_navigation`. Default: null, an empty page.',
      ),
    viewport: Viewport.default({ width: 1280, height: 720, device_scale_factor: 1 }).describe(
      'Size of the page area. Default: 1280 × 720 at scale 1.',
    ),
    user_agent: boundedString(1, 1024)
      .regex(/^[\x20-\x7e]+$/)
      .nullable()
      .default(null)
      .describe('User agent to send, 1 to 1024 printable ASCII characters. Default: null, the browser’s own.'),
    locale: Locale.nullable()
      .default(null)
      .describe('BCP 47 language tag for the browser, such as `en-GB`. Default: null, the browser’s default.'),
    timezone: Timezone.nullable()
      .default(null)
      .describe('IANA time zone for the browser, such as `Europe/Berlin`. Default: null, the browser’s default.'),
    extra_headers: HeaderMap.default({}).describe(
      'Up to 20 HTTP headers to send with every request of every page; `Referer` with navigations only. Default: none.',
    ),
    proxy: ProxyRequest.nullable()
      .default(null)
      .describe(
        'Proxy for the session’s traffic. Default: null, the region’s egress: directly from the worker if it is in the ' +
          'region, else through one of the region’s managed proxies.',
      ),
    block_ads: z
      .boolean()
      .default(false)
      .describe('Whether to refuse connections to known advertising and tracking hosts. Default: `false`.'),
    block_resources: boundedList(z.enum(resourceTypes), resourceTypes.length)
      .default([])
      .describe('Types of resources that pages do not load. Default: none.'),
    allowed_domains: boundedList(DomainPattern, 50)
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'The only hosts that pages and their resources may reach: 1 to 50 patterns such as `example.com` or ' +
          '`*.example.com`, in any case. Default: null, no restriction.',
      ),
    accept_downloads: z.boolean().default(true).describe('Whether pages may download files. Default: `true`.'),
    ignore_https_errors: z.boolean().default(false).describe('Whether to load pages with invalid TLS certificates. Default: `false`.'),
    storage_state: StorageStateRequest.nullable()
      .default(null)
      .describe(
        'Cookies and local storage to restore before the first page loads, in Playwright’s format, at most 4 MiB. ' +
          'Default: null, none.',
      ),
    profile: ProfileRequest.nullable()
      .default(null)
      .describe(
        'Profile whose cookies and storage the session starts with, and which it may save at its end. Excludes `storage_state`. ' +
          'Default: null, none.',
      ),
    captcha: CaptchaRequest.prefault({}).describe('How the session handles captchas.'),
    har: z.boolean().default(false).describe('Whether to record network traffic from the start, for `GET …/har`. Default: `false`.'),
    record: z
      .boolean()
      .default(false)
      .describe('Whether to record a video and a timeline of events, for `GET …/recordings`. Default: `false`.'),
    name: SessionName.nullable()
      .default(null)
      .describe('Name of the session, 1 to 64 characters, unique among your live sessions. Default: null, no name.'),
    metadata: Metadata.default({}).describe(
      'Up to 50 key-value pairs of your own: keys of 1 to 64 characters, values of at most 512. Default: none.',
    ),
  })
  .check((context) => {
    const { timeout_seconds: timeout, idle_timeout_seconds: idle } = context.value;
    if (idle !== undefined && timeout !== undefined && idle > timeout) context.issues.push(idleAboveTimeout(idle, timeout));
    if (context.value.profile !== null && context.value.storage_state !== null) context.issues.push(stateBesideProfile(context.value));
  })
  .meta({ id: 'CreateSessionRequest' });
export type CreateSessionRequest = z.infer<typeof CreateSessionRequest>;

/** Which of the two wins for a cookie that both have would be a guess. */
const stateBesideProfile = (input: object): z.core.$ZodRawIssue => ({
  code: 'custom',
  message: 'The cookies and storage are those of the profile. Omit one of the two',
  path: ['storage_state'],
  input,
  params: { type: 'value_error' },
});

function idleAboveTimeout(idle: number, timeout: number): z.core.$ZodRawIssue {
  return {
    code: 'custom',
    message: `Input should be less than or equal to ${timeout}`,
    path: ['idle_timeout_seconds'],
    input: idle,
    params: { type: 'less_than_equal', ctx: { le: timeout } },
  };
}
