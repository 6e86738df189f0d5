// Made from the contract by `npm run clients`. Do not edit.

import type { Call, EventOptions, Events, Pages, RequestOptions } from '../call.ts';
import type {
  ActionsResponse,
  AdminSessionResponse,
  AgentRequest,
  AgentResponse,
  AgentTaskResponse,
  AuditEntryResponse,
  BlockEventResponse,
  BlockHistoryResponse,
  BlockVendor,
  CaptchaStatusResponse,
  CdpProtocolReply,
  CdpTargetResponse,
  CdpVersionResponse,
  CheckoutRequest,
  CheckoutResponse,
  ComputerRequest,
  ComputerResponse,
  ConnectResponse,
  ConnectTokenResponse,
  ConsoleLineResponse,
  CreateConnectTokenRequest,
  CreateKeyRequest,
  CreateOwnKeyRequest,
  CreateSessionRequest,
  CreateSignInLinkRequest,
  CreatedConnectTokenResponse,
  CreatedKeyResponse,
  CreditCodesRequest,
  CreditCodesResponse,
  CreditEntryResponse,
  CreditGrantResponse,
  CreditRedeemResponse,
  CreditsResponse,
  DownloadResponse,
  DrainWorkerRequest,
  EconomicsResponse,
  FetchRequest,
  FetchResponse,
  Format,
  GetHarReply,
  GrantRequest,
  HealthResponse,
  InspectRequest,
  InspectResponse,
  JobItemResponse,
  JobResponse,
  KeyResponse,
  List,
  LivezReply,
  NavigateRequest,
  NavigateResponse,
  OpenTabRequest,
  OverviewResponse,
  OwnerItemResponse,
  OwnerResponse,
  PageContentResponse,
  PdfDocumentResponse,
  PdfRequest,
  PictureResponse,
  PinOwnerRequest,
  PlanResponse,
  PoolResponse,
  PoolTargetRequest,
  PortalRequest,
  PortalResponse,
  ProfileResponse,
  PromoCodesRequest,
  PromoCodesResponse,
  PromoRedeemResponse,
  RecordingResponse,
  RedeemPromoRequest,
  RedeemRequest,
  RegionsResponse,
  RevokedKeyResponse,
  RotateIpResponse,
  RotateKeyRequest,
  RotatedKeyResponse,
  RunActionsRequest,
  ScreenshotRequest,
  SelfHealOverviewResponse,
  SessionEventResponse,
  SessionResponse,
  SettingsResponse,
  SignInLinkResponse,
  SiteHealthResponse,
  SkillResponse,
  SnapshotResponse,
  StorageState,
  StrategiesResponse,
  TabResponse,
  TemplateItemResponse,
  TemplateRequest,
  TemplateResponse,
  UpdateOwnerRequest,
  UpdateSessionRequest,
  UploadRequest,
  UploadedFileResponse,
  UsageResponse,
  ViewTokenRequest,
  ViewTokenResponse,
  VncTokenRequest,
  VncTokenResponse,
  WorkerResponse,
  X,
} from './types.ts';

/** Options of “Create a session”. */
export interface CreateSessionQuery {
  /** Whether to wait until the browser is ready. `false` returns at once with `status: starting`. Default: `true`. */
  wait?: boolean | undefined;
}

