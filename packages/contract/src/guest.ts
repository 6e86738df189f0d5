/**
 * What the service and the agent in a virtual machine say to each other.
 *
 * Two ports of virtio-serial, each carrying HTTP/2. On `berth.control` the
 * service asks and the agent answers; on `berth.egress` the agent opens one
 * CONNECT stream for each connection of the browser, and the service carries
 * it out. The agent is told everything and decides nothing; whatever it says
 * may be said by whoever has taken over the machine, so the service bounds it.
 *
 * Images outlive services: a change of what is said here is a new version, and
 * the service refuses an agent that speaks another.
 */
import { z } from 'zod';

export const guestProtocol = 1;

export const guestPorts = { control: 'berth.control', egress: 'berth.egress' } as const;

/** Where an image has what, as the agent finds it. */
export const guestPaths = { downloads: '/downloads', uploads: '/uploads', display: '/run/display', home: '/home/browser' } as const;

/**
 * Requests of the control port. Streams go both ways until either side ends
 * them; all others answer JSON or nothing, and `{ error }` with a status of 400,
 * 404, 409, 413 or 500 where they fail. Names in paths are percent-encoded.
 */
export const guestRequests = {
  /** → GuestHello. The first thing that is asked of an agent. */
  hello: { method: 'GET', path: '/hello' },
  /** StartBrowser → BrowserStarted, when its first DevTools answer is there. Once for each machine. */
  start: { method: 'POST', path: '/browser' },
  /** → Settled, when the browser has had a page, nothing is left of that, and the machine has used next to no processor for a moment; a template is taken then. */
  settle: { method: 'POST', path: '/settle' },
  /** Identity → IdentityTaken. Before an owner touches the machine: fresh randomness, the time, names; opens the egress connection. */
  identify: { method: 'POST', path: '/identity' },
  /** A stream: the browser's DevTools pipe, one at a time. Its end ends the browser. */
  devtools: { method: 'POST', path: '/devtools' },
  /** A stream: RFB of the display, as many as are asked for. 409 where there is none. */
  vnc: { method: 'POST', path: '/vnc' },
  /** PageSize → 204 when the display has room for such a page. 409 where there is none. */
  display: { method: 'POST', path: '/display' },
  /** PUT /uploads/{id}/{name}, the bytes as they are → Uploaded. */
  uploads: { method: 'PUT', path: '/uploads' },
  /** GET /downloads/{name} → the bytes, with their length; 404. DELETE likewise, always 204. */
  downloads: { method: 'GET', path: '/downloads' },
  /** → GuestStats */
  stats: { method: 'GET', path: '/stats' },
  /** → BrowserExited, when the browser is no more: the answer waits for that. */
  exit: { method: 'GET', path: '/exit' },
} as const;

/** `browser`: the product that has been started, empty before. */
export const GuestHello = z.object({ protocol: z.number().int(), browser: z.string().max(200) });
export type GuestHello = z.infer<typeof GuestHello>;

export const StartBrowser = z.object({ kind: z.enum(['headless', 'full_browser']) });
export type StartBrowser = z.infer<typeof StartBrowser>;

export const BrowserStarted = z.object({ product: z.string().max(200) });
export type BrowserStarted = z.infer<typeof BrowserStarted>;

export const Settled = z.object({ quiet: z.boolean(), renderers: z.number().int().min(0).max(10_000) });
export type Settled = z.infer<typeof Settled>;

/** `time_ms`: the host's clock, since 1970. `entropy`: 64 random bytes in base64, for the kernel's generator. `boot_id` stands where the kernel would tell the template's own. */
export const Identity = z.object({
  entropy: z.string().length(88),
  time_ms: z.number().int().positive(),
  machine_id: z.string().regex(/^[0-9a-f]{32}$/),
  boot_id: z.uuid(),
  hostname: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
});
export type Identity = z.infer<typeof Identity>;

export const IdentityTaken = z.object({ time_ms: z.number().int(), machine_id: z.string().max(64), boot_id: z.string().max(64) });
export type IdentityTaken = z.infer<typeof IdentityTaken>;

export const PageSize = z.object({ width: z.number().int().min(1).max(10_000), height: z.number().int().min(1).max(10_000) });
export type PageSize = z.infer<typeof PageSize>;

export const Uploaded = z.object({ path: z.string().max(4096) });
export type Uploaded = z.infer<typeof Uploaded>;

export const GuestStats = z.object({
  processes: z.number().int().min(0).max(1_000_000),
  memory_total_bytes: z.number().int().min(0),
  memory_available_bytes: z.number().int().min(0),
  cpu_seconds: z.number().min(0),
});
export type GuestStats = z.infer<typeof GuestStats>;

/** `log`: the last lines that the browser printed. */
export const BrowserExited = z.object({
  code: z.number().int().nullable(),
  signal: z.string().max(16).nullable(),
  out_of_memory: z.boolean(),
  log: z.string().max(16_384),
});
export type BrowserExited = z.infer<typeof BrowserExited>;
