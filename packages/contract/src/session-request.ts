/** What a session is asked for: the body of its creation, field by field. */
import { z } from 'zod';
import { captchaProviders } from './captcha.ts';
import { BrowsableUrl, Locale, Timezone } from './fields.ts';
import { StorageState } from './storage-state.ts';

export const resourceTypes = ['image', 'media', 'font', 'stylesheet', 'websocket'] as const;

/** `example.com` or `*.example.com`, lower case, in ASCII form. */
export const DomainPattern = z
  .string()
  .min(1)
  .max(253)
  .regex(/^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/)
  .meta({ examples: ['example.com', '*.example.com'] });

/** `http://`, `https://` or `socks5://`, host and port; a list may carry credentials in each address. */
export const ProxyServer = z
  .string()
  .max(2048)
  .regex(/^(https?|socks5):\/\/\S+$/)
  .refine((text) => URL.canParse(text), { error: 'Input should be a valid URL', params: { type: 'url_parsing' } })
  .meta({ examples: ['http://proxy.example:3128', 'socks5://proxy.example:1080'] });

export const ProxyRequest = z
  .strictObject({
    type: z.enum(['none', 'managed', 'rotating', 'external']).meta({
      description:
        '`none`: direct. `managed`: the region’s own proxies. `rotating`: a list that `rotate-ip` moves through. `external`: `server`.',
    }),
    server: ProxyServer.optional().meta({ description: 'For `external`.' }),
    username: z.string().max(256).optional(),
    password: z.string().max(1024).optional(),
    servers: z
      .array(ProxyServer)
      .min(1)
      .max(50)
      .optional()
      .meta({ description: 'For `rotating`: a list of your own instead of the region’s.' }),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/)
      .optional()
      .meta({ description: 'ISO 3166-1 alpha-2: only the region’s proxies of that country.' }),
    rotate: z
      .enum(['on_request', 'every_connection'])
      .default('on_request')
      .meta({ description: 'For `rotating`: when the next proxy is taken.' }),
    bypass: z.array(DomainPattern).max(50).default([]).meta({ description: 'Hosts that are reached directly.' }),
  })
  .check((context) => {
    const { type, server, servers } = context.value;
    const fault = (field: string, message: string) =>
      context.issues.push({ code: 'custom', message, path: [field], input: context.value, params: { type: 'value_error' } });
    if (type === 'external' && !server)
      context.issues.push({
        code: 'custom',
        message: 'Field required',
        path: ['server'],
        input: context.value,
        params: { type: 'missing' },
      });
    if (type !== 'external' && server) fault('server', 'A server belongs to the proxy type `external`');
    if (type !== 'rotating' && servers) fault('servers', 'A list of servers belongs to the proxy type `rotating`');
  })
  .meta({ id: 'ProxyRequest' });
export type ProxyRequest = z.infer<typeof ProxyRequest>;

export const Viewport = z
  .strictObject({
    width: z.int().min(320).max(3840),
    height: z.int().min(240).max(2160),
    device_scale_factor: z.number().min(0.5).max(4).default(1),
  })
  .meta({ id: 'Viewport' });
export type Viewport = z.infer<typeof Viewport>;

const HeaderName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
  .refine((name) => !hopByHop.has(name.toLowerCase()), {
    error: 'This header belongs to the connection and cannot be set',
    params: { type: 'header_not_allowed' },
  });
const hopByHop = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade host content-length expect'.split(
    ' ',
  ),
);
const HeaderValue = z
  .string()
  .max(4096)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/);

const limitEntries = (most: number) => (context: z.core.ParsePayload<Record<string, string>>) => {
  if (Object.keys(context.value).length > most)
    context.issues.push({
      code: 'custom',
      message: `Input should have at most ${most} entries`,
      input: context.value,
      params: { type: 'too_long', ctx: { max_length: most } },
    });
};

export const HeaderMap = z.record(HeaderName, HeaderValue).check(limitEntries(20));

export const SessionName = z.string().min(1).max(64);
export const Metadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .check(limitEntries(50))
  .meta({ examples: [{ job: 'prices' }] });