/** Options of “List all sessions”. */
export interface ListAllSessionsQuery {
  /** Comma-separated list of statuses to include, such as `ready,ended`. Default: all statuses. */
  status?: string | undefined;
  /** Only sessions of this owner. */
  owner?: string | undefined;
  /** Only sessions of this purpose. Default: both. */
  purpose?: 'session' | 'fetch' | undefined;
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “List sessions”. */
export interface ListSessionsQuery {
  /** Comma-separated list of statuses to include, such as `ready,ended`. Default: all statuses. */
  status?: string | undefined;
  /** Only sessions of this purpose: `session`, or `fetch` for the machines that run your fetches. Default: `session`. */
  purpose?: 'session' | 'fetch' | undefined;
  /** Only sessions with exactly this name. */
  name?: string | undefined;
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
  /** Only those with these entries. */
  metadata?: Record<string, string> | undefined;
}

/** Options of “List profiles”. */
export interface ListProfilesQuery {
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “Get a snapshot”. */
export interface GetSnapshotQuery {
  /** `interactive`: what can be operated, with headings, landmarks and messages. `full`: also texts, lists, tables and images. Default: `interactive`. */
  mode?: 'interactive' | 'full' | undefined;
  /** Only what matches, with what is around it: a part of the role, name, value or row in any case, `"the whole text"`, or `/a regular expression/` with the flags `imsuv`. Default: everything. */
  find?: string | undefined;
  /** Cursor `left.after` of the snapshot before, to go on where it ended. Default: from the start. */
  after?: string | undefined;
  /** `snapshot_id` of one of the last four snapshots of the tab: only what has changed since. Default: everything. */
  since?: string | undefined;
  /** Reference or selector of the element to read: `e12`, CSS, or any selector of the step language. Default: the whole page. */
  scope?: string | undefined;
  /** Maximum size in tokens, 100 to 32000, as far as they can be estimated. Default: 4000. */
  max_tokens?: number | undefined;
  /** Format of the snapshot. Default: `text`. */
  format?: 'text' | 'json' | undefined;
  /** Whether to add the place of each element in the visible area. Default: `false`. */
  boxes?: boolean | undefined;
  /** Whether to add the URLs of links. Default: `false`. */
  urls?: boolean | undefined;
  /** Id of the tab to use. Default: the active tab. */
  tab_id?: string | undefined;
}

/** Options of “List console lines”. */
export interface GetConsoleQuery {
  /** Returns lines with a greater id only. Default: `0`, all of them. */
  after?: number | undefined;
}

/** Options of “Get page content”. */
export interface GetContentQuery {
  /** Format of the content. Default: `html`. */
  format?: 'html' | 'markdown' | 'text' | 'links' | undefined;
  /** Whether to return only the main content of the page, without navigation and footer. Default: `false`. */
  only_main_content?: boolean | undefined;
  /** Id of the tab to use. Default: the active tab. */
  tab_id?: string | undefined;
}

/** Options of “List skills”. */
export interface ListSkillsQuery {
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
  /** Only skills of this site. Default: of all sites. */
  domain?: string | undefined;
  /** Only skills of this flow or template. Default: of all. */
  task?: string | undefined;
}

/** Options of “Get a fetch job”. */
export interface GetFetchJobQuery {
  /** Seconds to wait for the job to finish before responding, 0 to 25. Default: 0. */
  wait_seconds?: number | undefined;
}

/** Options of “List templates”. */
export interface ListTemplatesQuery {
  /** Also returns the steps as a Recorder recording (`recorder`) or a Playwright test (`playwright`). Default: `steps`. */
  format?: 'steps' | 'recorder' | 'playwright' | undefined;
}

/** Options of “Get a job”. */
export interface GetJobQuery {
  /** Seconds to wait for the job to finish before responding, 0 to 25. Default: 0. */
  wait_seconds?: number | undefined;
}

/** Options of “List jobs”. */
export interface ListJobsQuery {
  /** Only jobs of this kind. Default: all. */
  kind?: 'fetch' | 'inspect' | 'agent' | 'template' | undefined;
  /** Comma-separated list of statuses to include, such as `pending,error`. Default: all. */
  status?: string | undefined;
  /** Only jobs created from this time on, in Unix seconds. */
  since?: number | undefined;
  /** Only jobs created before this time, in Unix seconds. */
  until?: number | undefined;
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “Get usage”. */
export interface GetUsageQuery {
  /** Number of days to report in `days`, 1 to 184, ending with today (UTC). Default: none. */
  days?: number | undefined;
}

/** Options of “List credit entries”. */
export interface ListCreditEntriesQuery {
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “List all API keys”. */
export interface ListKeysQuery {
  /** Only keys of this owner. */
  owner?: string | undefined;
  /** Only keys that end in these four characters. */
  last4?: string | undefined;
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “List API keys”. */
export interface ListOwnKeysQuery {
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “List owners”. */
export interface ListOwnersQuery {
  /** Only owners whose id contains this text. Upper and lower case are the same. */
  search?: string | undefined;
  /** Only owners of this plan, trials aside. */
  tier?: string | undefined;
  /** Only owners that are pinned to this worker. */
  pinned_worker_id?: string | undefined;
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “List audit entries”. */
export interface ListAuditQuery {
  /** Maximum number of items per page, 1 to 500. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
  /** Only entries that affect this owner. */
  owner?: string | undefined;
  /** Only entries by this actor, such as `operator` or `key:KEY_ID`. */
  actor?: string | undefined;
  /** Only entries about this object, such as `KEY_ID` or `SESSION_ID`. */
  subject?: string | undefined;
  /** Only entries with this action. */
  action?: 'key.created' | 'key.rotated' | 'key.revoked' | 'sign_in_link.created' | 'connect_token.created' | 'connect_token.revoked' | 'credits.granted' | 'credits.corrected' | 'credits.redeemed' | 'credit_codes.made' | 'promo_codes.made' | 'promo.redeemed' | 'tier.changed' | 'billing.payment_failed' | 'session.created' | 'session.ended' | 'tunnel.opened' | 'profile.created' | 'profile.deleted' | 'pool.resized' | 'worker.cordoned' | 'worker.uncordoned' | 'worker.drained' | 'owner.pinned' | 'owner.unpinned' | undefined;
  /** Only entries from this time on, in Unix seconds. */
  since?: number | undefined;
}

/** Options of “Get blocks over time”. */
export interface BlockHistoryQuery {
  /** Length of the time in hours, 1 to 720; the current interval counts as a whole one. Default: 24. */
  hours?: number | undefined;
  /** What to group by. Default: `vendor`. */
  by?: 'site' | 'vendor' | 'type' | 'owner' | undefined;
  /** Only blocks of this owner. None belongs to an unknown owner. */
  owner?: string | undefined;
  /** Only blocks by this site. A host name stands for its registrable domain. A text that is none matches no block. */
  domain?: string | undefined;
  /** Only blocks of this type. None has an unknown type. */
  type?: string | undefined;
  /** Only blocks by this vendor. */
  vendor?: BlockVendor | undefined;
}

/** Options of “Get site health”. */
export interface GetSiteHealthQuery {
  /** Id of the owner. */
  owner: string;
}

/** Options of “List strategies”. */
export interface GetStrategiesQuery {
  /** Id of the owner. */
  owner: string;
  /** Host name of the site. It stands for its registrable domain. */
  domain: string;
}

/** Options of “List block events”. */
export interface ListBlocksQuery {
  /** Only blocks of this owner. None belongs to an unknown owner. */
  owner?: string | undefined;
  /** Only blocks by this site. A host name stands for its registrable domain. A text that is none matches no block. */
  domain?: string | undefined;
  /** Only blocks of this type. None has an unknown type. */
  type?: string | undefined;
  /** Only blocks by this vendor. */
  vendor?: BlockVendor | undefined;
  /** Only blocks from this time on, in Unix seconds. */
  since?: number | undefined;
  /** Maximum number of events per page, 1 to 1000. Default: 100. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Options of “List site health”. */
export interface ListSiteHealthQuery {
  /** Only sites of this owner. None belongs to an unknown owner. */
  owner?: string | undefined;
  /** Maximum number of sites per page, 1 to 1000. Default: 1000. */
  limit?: number | undefined;
  /** Value of `X-Next-Cursor` of the previous page. Default: the first page. */
  cursor?: string | undefined;
}

/** Every operation of the API by its place in a client. */
export interface Calls {
  /** Revoke the key of a sign-in link. Revokes the API key that the call is made with, which came of a sign-in link. The dashboard calls it when a person signs out. A key that was created otherwise stays valid, and is answered 404. */
  endLinkSignIn(options?: RequestOptions): Call<void>;
  /** Fetch a page. Loads a page and returns it in the requested formats. The response status is 200 for `ok`, `blocked` and `error` alike, so that a direct and a polled result have the same shape. With `async` the result is `pending`, with `Location` and `Retry-After` headers. */
  fetch(params: FetchRequest, options?: RequestOptions): Call<FetchResponse>;
  /** Run a flow. Runs a named flow in a browser and returns its output and steps. The response status is 200 for `ok`, `blocked` and `error` alike, so that a direct and a polled result have the same shape. With `async` the result is `pending`, with `Location` and `Retry-After` headers; poll it with `GET /v1/job/{job_id}`. */
  run(params: AgentRequest, options?: RequestOptions): Call<AgentResponse>;
  /** Run a template. Runs a template, a step list for a common task, and returns its output and steps. It responds as `POST /v1/agent` does. */
  runTemplate(params: TemplateRequest, options?: RequestOptions): Call<TemplateResponse>;
  /** Inspect a site. Loads a page in a browser, or reads a HAR, and reports on the site’s API, authentication and assets. Secrets that their name or form reveals are replaced before anything is kept. The response status is 200 for `ok`, `blocked` and `error` alike. With `async` the result is `pending`, with `Location` and `Retry-After` headers; poll `GET /v1/job/{job_id}`. */
  inspect(params?: InspectRequest, options?: RequestOptions): Call<InspectResponse>;
  /** Get worker health. Returns whether this worker can serve requests, with the result of each check. The response status is 503 unless `status` is `ok`, so that a load balancer can use it as a readiness check. The checks `event_loop`, `loops`, `keys` and `browser` do not count: they report what is no reason to leave the worker out. */
  health(options?: RequestOptions): Call<HealthResponse>;
  /** Check liveness. Returns `ok` as long as the process responds. It checks nothing else. */
  live(options?: RequestOptions): Call<LivezReply>;
  /** Get the OpenAPI document. Returns the description of this API as an OpenAPI 3.1 document. */
  openapi(options?: RequestOptions): Call<Record<string, unknown>>;
  readonly sessions: CallsSessions;
  readonly admin: CallsAdmin;
  readonly profiles: CallsProfiles;
  readonly connectTokens: CallsConnectTokens;
  readonly skills: CallsSkills;
  readonly jobs: CallsJobs;
  readonly flows: CallsFlows;
  readonly templates: CallsTemplates;
  readonly reports: CallsReports;
  readonly regions: CallsRegions;
  readonly usage: CallsUsage;
  readonly credits: CallsCredits;
  readonly keys: CallsKeys;
  readonly billing: CallsBilling;
}

/** The operations of `sessions`. */
export interface CallsSessions {
  /** Create a session. Starts a browser in its own machine and returns the session. By default the response is sent when the browser is ready; with `wait=false` it is sent at once with `status: starting`. An emulated machine can take two minutes to boot. */
  create(params?: CreateSessionRequest & CreateSessionQuery, options?: RequestOptions): Call<SessionResponse>;
  /** End a session. Ends a session and its browser. The request succeeds again for a session that has already ended, as long as its record is retained. */
  end(sessionId: string, options?: RequestOptions): Call<void>;
  /** Get a session. Returns one session. An ended session can be read during its retention period, 24 hours by default. Reading a session does not reset its idle timer. */
  get(sessionId: string, options?: RequestOptions): Call<SessionResponse>;
  /** List sessions. Returns your live and recently ended sessions, newest first, 100 per page by default. Filter by metadata with `metadata.KEY=VALUE` query parameters. The machines of your fetches are listed with `purpose=fetch`. */
  list(params?: ListSessionsQuery, options?: RequestOptions): Pages<SessionResponse>;
  /** Update a session. Changes the timeouts, name or metadata of a live session and returns the session. Fields that are not sent stay as they are. */
  update(sessionId: string, params?: UpdateSessionRequest, options?: RequestOptions): Call<SessionResponse>;
  /** Navigate to a URL. Opens a URL in a tab, waits for it to load and returns the result. A page with an HTTP status such as 404 or 500 counts as success: see `status_code`. A failed navigation is a 502 error with the reason in `details`. */
  navigate(sessionId: string, params: NavigateRequest, options?: RequestOptions): Call<NavigateResponse>;
  /** Rotate the egress IP address. Switches a session with a rotating proxy to the next proxy of its list. For other sessions nothing changes and `rotated` is false; such a call is free. */
  rotateIp(sessionId: string, options?: RequestOptions): Call<RotateIpResponse>;
  /** Get a snapshot. Returns the page as an accessibility tree, for language models and scripts. Elements have references, such as `e12`, which steps accept in place of selectors. A reference belongs to its document; it finds its element again after the page has drawn it anew, while role, name and place are the same. Values of passwords and one-time codes are never part of a snapshot. */
  snapshot(sessionId: string, params?: GetSnapshotQuery, options?: RequestOptions): Call<SnapshotResponse>;
  /** List console lines. Returns the latest 500 lines that the pages of the session have written to their consoles, and their uncaught errors, oldest first. They are collected from the first call to this endpoint. The recording of a session has those from its start. */
  console(sessionId: string, params?: GetConsoleQuery, options?: RequestOptions): Call<Array<ConsoleLineResponse>>;
  /** Get page content. Returns the current content of a tab as HTML, Markdown, plain text or a list of links. A page that has just loaded is read when its scripts have shown their content, at most a second later. */
  content(sessionId: string, params?: GetContentQuery, options?: RequestOptions): Call<PageContentResponse>;
  /** Get network traffic. Returns the network traffic of the session as HAR 1.2. Recording starts with a session that was created with `har: true`, otherwise with the first call to this endpoint. Bodies are not recorded; cookie values and headers with credentials are redacted. */
  har(sessionId: string, options?: RequestOptions): Call<GetHarReply>;
  /** Get storage state. Returns the cookies and local storage of the session in Playwright’s format. Local storage covers the origins of the open tabs, with all characters as pages stored them. Send the result as `storage_state` when you create a session to restore it. Cookies that no client can set are left out, such as those of sandboxed frames. */
  storageState(sessionId: string, options?: RequestOptions): Call<StorageState>;
  /** Create a PDF. Prints a tab to a PDF document and returns it in base64. */
  pdf(sessionId: string, params?: PdfRequest, options?: RequestOptions): Call<PdfDocumentResponse>;
  /** Run actions. Runs a list of steps in a tab and returns a result for each step that ran. A failed step is reported in its result, and the response status is 200 all the same. */
  act(sessionId: string, params?: RunActionsRequest, options?: RequestOptions): Call<ActionsResponse>;
  /** Take a screenshot. Captures a tab and returns the image in base64. An image taller than 16384 pixels, or with more than 20 million, is returned in tiles. */
  screenshot(sessionId: string, params?: ScreenshotRequest, options?: RequestOptions): Call<PictureResponse>;
  /** Stream session events. Streams the events of a session as server-sent events, each with an `id`, its type as `event` and a SessionEventResponse as `data`. The stream starts with new events; with `Last-Event-ID` it resumes after that event (the latest 500 are retained, and 0 returns them all). It ends with the session. */
  events(sessionId: string, options?: EventOptions): Events<SessionEventResponse>;
  /** Upload a file. Stores a file of at most 12 MiB in the session, so that an `upload` step can give it to a page by its `file_id`, and a DevTools client by its `file_id` or its name. Send it as JSON in base64, or as a form: `curl -F file=@photo.jpg`. The file is deleted when the session ends. */
  upload(sessionId: string, params: UploadRequest, options?: RequestOptions): Call<UploadedFileResponse>;
  /** Run mouse and keyboard actions. Runs a list of actions by coordinates, such as a model chooses that looks at screenshots, and returns one screenshot of what they have led to. An action that fails ends the list; the response status is 200 all the same. Each action that ran is charged as one; a list without actions as one. */
  computer(sessionId: string, params?: ComputerRequest, options?: RequestOptions): Call<ComputerResponse>;
  /** Get the captcha status. Returns whether the active tab shows a captcha, and the state of its solving. */
  captcha(sessionId: string, options?: RequestOptions): Call<CaptchaStatusResponse>;
  /** Get connection details. Returns a DevTools address and a short-lived token with which Playwright, Puppeteer or another DevTools client connects to the session. */
  connect(sessionId: string, options?: RequestOptions): Call<ConnectResponse>;
  /** Create a view token. Creates a link to watch a session, to control it in an interactive live view, or to open its recording. The link works without an API key. It stops working when it expires, when the session ends (for `recording`: when the recording is deleted), when your API key is revoked, or when view tokens are revoked. */
  liveView(sessionId: string, params?: ViewTokenRequest, options?: RequestOptions): Call<ViewTokenResponse>;
  /** Create a VNC token. Creates a link to the full browser window of a `full_browser` session. The link works without an API key, and accepts mouse and keyboard input. */
  vnc(sessionId: string, params?: VncTokenRequest, options?: RequestOptions): Call<VncTokenResponse>;
  /** Revoke all view and VNC tokens. Revokes all view and VNC tokens of the session and closes the connections that were opened with them. New tokens can be created afterwards. */
  revokeViewTokens(sessionId: string, options?: RequestOptions): Call<void>;
  readonly tabs: CallsSessionsTabs;
  readonly downloads: CallsSessionsDownloads;
  readonly cdp: CallsSessionsCdp;
  readonly recordings: CallsSessionsRecordings;
}

/** The operations of `tabs`. */
export interface CallsSessionsTabs {
  /** Close a tab. Closes a tab, free of charge. The last tab of a session cannot be closed: end the session instead. */
  close(sessionId: string, tabId: string, options?: RequestOptions): Call<void>;
  /** List tabs. Returns the open tabs of the session, oldest first. */
  list(sessionId: string, options?: RequestOptions): Call<Array<TabResponse>>;
  /** Open a tab. Opens a tab and returns it, after its page has loaded if a `url` is given. The number of tabs is limited: see `tabs.limit` of the session. */
  open(sessionId: string, params?: OpenTabRequest, options?: RequestOptions): Call<TabResponse>;
}

/** The operations of `downloads`. */
export interface CallsSessionsDownloads {
  /** Download a file. Returns the bytes of a file that a page of the session has downloaded. The file is available until the session ends. */
  get(sessionId: string, downloadId: string, options?: RequestOptions): Call<Response>;
  /** List downloads. Returns the files that pages of the session have downloaded, newest first. */
  list(sessionId: string, options?: RequestOptions): Call<Array<DownloadResponse>>;
}

/** The operations of `cdp`. */
export interface CallsSessionsCdp {
  /** List DevTools targets. Returns the open pages of the session, in the format of DevTools’ own `/json/list`. */
  list(sessionId: string, options?: RequestOptions): Call<Array<CdpTargetResponse>>;
  /** Get the DevTools protocol. Returns the definition of the DevTools protocol that the browser supports, in the format of DevTools’ own `/json/protocol`. */
  protocol(sessionId: string, options?: RequestOptions): Call<CdpProtocolReply>;
  /** Get the browser version. Returns the browser’s version and its DevTools WebSocket URL, in the format of DevTools’ own `/json/version`. DevTools clients call it to discover the browser. */
  version(sessionId: string, options?: RequestOptions): Call<CdpVersionResponse>;
}

/** The operations of `recordings`. */
export interface CallsSessionsRecordings {
  /** List recordings. Returns the recordings of a session, which exist if it was created with `record: true`. They remain available after the session has ended, until `expires_at`. */
  list(sessionId: string, options?: RequestOptions): Call<Array<RecordingResponse>>;
  /** Get a recording file. Returns a file of a recording; supports `Range` requests, and works while the session is running. `index.html` is the player, `video.mp4` the whole video. The other files are `video.m3u8` with its segments (HLS, fragmented MP4) or `frames.mjpeg` and `frames.ndjson`, and `events.ndjson`, `har.json`, `poster.jpg` and `recording.json`. */
  asset(sessionId: string, recId: string, assetPath: string, options?: RequestOptions): Call<Response>;
}

/** The operations of `admin`. */
export interface CallsAdmin {
  /** Get the overview. Returns the state of the service at a glance: workers, sessions, jobs, the warm pool, credits, blocks, denied requests, background loops, and warnings about insecure settings. */
  overview(options?: RequestOptions): Call<OverviewResponse>;
  /** Get economics. Returns revenue, infrastructure cost and margin of the current month, by plan and owner, with a forecast. Prices come from the file that `BERTH_PRICES_FILE` names; without one they are 0. Figures of usage are at most a few seconds old. */
  economics(options?: RequestOptions): Call<EconomicsResponse>;
  /** List settings. Returns all settings of the worker that responds, as it runs with them, without secrets. Settings are read at the start. */
  settings(options?: RequestOptions): Call<SettingsResponse>;
  /** List strategies. Returns how well each strategy has worked for an owner on a site, and with which one the next task starts. */
  strategies(params: GetStrategiesQuery, options?: RequestOptions): Call<StrategiesResponse>;
  /** Get the self-heal overview. Returns the blocks of the last day and how many tasks succeeded in the end. The window covers the current hour and the 23 before it. */
  selfHeal(options?: RequestOptions): Call<SelfHealOverviewResponse>;
  /** Get metrics. Returns the metrics of this worker in the Prometheus text format. Send the metrics token as `Authorization: Bearer`; if none is configured, send the admin key in `x-admin-key`. */
  metrics(options?: RequestOptions): Call<string>;
  readonly sessions: CallsAdminSessions;
  readonly signInLinks: CallsAdminSignInLinks;
  readonly creditCodes: CallsAdminCreditCodes;
  readonly promoCodes: CallsAdminPromoCodes;
  readonly credits: CallsAdminCredits;
  readonly keys: CallsAdminKeys;
  readonly owners: CallsAdminOwners;
  readonly plans: CallsAdminPlans;
  readonly audit: CallsAdminAudit;
  readonly pool: CallsAdminPool;
  readonly workers: CallsAdminWorkers;
  readonly blocks: CallsAdminBlocks;
  readonly siteHealth: CallsAdminSiteHealth;
}

/** The operations of `sessions`. */
export interface CallsAdminSessions {
  /** End any session. Ends the session of any owner, with `ended_reason: admin`. The request succeeds again for a session that has already ended. */
  end(sessionId: string, options?: RequestOptions): Call<void>;
  /** List all sessions. Returns the live and recently ended sessions of all owners, newest first, 100 per page by default. */
  list(params?: ListAllSessionsQuery, options?: RequestOptions): Pages<AdminSessionResponse>;
}

/** The operations of `signInLinks`. */
export interface CallsAdminSignInLinks {
  /** Create a sign-in link. Creates a link that opens the dashboard signed in as an owner, for the operator, or for a person without a key at hand. It works once. Of more than 20 unused links of an owner the oldest are withdrawn. */
  create(params?: CreateSignInLinkRequest, options?: RequestOptions): Call<SignInLinkResponse>;
}

/** The operations of `creditCodes`. */
export interface CallsAdminCreditCodes {
  /** Create credit codes. Creates codes that can each be redeemed once for credits. The codes are returned in this response only and cannot be retrieved later. */
  create(params: CreditCodesRequest, options?: RequestOptions): Call<CreditCodesResponse>;
}

/** The operations of `promoCodes`. */
export interface CallsAdminPromoCodes {
  /** Create promo codes. Creates codes that can each be redeemed once for a trial of a plan. The codes are returned in this response only and cannot be retrieved later. */
  create(params: PromoCodesRequest, options?: RequestOptions): Call<PromoCodesResponse>;
}

/** The operations of `credits`. */
export interface CallsAdminCredits {
  /** Grant credits. Adds credits to an owner’s wallet and returns the new balance. A negative amount corrects a grant: it takes credits back, at most those that are available. With an `Idempotency-Key` the grant is applied exactly once, even if the service restarts in between. */
  grant(params: GrantRequest, options?: RequestOptions): Call<CreditGrantResponse>;
}

/** The operations of `keys`. */
export interface CallsAdminKeys {
  /** Create an API key for an owner. Creates an API key for any owner, and can set the owner’s plan. The secret is returned in this response only and cannot be retrieved later. */
  create(params: CreateKeyRequest, options?: RequestOptions): Call<CreatedKeyResponse>;
  /** List all API keys. Returns the API keys of all owners, or of one owner, without their secrets, newest first, 100 per page by default. A key that was found in a wrong place is identified by its last four characters. */
  list(params?: ListKeysQuery, options?: RequestOptions): Pages<KeyResponse>;
  /** Revoke any API key. Revokes an API key of any owner. Requests with the key are refused from then on, and its open WebSockets are closed within a second. */
  revoke(keyId: string, options?: RequestOptions): Call<void>;
}

/** The operations of `owners`. */
export interface CallsAdminOwners {
  /** Get an owner. Returns the plan of an owner, its usage in the current calendar month (UTC) and its credit balance. */
  get(owner: string, options?: RequestOptions): Call<OwnerResponse>;
  /** List owners. Returns all owners with their plan and balance, sorted by id, 100 per page by default. */
  list(params?: ListOwnersQuery, options?: RequestOptions): Pages<OwnerItemResponse>;
  /** Pin an owner to a worker. Places new sessions, fetches and jobs of the owner on this worker only, whatever their region, from within a second on; what the owner runs elsewhere goes on there. No other worker takes their place: they are refused with `no_capacity` while the worker is full or does not run, and with `draining` while it is cordoned or drains. Jobs of the owner do not move to other workers. Lasts until the owner is unpinned or pinned to another worker. */
  pin(owner: string, params: PinOwnerRequest, options?: RequestOptions): Call<OwnerResponse>;
  /** Unpin an owner. Lets new work of the owner run on any worker again. Does nothing for an owner that is not pinned. */
  unpin(owner: string, options?: RequestOptions): Call<OwnerResponse>;
  /** Update an owner. Sets the plan of an owner, ends a running trial, and returns the owner. The plan applies from the next request on. Later events of the payment provider can change it again. */
  update(owner: string, params: UpdateOwnerRequest, options?: RequestOptions): Call<OwnerResponse>;
}

/** The operations of `plans`. */
export interface CallsAdminPlans {
  /** List plans. Returns the plans of the tiers file, or the built-in ones, with their limits and the number of their owners. */
  list(options?: RequestOptions): Call<Array<PlanResponse>>;
}

/** The operations of `audit`. */
export interface CallsAdminAudit {
  /** List audit entries. Returns the audit log of keys, credits, plans and sessions, newest first. Entries cannot be changed, contain no secrets, and are retained for at least a year. */
  list(params?: ListAuditQuery, options?: RequestOptions): Pages<AuditEntryResponse>;
}

/** The operations of `pool`. */
export interface CallsAdminPool {
  /** Get the warm pool. Returns the machines of this region with their state and use, and the load of the worker that responds. */
  get(options?: RequestOptions): Call<PoolResponse>;
  /** Resize the warm pool. Sets the number of warm machines of a kind in this region and returns the pool, whose own `target` is that of `headless`: `targets` has all kinds. The target takes effect at once, persists over restarts, and overrides `BERTH_POOL_TARGET`. Machines in use are not affected; idle machines above the target are ended. */
  resize(params: PoolTargetRequest, options?: RequestOptions): Call<PoolResponse>;
}

/** The operations of `workers`. */
export interface CallsAdminWorkers {
  /** Cordon a worker. Places no new sessions, fetches and jobs on the worker; what it runs goes on. The other workers of its region take its part of the warm pool. Lasts until it is uncordoned or stopped. A drain that runs becomes a cordon. */
  cordon(workerId: string, options?: RequestOptions): Call<WorkerResponse>;
  /** Drain a worker. Cordons the worker and makes its `/health` fail. Its sessions go on until they end, or until `limit_seconds` have passed: then they are ended with the reason `drained`. It may be stopped when `sessions` is 0. */
  drain(workerId: string, params?: DrainWorkerRequest, options?: RequestOptions): Call<WorkerResponse>;
  /** List workers. Returns the workers of all regions that share the database, sorted by region and id. */
  list(options?: RequestOptions): Call<Array<WorkerResponse>>;
  /** Uncordon a worker. Lets a cordoned or draining worker take new work again. */
  uncordon(workerId: string, options?: RequestOptions): Call<WorkerResponse>;
}

/** The operations of `blocks`. */
export interface CallsAdminBlocks {
  /** Get blocks over time. Returns the number of blocks over time, grouped by site, vendor, type or owner. Intervals are an hour long for up to 48 hours, six hours for up to ten days, and else a day. Events older than 30 days are deleted. */
  history(params?: BlockHistoryQuery, options?: RequestOptions): Call<BlockHistoryResponse>;
  /** List block events. Returns the blocks that fetches and navigations have met, newest first. */
  list(params?: ListBlocksQuery, options?: RequestOptions): Pages<BlockEventResponse>;
}

/** The operations of `siteHealth`. */
export interface CallsAdminSiteHealth {
  /** Get site health. Returns the health of one site for an owner. The state is `unknown` for a site without attempts. */
  get(domain: string, params: GetSiteHealthQuery, options?: RequestOptions): Call<SiteHealthResponse>;
  /** List site health. Returns the health of each site for each owner, worst first. The first page fixes which sites are in a cooldown; one whose health changes meanwhile may be on two pages or on none. */
  list(params?: ListSiteHealthQuery, options?: RequestOptions): Pages<SiteHealthResponse>;
}

/** The operations of `profiles`. */
export interface CallsProfiles {
  /** Delete a profile. Deletes a profile with all that is kept in it. Sessions that only read it continue. One that saves it has to end first. */
  delete(profileId: string, options?: RequestOptions): Call<void>;
  /** Get a profile. Returns one profile: when it was saved and used, and how large it is. Its content is in no response. */
  get(profileId: string, options?: RequestOptions): Call<ProfileResponse>;
  /** List profiles. Returns your profiles without their content, newest first, 100 per page by default. There are at most 100. */
  list(params?: ListProfilesQuery, options?: RequestOptions): Pages<ProfileResponse>;
}

/** The operations of `connectTokens`. */
export interface CallsConnectTokens {
  /** Create a connect token. Creates a token for the address `/v1/connect`, with which clients that can send nothing but an address create sessions and drive them. It works for nothing else, and only as long as the API key that created it. The token is returned in this response only and cannot be retrieved later. */
  create(params?: CreateConnectTokenRequest, options?: RequestOptions): Call<CreatedConnectTokenResponse>;
  /** List connect tokens. Returns your connect tokens without their secrets, newest first. There are at most 100. */
  list(options?: RequestOptions): Call<Array<ConnectTokenResponse>>;
  /** Revoke a connect token. Revokes a connect token and deletes it. Connections that it opened are closed within a second, and their sessions end with them unless they were created with `keep_alive`. */
  revoke(tokenId: string, options?: RequestOptions): Call<void>;
}

/** The operations of `skills`. */
export interface CallsSkills {
  /** Delete a skill. Deletes a skill. The next run of its flow learns the element anew. */
  delete(skillId: string, options?: RequestOptions): Call<void>;
  /** List skills. Returns what your flows have learned about the elements of sites, most recently learned first, 100 per page by default. A flow uses its skills to find an element again after a site has changed. */
  list(params?: ListSkillsQuery, options?: RequestOptions): Pages<SkillResponse>;
}

/** The operations of `jobs`. */
export interface CallsJobs {
  /** Get a fetch job. Returns the result of an asynchronous fetch, or `pending` while it runs. With `wait_seconds` the response is sent as soon as the fetch finishes, or after that time. Results are retained for 24 hours. */
  getFetch(jobId: string, params?: GetFetchJobQuery, options?: RequestOptions): Call<FetchResponse>;
  /** Cancel a job. Cancels a pending job, which then has the status `error` with the code `cancelled`, and returns it. A finished job stays as it is, so the request can be repeated. */
  cancel(jobId: string, options?: RequestOptions): Call<JobResponse>;
  /** Get a job. Returns the status, progress and result of a job. With `wait_seconds` the response is sent as soon as the job finishes, or after that time. Results are retained for 24 hours. */
  get(jobId: string, params?: GetJobQuery, options?: RequestOptions): Call<JobResponse>;
  /** List jobs. Returns your jobs without their results, newest first: pending ones, and those that ended in the last 31 days. */
  list(params?: ListJobsQuery, options?: RequestOptions): Pages<JobItemResponse>;
}

/** The operations of `flows`. */
export interface CallsFlows {
  /** List flows. Returns the flows that this service runs, with the JSON Schemas of their inputs and outputs and an example. */
  list(options?: RequestOptions): Call<Array<AgentTaskResponse>>;
}

/** The operations of `templates`. */
export interface CallsTemplates {
  /** List templates. Returns the templates with their steps, which you can change and run with the flow `custom`. */
  list(params?: ListTemplatesQuery, options?: RequestOptions): Call<Array<TemplateItemResponse>>;
}

/** The operations of `reports`. */
export interface CallsReports {
  /** Download a part of a report. Returns a part of the report of an inspection as a file. It opens with your API key, or by the links in `artifacts`. Parts that the inspection did not `include` are not available. */
  artifact(jobId: string, name: 'openapi.json' | 'client.ts' | 'capture.har' | 'screenshot.jpg', options?: RequestOptions): Call<Response>;
  /** Get a report as a page. Returns the report of an inspection as one self-contained page, which can be printed. It opens with your API key, or by the link in `report_url`. */
  html(jobId: string, options?: RequestOptions): Call<string>;
}

/** The operations of `regions`. */
export interface CallsRegions {
  /** List regions. Returns the regions from which the traffic of sessions and fetches can leave, with their egress options. A region without `direct` is left through its `managed` proxies, which need a plan with premium egress. */
  list(options?: RequestOptions): Call<RegionsResponse>;
}

/** The operations of `usage`. */
export interface CallsUsage {
  /** Get usage. Returns your usage in the current calendar month (UTC), the limits of your plan and what remains. Usage on other workers of a fleet appears after a few seconds. With `days`, also returns the usage of each day. */
  get(params?: GetUsageQuery, options?: RequestOptions): Call<UsageResponse>;
}

/** The operations of `credits`. */
export interface CallsCredits {
  /** Get credits. Returns your credit balance and the prices of actions, captchas, traffic and sessions. */
  get(options?: RequestOptions): Call<CreditsResponse>;
  /** List credit entries. Returns the ledger of your wallet: grants, redeemed codes and charges, newest first, 100 per page by default. Charges of sessions are collected until they reach a tenth of a credit, or until the session ends. */
  entries(params?: ListCreditEntriesQuery, options?: RequestOptions): Pages<CreditEntryResponse>;
  /** Redeem a credit code. Adds the credits of a code to your wallet and returns the new balance. Each code can be redeemed once. */
  redeem(params: RedeemRequest, options?: RequestOptions): Call<CreditRedeemResponse>;
}

/** The operations of `keys`. */
export interface CallsKeys {
  /** Create an API key. Creates an API key for your organization. The secret is returned in this response only and cannot be retrieved later. */
  create(params?: CreateOwnKeyRequest, options?: RequestOptions): Call<CreatedKeyResponse>;
  /** List API keys. Returns the API keys of your organization without their secrets, newest first, 100 per page by default. */
  list(params?: ListOwnKeysQuery, options?: RequestOptions): Pages<KeyResponse>;
  /** Revoke an API key. Revokes one of your organization’s API keys. Requests with the key are refused from then on, and its open WebSockets are closed within a second. */
  revoke(keyId: string, options?: RequestOptions): Call<RevokedKeyResponse>;
  /** Rotate an API key. Creates a new API key with the same name to replace an existing one. The existing key remains valid for `grace_seconds`, so that you can replace it everywhere first; by default it is revoked at once. */
  rotate(keyId: string, params?: RotateKeyRequest, options?: RequestOptions): Call<RotatedKeyResponse>;
}

/** The operations of `billing`. */
export interface CallsBilling {
  /** Create a billing portal session. Returns a URL at the payment provider where your organization can manage its plan, payment method and invoices. */
  portal(params?: PortalRequest, options?: RequestOptions): Call<PortalResponse>;
  /** Create a checkout session. Creates a checkout session at the payment provider and returns its URL, where your organization can buy a plan. */
  checkout(params: CheckoutRequest, options?: RequestOptions): Call<CheckoutResponse>;
  /** Redeem a promo code. Starts a trial of the code’s plan for your organization and returns when it ends. The previous plan applies again after the trial. */
  redeem(params: RedeemPromoRequest, options?: RequestOptions): Call<PromoRedeemResponse>;
}

/** Every operation of one session, without its id. */
export interface SessionCalls {
  /** End a session. Ends a session and its browser. The request succeeds again for a session that has already ended, as long as its record is retained. */
  end(options?: RequestOptions): Call<void>;
  /** Get a session. Returns one session. An ended session can be read during its retention period, 24 hours by default. Reading a session does not reset its idle timer. */
  get(options?: RequestOptions): Call<SessionResponse>;
  /** Update a session. Changes the timeouts, name or metadata of a live session and returns the session. Fields that are not sent stay as they are. */
  update(params?: UpdateSessionRequest, options?: RequestOptions): Call<SessionResponse>;
  /** Navigate to a URL. Opens a URL in a tab, waits for it to load and returns the result. A page with an HTTP status such as 404 or 500 counts as success: see `status_code`. A failed navigation is a 502 error with the reason in `details`. */
  navigate(params: NavigateRequest, options?: RequestOptions): Call<NavigateResponse>;
  /** Rotate the egress IP address. Switches a session with a rotating proxy to the next proxy of its list. For other sessions nothing changes and `rotated` is false; such a call is free. */
  rotateIp(options?: RequestOptions): Call<RotateIpResponse>;
  /** Get a snapshot. Returns the page as an accessibility tree, for language models and scripts. Elements have references, such as `e12`, which steps accept in place of selectors. A reference belongs to its document; it finds its element again after the page has drawn it anew, while role, name and place are the same. Values of passwords and one-time codes are never part of a snapshot. */
  snapshot(params?: GetSnapshotQuery, options?: RequestOptions): Call<SnapshotResponse>;
  /** List console lines. Returns the latest 500 lines that the pages of the session have written to their consoles, and their uncaught errors, oldest first. They are collected from the first call to this endpoint. The recording of a session has those from its start. */
  console(params?: GetConsoleQuery, options?: RequestOptions): Call<Array<ConsoleLineResponse>>;
  /** Get page content. Returns the current content of a tab as HTML, Markdown, plain text or a list of links. A page that has just loaded is read when its scripts have shown their content, at most a second later. */
  content(params?: GetContentQuery, options?: RequestOptions): Call<PageContentResponse>;
  /** Get network traffic. Returns the network traffic of the session as HAR 1.2. Recording starts with a session that was created with `har: true`, otherwise with the first call to this endpoint. Bodies are not recorded; cookie values and headers with credentials are redacted. */
  har(options?: RequestOptions): Call<GetHarReply>;
  /** Get storage state. Returns the cookies and local storage of the session in Playwright’s format. Local storage covers the origins of the open tabs, with all characters as pages stored them. Send the result as `storage_state` when you create a session to restore it. Cookies that no client can set are left out, such as those of sandboxed frames. */
  storageState(options?: RequestOptions): Call<StorageState>;
  /** Create a PDF. Prints a tab to a PDF document and returns it in base64. */
  pdf(params?: PdfRequest, options?: RequestOptions): Call<PdfDocumentResponse>;
  /** Run actions. Runs a list of steps in a tab and returns a result for each step that ran. A failed step is reported in its result, and the response status is 200 all the same. */
  act(params?: RunActionsRequest, options?: RequestOptions): Call<ActionsResponse>;
  /** Take a screenshot. Captures a tab and returns the image in base64. An image taller than 16384 pixels, or with more than 20 million, is returned in tiles. */
  screenshot(params?: ScreenshotRequest, options?: RequestOptions): Call<PictureResponse>;
  /** Stream session events. Streams the events of a session as server-sent events, each with an `id`, its type as `event` and a SessionEventResponse as `data`. The stream starts with new events; with `Last-Event-ID` it resumes after that event (the latest 500 are retained, and 0 returns them all). It ends with the session. */
  events(options?: EventOptions): Events<SessionEventResponse>;
  /** Upload a file. Stores a file of at most 12 MiB in the session, so that an `upload` step can give it to a page by its `file_id`, and a DevTools client by its `file_id` or its name. Send it as JSON in base64, or as a form: `curl -F file=@photo.jpg`. The file is deleted when the session ends. */
  upload(params: UploadRequest, options?: RequestOptions): Call<UploadedFileResponse>;
  /** Run mouse and keyboard actions. Runs a list of actions by coordinates, such as a model chooses that looks at screenshots, and returns one screenshot of what they have led to. An action that fails ends the list; the response status is 200 all the same. Each action that ran is charged as one; a list without actions as one. */
  computer(params?: ComputerRequest, options?: RequestOptions): Call<ComputerResponse>;
  /** Get the captcha status. Returns whether the active tab shows a captcha, and the state of its solving. */
  captcha(options?: RequestOptions): Call<CaptchaStatusResponse>;
  /** Get connection details. Returns a DevTools address and a short-lived token with which Playwright, Puppeteer or another DevTools client connects to the session. */
  connect(options?: RequestOptions): Call<ConnectResponse>;
  /** Create a view token. Creates a link to watch a session, to control it in an interactive live view, or to open its recording. The link works without an API key. It stops working when it expires, when the session ends (for `recording`: when the recording is deleted), when your API key is revoked, or when view tokens are revoked. */
  liveView(params?: ViewTokenRequest, options?: RequestOptions): Call<ViewTokenResponse>;
  /** Create a VNC token. Creates a link to the full browser window of a `full_browser` session. The link works without an API key, and accepts mouse and keyboard input. */
  vnc(params?: VncTokenRequest, options?: RequestOptions): Call<VncTokenResponse>;
  /** Revoke all view and VNC tokens. Revokes all view and VNC tokens of the session and closes the connections that were opened with them. New tokens can be created afterwards. */
  revokeViewTokens(options?: RequestOptions): Call<void>;
  readonly tabs: SessionCallsTabs;
  readonly downloads: SessionCallsDownloads;
  readonly cdp: SessionCallsCdp;
  readonly recordings: SessionCallsRecordings;
}

/** The operations of `tabs`. */
export interface SessionCallsTabs {
  /** Close a tab. Closes a tab, free of charge. The last tab of a session cannot be closed: end the session instead. */
  close(tabId: string, options?: RequestOptions): Call<void>;
  /** List tabs. Returns the open tabs of the session, oldest first. */
  list(options?: RequestOptions): Call<Array<TabResponse>>;
  /** Open a tab. Opens a tab and returns it, after its page has loaded if a `url` is given. The number of tabs is limited: see `tabs.limit` of the session. */
  open(params?: OpenTabRequest, options?: RequestOptions): Call<TabResponse>;
}

/** The operations of `downloads`. */
export interface SessionCallsDownloads {
  /** Download a file. Returns the bytes of a file that a page of the session has downloaded. The file is available until the session ends. */
  get(downloadId: string, options?: RequestOptions): Call<Response>;
  /** List downloads. Returns the files that pages of the session have downloaded, newest first. */
  list(options?: RequestOptions): Call<Array<DownloadResponse>>;
}

/** The operations of `cdp`. */
export interface SessionCallsCdp {
  /** List DevTools targets. Returns the open pages of the session, in the format of DevTools’ own `/json/list`. */
  list(options?: RequestOptions): Call<Array<CdpTargetResponse>>;
  /** Get the DevTools protocol. Returns the definition of the DevTools protocol that the browser supports, in the format of DevTools’ own `/json/protocol`. */
  protocol(options?: RequestOptions): Call<CdpProtocolReply>;
  /** Get the browser version. Returns the browser’s version and its DevTools WebSocket URL, in the format of DevTools’ own `/json/version`. DevTools clients call it to discover the browser. */
  version(options?: RequestOptions): Call<CdpVersionResponse>;
}

/** The operations of `recordings`. */
export interface SessionCallsRecordings {
  /** List recordings. Returns the recordings of a session, which exist if it was created with `record: true`. They remain available after the session has ended, until `expires_at`. */
  list(options?: RequestOptions): Call<Array<RecordingResponse>>;
  /** Get a recording file. Returns a file of a recording; supports `Range` requests, and works while the session is running. `index.html` is the player, `video.mp4` the whole video. The other files are `video.m3u8` with its segments (HLS, fragmented MP4) or `frames.mjpeg` and `frames.ndjson`, and `events.ndjson`, `har.json`, `poster.jpg` and `recording.json`. */
  asset(recId: string, assetPath: string, options?: RequestOptions): Call<Response>;
}
