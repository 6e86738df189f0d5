/**
 * The protocol between the service and the agent in a virtual machine.
 *
 * There are two virtio-serial ports, each carrying HTTP/2. On `berth.control`
 * the service sends requests to the agent. On `berth.egress` the agent opens one
 * CONNECT stream for each connection of the browser, and the service connects it.
 * The agent makes no decisions. Its messages may come from an attacker who
 * controls the machine, so the service bounds all of them.
 *
 * Images outlive service versions: each change of this protocol increments its
 * version, and the service rejects an agent of another version.
 */
import { z } from 'zod';

export const guestProtocol = 1;

export const guestPorts = { control: 'berth.control', egress: 'berth.egress' } as const;

/** Paths in the image that the agent uses. */
export const guestPaths = { downloads: '/downloads', uploads: '/uploads', display: '/run/display', home: '/home/browser' } as const;

/**
 * Requests of the control port. Streams are bidirectional until either side ends
 * them; all others return JSON or nothing, or `{ error }` with a status of 400,
 * 404, 409, 413 or 500. Names in paths are percent-encoded.
 */
export const guestRequests = {
  /** → GuestHello. The first request to an agent. */
  hello: { method: 'GET', path: '/hello' },
  /** StartBrowser → StartBrowserResult, after the first DevTools response. Once per machine. */
  start: { method: 'POST', path: '/browser' },
  /** → QuietResult. Loads a page, closes it and waits until the machine is idle, so that a template can be taken. */
  waitForQuiet: { method: 'POST', path: '/settle' },
  /** Identity → IdentityResult. Sets entropy, time and names before an owner uses the machine, and opens the egress connection. */
  identify: { method: 'POST', path: '/identity' },
  /** A stream: the DevTools pipe of the browser, one at a time. The browser ends with it. */
  devtools: { method: 'POST', path: '/devtools' },
  /** A stream: RFB of the display, any number at a time. 409 without a display. */
  vnc: { method: 'POST', path: '/vnc' },
  /** PageSize → 204 when the display is large enough for the page. 409 without a display. */
  display: { method: 'POST', path: '/display' },
  /** PUT /uploads/{id}/{name}, raw bytes → UploadResult. */
  uploads: { method: 'PUT', path: '/uploads' },
  /** GET /downloads/{name} → raw bytes with their length; 404. */
  downloads: { method: 'GET', path: '/downloads' },
  /** → GuestStats */
  stats: { method: 'GET', path: '/stats' },
  /** → BrowserExitResult. The response is sent when the browser exits. */
  exit: { method: 'GET', path: '/exit' },
} as const;

/** `browser`: the product that was started; empty before. */
export const GuestHello = z.object({ protocol: z.number().int(), browser: z.string().max(200) });
export type GuestHello = z.infer<typeof GuestHello>;

export const StartBrowser = z.object({ kind: z.enum(['headless', 'full_browser']) });
export type StartBrowser = z.infer<typeof StartBrowser>;

export const StartBrowserResult = z.object({ product: z.string().max(200) });
export type StartBrowserResult = z.infer<typeof StartBrowserResult>;

export const QuietResult = z.object({ quiet: z.boolean(), renderers: z.number().int().min(0).max(10_000) });
export type QuietResult = z.infer<typeof QuietResult>;

/**
 * `time_ms`: Unix time of the host in milliseconds. `entropy`: 64 random bytes in
 * base64, for the kernel's generator. `boot_id` replaces that of the template.
 */
export const Identity = z.object({
  entropy: z.string().length(88),
  time_ms: z.number().int().positive(),
  machine_id: z.string().regex(/^[0-9a-f]{32}$/),
  boot_id: z.uuid(),
  hostname: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
});
export type Identity = z.infer<typeof Identity>;

export const IdentityResult = z.object({ time_ms: z.number().int(), machine_id: z.string().max(64), boot_id: z.string().max(64) });
export type IdentityResult = z.infer<typeof IdentityResult>;

export const PageSize = z.object({ width: z.number().int().min(1).max(10_000), height: z.number().int().min(1).max(10_000) });
export type PageSize = z.infer<typeof PageSize>;

export const UploadResult = z.object({ path: z.string().max(4096) });
export type UploadResult = z.infer<typeof UploadResult>;

export const GuestStats = z.object({
  processes: z.number().int().min(0).max(1_000_000),
  memory_total_bytes: z.number().int().min(0),
  memory_available_bytes: z.number().int().min(0),
  cpu_seconds: z.number().min(0),
});
export type GuestStats = z.infer<typeof GuestStats>;

/** `log`: the last lines of the browser's output. */
export const BrowserExitResult = z.object({
  code: z.number().int().nullable(),
  signal: z.string().max(16).nullable(),
  out_of_memory: z.boolean(),
  log: z.string().max(16_384),
});
export type BrowserExitResult = z.infer<typeof BrowserExitResult>;