/** Bounds of the timers. The plan's own longest session is checked when the owner is known. */
export const timerBounds = { timeoutSeconds: { least: 30, most: 86_400 }, idleTimeoutSeconds: { least: 10 } } as const;
export const TimeoutSeconds = z.int().min(timerBounds.timeoutSeconds.least).max(timerBounds.timeoutSeconds.most);
export const IdleTimeoutSeconds = z.int().min(timerBounds.idleTimeoutSeconds.least).max(timerBounds.timeoutSeconds.most);

export const CaptchaRequest = z
  .strictObject({
    mode: z.enum(['detect', 'solve']).default('detect').meta({ description: '`solve` needs a provider that the operator has configured.' }),
    provider: z.enum(captchaProviders).optional(),
  })
  .meta({ id: 'CaptchaRequest' });
export type CaptchaRequest = z.infer<typeof CaptchaRequest>;

export const sessionKinds = ['headless', 'full_browser'] as const;
export const SessionKind = z.enum(sessionKinds);
export type SessionKind = z.infer<typeof SessionKind>;

export const CreateSessionRequest = z
  .strictObject({
    kind: SessionKind.default('headless').meta({
      description: '`full_browser`: a browser with windows on a display, which `vnc-token` shows whole.',
    }),
    region: z.string().max(64).optional().meta({ description: 'One of `GET /v1/regions`; the worker’s own when absent.' }),
    timeout_seconds: TimeoutSeconds.default(900).meta({
      description: 'The longest the session lives. The plan may allow less than 86400.',
    }),
    idle_timeout_seconds: IdleTimeoutSeconds.optional().meta({
      description:
        'How long without a drive call or DevTools traffic; at most `timeout_seconds`, 300 (or `timeout_seconds`, when that is less) when absent.',
    }),
    keep_alive: z.boolean().default(true).meta({ description: 'false: the session ends when its last DevTools client leaves.' }),
    start_url: BrowsableUrl.nullable()
      .default(null)
      .meta({ description: 'Best effort: a failure is told in `start_navigation`, the session starts all the same.' }),
    viewport: Viewport.default({ width: 1280, height: 720, device_scale_factor: 1 }),
    user_agent: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[\x20-\x7e]+$/)
      .nullable()
      .default(null),
    locale: Locale.nullable().default(null),
    timezone: Timezone.nullable().default(null),
    extra_headers: HeaderMap.default({}),
    proxy: ProxyRequest.nullable().default(null).meta({ description: 'null: the region’s own way out.' }),
    block_ads: z.boolean().default(false).meta({ description: 'Refuses connections to known advertising and tracking hosts.' }),
    block_resources: z.array(z.enum(resourceTypes)).max(resourceTypes.length).default([]),
    allowed_domains: z
      .array(DomainPattern)
      .min(1)
      .max(50)
      .nullable()
      .default(null)
      .meta({ description: 'The only hosts that pages and their sub-resources may reach.' }),
    accept_downloads: z.boolean().default(true),
    ignore_https_errors: z.boolean().default(false),
    storage_state: StorageState.nullable().default(null).meta({ description: 'Cookies and local storage, put in before the first page.' }),
    captcha: CaptchaRequest.prefault({}),
    har: z.boolean().default(false).meta({ description: 'Keeps a log of network traffic for `GET …/har`.' }),
    record: z.boolean().default(false).meta({ description: 'Keeps a video and a timeline of events, see `GET …/recordings`.' }),
    name: SessionName.nullable().default(null).meta({ description: 'Unique among the owner’s live sessions.' }),
    metadata: Metadata.default({}),
  })
  .check((context) => {
    const { timeout_seconds: timeout, idle_timeout_seconds: idle } = context.value;
    if (idle !== undefined && idle > timeout) context.issues.push(idleAboveTimeout(idle, timeout));
  })
  .meta({ id: 'CreateSessionRequest' });
export type CreateSessionRequest = z.infer<typeof CreateSessionRequest>;

function idleAboveTimeout(idle: number, timeout: number): z.core.$ZodRawIssue {
  return {
    code: 'custom',
    message: `Input should be less than or equal to ${timeout}`,
    path: ['idle_timeout_seconds'],
    input: idle,
    params: { type: 'less_than_equal', ctx: { le: timeout } },
  };
}
