// Made from the contract by `npm run clients`. Do not edit.

export interface ActionsResponse {
  /** `ok` if no step failed; an optional step that failed counts as skipped. */
  status: 'ok' | 'error';
  /** Position of the first step that failed, from 0; null if none did. */
  failed_index: number | null;
  /** Results of the steps that ran, in order. */
  results: Array<StepResult>;
  /** URL of the tab after the last step. */
  final_url: string;
  /** Id of the tab in which the steps ran. */
  tab_id: string;
  /** Variables that steps saved with `save_as`. */
  vars: Record<string, unknown>;
  /** Duration of the run in milliseconds. */
  duration_ms: number;
  /** What was not done of a `recording`, at most 20, such as emulated network conditions; empty for `actions`. */
  warnings: Array<string>;
}

export interface AdminSessionResponse extends SessionResponse {
  /** Id of the session’s owner. */
  owner: string;
  /** Id of the API key that created the session; null if no key did. */
  key_id: string | null;
  /** Id of the worker that runs the session. */
  worker_id: string;
  /** Id of the machine; null if the session has none. */
  vm_id: string | null;
  /** Process id of the machine on its worker; null if unknown. */
  pid: number | null;
  /** Cost of the session. */
  cost: AdminSessionResponseCost;
}

/** Cost of the session. */
export interface AdminSessionResponseCost {
  /** Credits charged for the session. */
  credits: number;
}

export interface AgentRequest extends RunFields {
  /** Name of the flow to run, one of `GET /v1/agent/tasks`, at most 100 characters. */
  task: string;
  /** Inputs of the flow, as its JSON Schema describes them, at most 100. */
  inputs?: Record<string, unknown> | null | undefined;
}

export interface AgentResponse extends RunResponse {
  /** Name of the flow. */
  task: string;
}

/** Metadata of the request. */
export type AgentResponseMetadata = Record<string, string>;

export interface AgentStep {
  /** Position of the step in the whole run, from 0. */
  index: number;
  /** Type of the step: one of the step language, or an act of the flow itself such as `find_list`. */
  type: string;
  /** Iteration of the enclosing loop, from 0. */
  turn?: number | undefined;
  /** Selector that matched; null if the step needs none or nothing matched. */
  selector_used: string | Array<string> | null;
  /** Whether another selector than the given ones was found and used. */
  healed: boolean;
  /** Duration of the step in milliseconds. */
  duration_ms: number;
  /** Result of the step. `skipped`: its condition did not hold, or it is optional and failed. */
  status: 'ok' | 'error' | 'skipped';
  /** Error of the step. Also present if the step is `skipped` because it is optional. */
  error?: AgentStepError | undefined;
}

/** Error of the step. Also present if the step is `skipped` because it is optional. */
export interface AgentStepError {
  /** Error code of the step. */
  code: string;
  /** What went wrong and what to do. */
  message: string;
  details?: FailureDetails | undefined;
}

export interface AgentTaskResponse {
  /** Name to run it by. */
  name: string;
  /** Title for people. */
  title: string;
  /** What it does and returns. */
  description: string;
  /** Version, which changes with its inputs or output. */
  version: string;
  /** Category. */
  category: 'extraction' | 'navigation' | 'forms' | 'capture' | 'monitoring' | 'crawling' | 'custom' | 'research';
  /** JSON Schema (draft 2020-12) of the inputs. `writeOnly` marks secrets. */
  inputs: Record<string, unknown>;
  /** JSON Schema (draft 2020-12) of the output. */
  output: Record<string, unknown>;
  /** Valid inputs. */
  example: Record<string, unknown>;
}

export interface AnswerLostDetails {
  /** Id of the session that the first request created. */
  session_id?: string | undefined;
  /** Id of the job that the first request submitted. */
  job_id?: string | undefined;
}

/** Waits until all conditions hold, and fails with `assertion_failed` if they do not in time. `selectors` alone requires the element to be visible. */
export interface AssertStep extends StepFields {
  type: 'assert';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  ref?: StepRef | undefined;
  /** Selectors of the element. */
  selectors?: Array<Selector> | null | undefined;
  /** Text of the element, or of the page without `selectors`. */
  text?: string | null | undefined;
  /** Pattern that the URL of the page must match. */
  url?: string | null | undefined;
  /** Pattern that the title of the page must match. */
  title?: string | null | undefined;
  /** Whether the element must be visible. Requires `selectors`. */
  visible?: boolean | null | undefined;
  /** Number of matches, or its bounds. Requires `selectors`. */
  count?: number | AssertStepCount2 | null | undefined;
  /** Pattern that the value of the field must match. Requires `selectors`. */
  value?: string | null | undefined;
  /** Whether the element must be checked. Requires `selectors`. */
  checked?: boolean | null | undefined;
  /** Whether the element must be enabled. Requires `selectors`. */
  enabled?: boolean | null | undefined;
  /** Attributes that each match must have with exactly these values, by name, at most 20. Requires `selectors`. */
  attributes?: Record<string, string> | null | undefined;
  /** DOM properties that each match must have, by name, at most 20, such as `{"value": "3", "dataset": {"state": "open"}}`; not those that scripts of the page add. Requires `selectors`. */
  properties?: Record<string, string | number | boolean | null | Record<string, string | number | boolean | null>> | null | undefined;
}

export interface AssertStepCount2 {
  /** Minimum number of matches, 0 to 1000000. */
  min?: number | null | undefined;
  /** Maximum number of matches, 0 to 1000000. */
  max?: number | null | undefined;
}

/** Whether to return at once with a job to poll. Default: `false`. */
export type Async = boolean | null;

export interface AuditEntryResponse {
  /** Sequence number of the entry. */
  entry_id: number;
  /** When it happened (RFC 3339, UTC). */
  at: string;
  /** Who did it: `operator`, `key:KEY_ID`, `connect_token:TOKEN_ID`, `login:SUBJECT`, `payment_provider`, or `service`. */
  actor: string;
  /** What was done. */
  action: 'key.created' | 'key.rotated' | 'key.revoked' | 'sign_in_link.created' | 'connect_token.created' | 'connect_token.revoked' | 'credits.granted' | 'credits.corrected' | 'credits.redeemed' | 'credit_codes.made' | 'promo_codes.made' | 'promo.redeemed' | 'tier.changed' | 'billing.payment_failed' | 'session.created' | 'session.ended' | 'tunnel.opened' | 'profile.created' | 'profile.deleted' | 'pool.resized' | 'worker.cordoned' | 'worker.uncordoned' | 'worker.drained' | 'owner.pinned' | 'owner.unpinned';
  /** Id of the owner that was affected; null if none was. */
  owner: string | null;
  /** Id of the object that was affected, such as a key or session; null if there is none. */
  subject: string | null;
  /** Further data; its fields depend on the action. */
  details: Record<string, unknown>;
}

/** Goes back in the history of the tab. */
export interface BackStep extends StepFields {
  type: 'back';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  wait_until?: WaitUntil | undefined;
}

/** Maximum time for each attempt in milliseconds, 100 to 120000, within the time of the whole run. Default: 30000. */
export type BackStepTimeoutMs = number | null;

export interface Block {
  /** Always true: a page that is not blocked has no `block`. */
  blocked: boolean;
  /** Type of block. */
  type: 'rate_limited' | 'challenge' | 'captcha' | 'access_denied' | 'bot_wall' | 'geo_blocked' | 'login_wall' | 'consent_wall' | 'empty_shell' | 'robots_disallowed' | 'cooldown' | 'unknown';
  /** Vendor of the protection that blocked the page. */
  vendor: BlockVendor;
  /** Confidence of the detection. */
  confidence: 'high' | 'medium' | 'low';
  /** Evidence for the block. */
  evidence: Array<BlockEvidence>;
  /** Version of the detection rules. */
  signatures_version: string;
  /** Milliseconds spent waiting for a challenge, which did not clear. */
  challenge_waited_ms: number;
  /** Seconds after which to retry: as requested by the site, or until a cooldown of this service ends; null if unknown. */
  retry_after_seconds: number | null;
}

/** How block pages are detected. `default`: on clear evidence. `strict`: also on weaker evidence. `off`: not at all. Default: `default`. */
export type BlockDetection = 'default' | 'strict' | 'off' | null;

export interface BlockEventResponse {
  /** Id of the event. */
  event_id: string;
  /** When the block occurred, in Unix seconds: the time that `since` filters on. */
  ts: number;
  /** The same time in RFC 3339, UTC. */
  created_at: string;
  /** Id of the owner. */
  owner: string;
  /** Registrable domain of the site, or its host if there is none, such as an IP address. */
  domain: string;
  /** URL of the page without credentials, query and fragment. */
  url: string;
  /** Type of block. */
  type: 'rate_limited' | 'challenge' | 'captcha' | 'access_denied' | 'bot_wall' | 'geo_blocked' | 'login_wall' | 'consent_wall' | 'empty_shell' | 'robots_disallowed' | 'cooldown' | 'unknown';
  /** Vendor of the protection that blocked the page. */
  vendor: BlockVendor;
  /** Confidence of the detection. */
  confidence: 'high' | 'medium' | 'low';
  /** Evidence for the block. */
  evidence: Array<BlockEvidence>;
  status_code: StatusCode;
  /** Id of the fetch’s job; null for a navigation. */
  job_id: string | null;
  /** Id of the session; null if no browser was used. */
  session_id: string | null;
  /** Task that was blocked: `fetch` or `navigate`. */
  task: string;
  /** Region of the egress. */
  region: string;
  /** Egress that was used. */
  egress: BlockEventResponseEgress;
  /** Kind of machine that was used. */
  kind: string;
  /** Number of the attempt within its task, from 1. */
  attempt: number;
  /** Strategy of the attempt that was blocked. */
  strategy: 'direct' | 'wait_retry' | 'throttle' | 'rotate_egress' | 'fresh_context' | 'full_browser' | 'captcha_provider' | 'human';
  /** Whether a later attempt of the same task succeeded. */
  resolved: boolean;
  /** Strategy of the attempt that succeeded; null if none did. */
  resolved_by: 'direct' | 'wait_retry' | 'throttle' | 'rotate_egress' | 'fresh_context' | 'full_browser' | 'captcha_provider' | 'human' | null;
  /** Duration of the attempt in milliseconds. */
  duration_ms: number;
}

/** Egress that was used. */
export interface BlockEventResponseEgress {
  /** Type of egress, such as `direct` or a proxy type. */
  type: string;
  /** Country of the egress, ISO 3166-1 alpha-2; null if unknown. */
  country: string | null;
  /** Hash of the egress address, the same for the same address on this installation; null if the address is unknown. The address itself is not stored. */
  ip_hash: string | null;
}

export interface BlockEvidence {
  /** Where the evidence was seen. */
  kind: 'header' | 'cookie_name' | 'title' | 'selector' | 'url' | 'status' | 'body_signature';
  /** Id of the detection rule that matched. */
  id: string;
  /** The matched value, shortened and without anything that could be a secret. */
  value_redacted: string;
}

export interface BlockHistoryResponse {
  /** Always `block_history`. */
  object: 'block_history';
  /** What the blocks are grouped by. */
  by: 'site' | 'vendor' | 'type' | 'owner';
  /** Start of the first interval (RFC 3339, UTC). */
  since: string;
  /** Time of the figures (RFC 3339, UTC). The last interval ends after it. */
  until: string;
  /** Length of an interval in seconds: an hour, six hours or a day. All begin at multiples of it. */
  interval_seconds: number;
  /** All blocks. */
  total: BlockHistoryResponseTotal;
  /** The 10 groups with the most blocks, most first. */
  series: Array<BlockHistoryResponseSeriesItem>;
  /** The blocks of all other groups. */
  other: BlockHistoryResponseOther;
}

/** The blocks of all other groups. */
export interface BlockHistoryResponseOther {
  /** Number of blocks in the whole time. */
  blocks: number;
  /** Of these, blocks after which a later attempt of the same task succeeded. */
  resolved: number;
  /** Number of blocks in each interval. */
  counts: Array<number>;
}

export interface BlockHistoryResponseSeriesItem {
  /** Site, vendor, type or owner. */
  name: string;
  /** Number of blocks in the whole time. */
  blocks: number;
  /** Of these, blocks after which a later attempt of the same task succeeded. */
  resolved: number;
  /** Number of blocks in each interval. */
  counts: Array<number>;
}

/** All blocks. */
export interface BlockHistoryResponseTotal {
  /** Number of blocks in the whole time. */
  blocks: number;
  /** Of these, blocks after which a later attempt of the same task succeeded. */
  resolved: number;
  /** Number of blocks in each interval. */
  counts: Array<number>;
}

export type BlockVendor = 'cloudflare' | 'akamai' | 'datadome' | 'human' | 'imperva' | 'aws_waf' | 'kasada' | 'sucuri' | 'f5' | 'ddos_guard' | 'reblaze' | 'google' | 'recaptcha' | 'hcaptcha' | 'turnstile' | 'arkose' | 'generic' | 'unknown';

export interface BodyTooLargeDetails {
  /** Maximum number of bytes. */
  limit_bytes: number;
}

/** Mouse button: `left`, `middle`, `right`, `back` or `forward`. Default: `left`. */
export type Button = 'left' | 'middle' | 'right' | 'back' | 'forward' | null;

export interface Bytes {
  /** The bytes in base64. */
  data_base64: string;
  /** Media type; null if unknown. */
  content_type: string | null;
  /** Size in bytes. */
  bytes: number;
  /** File name from `Content-Disposition`, sanitized; null if there is none. */
  filename: string | null;
  /** Whether the bytes were cut at the maximum size. */
  truncated: boolean;
}

/** A captcha on the page. It is not a block by itself: a login form can contain one. */
export interface Captcha {
  /** Whether the page contains a captcha. */
  present: boolean;
  /** Vendor of the captcha; null if there is none. */
  vendor: BlockVendor | null;
  /** Whether a challenge is visible to a visitor; null if the page was not loaded in a browser. */
  visible: boolean | null;
}

export interface CaptchaRequest {
  /** What to do about captchas. `detect`: report them. `solve`: also solve them with a provider that the operator has configured. Default: `detect`. */
  mode?: 'detect' | 'solve' | null | undefined;
  /** Who solves captchas: `http`, the operator’s solver endpoint, or `human`, a person in the live view. Default: all configured providers, `http` first. */
  provider?: 'http' | 'human' | null | undefined;
}

export interface CaptchaStatusResponse {
  /** Whether the active tab shows a captcha. */
  present: boolean;
  /** Vendor of the captcha; null when no captcha is detected. */
  vendor: BlockVendor | null;
  /** Kind of captcha; null when no captcha is detected. `cloudflare_challenge` and `other` cannot be solved by a provider: only a person in the live view can pass them. */
  type: 'turnstile' | 'cloudflare_challenge' | 'recaptcha' | 'hcaptcha' | 'arkose' | 'other' | null;
  /** State of the captcha. `undetected` and `failed_to_detect`: no captcha, or the page does not respond. `detected`: found, and no solver has been called. `solving`: waiting for the provider or a person. `validating`: the page has received the token. `solved`, `validation_failed` and `failed_to_solve`: final states; a captcha that failed can be tried again. */
  state: 'undetected' | 'detected' | 'validating' | 'validation_failed' | 'solving' | 'solved' | 'failed_to_detect' | 'failed_to_solve';
  /** When the captcha entered this state; null when no captcha is detected. */
  since: string | null;
}

export interface CdpProtocolReply {
  /** Version of the protocol. */
  version: CdpProtocolReplyVersion;
  /** Domains of the protocol, each with its commands, events and types. */
  domains: Array<unknown>;
}

/** Version of the protocol. */
export interface CdpProtocolReplyVersion {
  /** Major version. */
  major: string;
  /** Minor version. */
  minor: string;
}

export interface CdpTargetResponse {
  /** Id of the target. */
  id: string;
  /** Type of the target, such as `page`. */
  type: string;
  /** Title of the page. */
  title: string;
  /** URL of the page. */
  url: string;
  /** Description of the target; usually empty. */
  description: string;
  /** DevTools WebSocket URL for this target. */
  webSocketDebuggerUrl: string;
}

export interface CdpVersionResponse {
  /** Product name and version of the browser. */
  Browser: string;
  /** Version of the DevTools protocol. */
  'Protocol-Version': string;
  /** User agent of the browser. */
  'User-Agent': string;
  /** Version of the JavaScript engine. */
  'V8-Version': string;
  /** Version of the rendering engine. */
  'WebKit-Version': string;
  /** DevTools WebSocket URL of the browser. */
  webSocketDebuggerUrl: string;
}

/** Sets a checkbox, radio button or switch, or one of a group: of a fieldset, its legend, an ARIA group, or any box of it. In a group of several, one of `value`, `label` and `index` is required. */
export interface CheckStep extends StepFields {
  type: 'check';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: StepSelectors | undefined;
  ref?: StepRef | undefined;
  /** Whether it is to be checked. Default: `true`. */
  state?: boolean | null | undefined;
  /** In a group: value of the box, or a list of at most 100 values. */
  value?: string | Array<string> | null | undefined;
  /** In a group: label of the box, or a list of at most 100 labels. */
  label?: string | Array<string> | null | undefined;
  /** In a group: position of the box, from 0, or a list of at most 100 positions. */
  index?: number | Array<number> | null | undefined;
  position?: StepPosition | undefined;
  force?: StepForce | undefined;
}

export interface CheckoutRequest {
  /** Plan to buy: a tier that has a price in the tiers file. */
  tier: string;
  /** URL to which the payment provider redirects after the purchase. Default: the API reference of this service. */
  success_url?: string | null | undefined;
  /** URL to which the payment provider redirects if the purchase is cancelled. Default: the API reference of this service. */
  cancel_url?: string | null | undefined;
}

export interface CheckoutResponse {
  /** URL of the checkout page at the payment provider. */
  url: string;
  /** Id of the checkout session at the payment provider. */
  id: string;
}

/** Clicks once. */
export interface ClickAction {
  type: 'click';
  x?: X | undefined;
  y?: Y | undefined;
  button?: Button | undefined;
  modifiers?: Modifiers | undefined;
}

/** Clicks an element. */
export interface ClickStep extends StepFields {
  type: 'click';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: StepSelectors | undefined;
  ref?: StepRef | undefined;
  position?: StepPosition | undefined;
  force?: StepForce | undefined;
  /** Modifier keys to hold. Default: none. */
  modifiers?: Array<'Alt' | 'Control' | 'Meta' | 'Shift'> | null | undefined;
  /** Mouse button. Default: `left`. */
  button?: 'left' | 'middle' | 'right' | null | undefined;
  /** Number of clicks, 1 to 3: 2 for a double click. Default: 1. */
  count?: number | null | undefined;
  /** Milliseconds between pressing and releasing the button, 0 to 1000. Default: 0. */
  delay_ms?: number | null | undefined;
}

/** An action by coordinates. */
export type ComputerAction = ClickAction | DoubleClickAction | TripleClickAction | MouseDownAction | MouseUpAction | MoveAction | DragAction | ScrollAction | KeyAction | TypeAction | WaitAction | ScreenshotAction | CursorAction;

export interface ComputerActionResult {
  /** Position of the action in the list, from 0. */
  index: number;
  /** Type of the action. */
  type: string;
  /** Whether the action was done. */
  status: 'ok' | 'error';
  /** Duration in milliseconds. */
  duration_ms: number;
  /** Why it was not done; null for `ok`. */
  error: ComputerActionResultError | null;
  /** Where the mouse is, for `cursor`; null for others. */
  cursor: ComputerActionResultCursor | null;
  /** The picture of a `screenshot` that is not the last action; null for others. */
  screenshot: ComputerPicture | null;
}

/** Where the mouse is, for `cursor`; null for others. */
export interface ComputerActionResultCursor {
  /** Distance from the left edge, in pixels of the screenshot. */
  x: number;
  /** Distance from the top edge, in pixels of the screenshot. */
  y: number;
}

/** Why it was not done; null for `ok`. */
export interface ComputerActionResultError {
  /** What was wrong. `out_of_bounds`: the place is outside of the screen. `dialog_open`: a dialog of the page waits for an answer. */
  code: 'out_of_bounds' | 'unknown_key' | 'dialog_open' | 'tab_closed' | 'page_crashed' | 'timeout' | 'not_possible';
  /** What was wrong, in words. */
  message: string;
}

export interface ComputerEvent {
  /** What happened. `list`, `picker`: a click opened a drop-down list or a picker, which the screenshot of a page does not show. */
  type: 'dialog' | 'list' | 'picker' | 'file_chooser' | 'navigation' | 'tab_opened' | 'tab_closed' | 'tab_refused' | 'tab_crashed' | 'download_started';
  /** Position of the action that ran then, from 0; null for one after the last action. */
  index: number | null;
  /** Id of the tab; null for a download and a refused tab. */
  tab_id: string | null;
  /** URL of the page, the tab or the download; null for others. */
  url: string | null;
  /** Text of a dialog, file name of a download, or type of a picker, such as `date`; null for others. */
  message: string | null;
  /** The dialog; null for other events. */
  dialog: ComputerEventDialog | null;
  /** Labels of the first 100 options of a list, to choose from with the arrow keys and `Return`; null for other events. */
  options: Array<string> | null;
}

/** The dialog; null for other events. */
export interface ComputerEventDialog {
  /** Type of the dialog: `alert`, `confirm`, `prompt` or `beforeunload`. */
  type: string;
  /** How it was answered. `open`: it waits for a client or a viewer. */
  answer: 'accepted' | 'dismissed' | 'open';
}

export interface ComputerPicture {
  /** Media type of the image, such as `image/png`. */
  content_type: string;
  /** Width in pixels. */
  width: number;
  /** Height in pixels. */
  height: number;
  /** The image in base64. */
  data_base64: string;
}

export interface ComputerRequest {
  /** Actions to run in order, at most 50, of which at most 5 are `screenshot`. Default: none, for a screenshot alone. */
  actions?: Array<ComputerAction> | null | undefined;
  /** Id of the tab. Default: the active tab. */
  tab_id?: string | null | undefined;
  /** Whether a tab that the actions open becomes the active one, and is in the screenshot. Default: `true`. */
  follow_tabs?: boolean | null | undefined;
  /** How dialogs are answered that pages open meanwhile. Default: by a connected client or a viewer with control, else dismissed. */
  dialogs?: 'accept' | 'dismiss' | null | undefined;
  /** Maximum width of the screenshot in pixels, 64 to 4096. A wider screen is scaled down, and all coordinates of the request and the response are in pixels of the scaled screenshot. Default: not scaled, one pixel for each CSS pixel. */
  max_width?: number | null | undefined;
  /** Whether to take a screenshot after the last action. Default: `true`. */
  screenshot?: boolean | null | undefined;
  /** Image format of screenshots: `png`, `jpeg` or `webp`. Default: `png`. */
  format?: 'png' | 'jpeg' | 'webp' | null | undefined;
  quality?: Quality | undefined;
  /** Maximum milliseconds to wait before the last screenshot for a navigation that the actions have started, 0 to 10000. Default: 3000. */
  settle_ms?: number | null | undefined;
  /** Maximum time for all actions together in milliseconds, 1000 to 120000. Default: 60000. */
  timeout_ms?: number | null | undefined;
}

export interface ComputerResponse {
  /** `ok` if every action was done; the list ends with the first that was not. */
  status: 'ok' | 'error';
  /** Position of the action that failed, from 0; null if none did. */
  failed_index: number | null;
  /** Results of the actions that ran, in order. */
  results: Array<ComputerActionResult>;
  /** What happened in the browser meanwhile, in order, at most 50. */
  events: Array<ComputerEvent>;
  /** The screen after the last action; null where it was not asked for or not possible. */
  screenshot: ComputerPicture | null;
  /** Pixels of the screenshot for each pixel of the screen: 1 where it is not scaled. */
  scale: number;
  /** Size of the page’s viewport in CSS pixels. */
  screen: ComputerResponseScreen;
  /** Where the mouse is. */
  cursor: ComputerResponseCursor;
  /** Id of the tab in the screenshot. */
  tab_id: string;
  /** URL of that tab. */
  url: string;
  /** Title of that tab. */
  title: string;
  /** Duration of the call in milliseconds. */
  duration_ms: number;
  /** What was left out, such as `screenshot_failed:timeout`, `still_loading` and `events_left_out`. */
  warnings: Array<string>;
}

/** Where the mouse is. */
export interface ComputerResponseCursor {
  /** Distance from the left edge, in pixels of the screenshot. */
  x: number;
  /** Distance from the top edge, in pixels of the screenshot. */
  y: number;
}

/** Size of the page’s viewport in CSS pixels. */
export interface ComputerResponseScreen {
  /** Width in pixels. */
  width: number;
  /** Height in pixels. */
  height: number;
}

export interface ConcurrencyLimitDetails {
  /** The limit. */
  limit: number;
  /** Number of live sessions. */
  active: number;
}

export interface ConnectResponse {
  /** Id of the session. */
  session_id: string;
  /** Status of the session. */
  status: 'starting' | 'ready' | 'ending' | 'ended' | 'failed';
  /** DevTools WebSocket URL including the token, for `connectOverCDP` of Playwright and `browserWSEndpoint` of Puppeteer. */
  cdp_url: string;
  /** HTTP address of the DevTools endpoint, for `connectOverCDP` with an `Authorization` header. */
  cdp_http_url: string;
  /** The token of this session. It is short-lived: see `expires_at`. */
  token: string;
  /** Always `connect`. */
  token_type: 'connect';
  /** When the token can no longer open connections (RFC 3339, UTC). A connection that is open stays open until the session ends. */
  expires_at: string;
  /** Version of the DevTools protocol. */
  protocol: string;
  /** Product name and version of the browser. */
  browser: string;
  /** Code that connects to the session. */
  snippets: ConnectResponseSnippets;
}

/** Code that connects to the session. */
export interface ConnectResponseSnippets {
  /** Code for Playwright. */
  playwright: string;
  /** Code for Puppeteer. */
  puppeteer: string;
}

export interface ConnectTokenLimitReachedDetails {
  /** The limit. */
  limit: number;
}

export interface ConnectTokenResponse {
  /** Id of the connect token. */
  token_id: string;
  /** Name of the token; null if it has none. */
  name: string | null;
  /** First characters of the token. */
  prefix: string;
  /** Last four characters of the token. */
  last4: string;
  /** Id of the API key that created the token. The token is valid only as long as this key. */
  key_id: string;
  /** When the token was created (RFC 3339, UTC). */
  created_at: string;
  /** When the token was last used (RFC 3339, UTC), to the minute; null if never. */
  last_used_at: string | null;
  /** When the token expires (RFC 3339, UTC); null if never. */
  expires_at: string | null;
  /** Seconds for which its sessions wait at their address after the last client has disconnected; 0: they end then. */
  reconnect_seconds: number;
  /** Status of the token. `key_revoked`: its API key was revoked or has expired. A revoked token is not listed. */
  status: 'active' | 'expired' | 'key_revoked';
}

export interface ConsoleLineResponse {
  /** Sequence number of the line within the session. */
  id: number;
  /** When the line was written (RFC 3339, UTC). */
  at: string;
  /** Id of the tab that wrote it. */
  tab_id: string;
  /** Level of the line; `error` for uncaught errors, too. */
  level: 'log' | 'debug' | 'info' | 'warning' | 'error';
  /** Text of the line, at most 2000 characters. */
  text: string;
  /** URL of the script that wrote it, at most 2048 characters; null if unknown. */
  url: string | null;
  /** Line number in the script, from 1; null if unknown. */
  line: number | null;
}

export interface CookieRequest {
  /** Name of the cookie. Name and value together have 1 to 4096 bytes in UTF-8. */
  name: string;
  /** Value of the cookie. */
  value: string;
  /** Domain of the cookie, 1 to 256 characters. Required without `url`. */
  domain?: string | null | undefined;
  /** Path of the cookie, which begins with `/`, 1 to 1024 characters. Default: `/`. */
  path?: string | null | undefined;
  /** Expiry time in Unix seconds. Default: -1, a session cookie. */
  expires?: number | null | undefined;
  /** Whether the cookie is hidden from JavaScript. Default: `false`. */
  httpOnly?: boolean | null | undefined;
  /** Whether the cookie is sent over HTTPS only. Default: whether `url` is an HTTPS one. */
  secure?: boolean | null | undefined;
  /** SameSite attribute of the cookie. Default: the browser’s default. */
  sameSite?: 'Strict' | 'Lax' | 'None' | null | undefined;
  /** Partition key of a partitioned cookie (CHIPS): the top-level site, such as `https://example.com`, at most 512 characters. */
  partitionKey?: string | null | undefined;
  /** Whether a partitioned cookie is of a frame with a cross-site ancestor, as Playwright names it. Default: false. */
  _crHasCrossSiteAncestor?: boolean | null | undefined;
  /** URL that the cookie is for, instead of `domain` and `path`: its host, and its path up to the last slash. */
  url?: string | null | undefined;
}

export interface CreateConnectTokenRequest {
  /** Name of the token, 1 to 64 characters. Default: null, none. */
  name?: string | null | undefined;
  /** Days until the token expires, 1 to 3650. Default: null, never. */
  expires_in_days?: number | null | undefined;
  /** Seconds for which a session that was created with the token waits for its clients after the last has disconnected, 0 to 3600: whoever connects to the same address meanwhile finds its browser. Default: 0, it ends then. */
  reconnect_seconds?: number | null | undefined;
}

export interface CreateKeyRequest {
  /** Id of the owner. The owner is created if it does not exist. */
  owner: string;
  /** Name of the key, 1 to 64 characters. Default: null, none. */
  name?: string | null | undefined;
  /** Plan to set for the owner: a tier of the tiers file. Default: the plan stays as it is. */
  tier?: string | null | undefined;
  /** Days until the key expires, 1 to 3650. Default: null, never. */
  expires_in_days?: number | null | undefined;
}

export interface CreateOwnKeyRequest {
  /** Name of the key, 1 to 64 characters. Default: null, none. */
  name?: string | null | undefined;
  /** Days until the key expires, 1 to 3650. Default: null, never. */
  expires_in_days?: number | null | undefined;
}

export interface CreateRateLimitDetails {
  /** The limit. */
  limit: number;
}

export interface CreateSessionRequest {
  /** Kind of browser. `full_browser` has windows on a display, which `vnc-token` gives access to. Default: `headless`. */
  kind?: 'headless' | 'full_browser' | null | undefined;
  /** Region code from `GET /v1/regions`, from which the session’s traffic leaves. Default: the region of the worker that receives the request. */
  region?: string | null | undefined;
  /** Maximum lifetime in seconds, 30 to 86400. The plan may set a lower maximum. Default: 900, or the plan’s maximum if that is less. */
  timeout_seconds?: number | null | undefined;
  /** Seconds after which the session ends if nothing calls it and no DevTools client is connected: 10 to 86400, and at most `timeout_seconds`. Default: 300, or `timeout_seconds` if that is less. */
  idle_timeout_seconds?: number | null | undefined;
  /** Whether the session continues after its last DevTools client disconnects. Default: `true`. */
  keep_alive?: boolean | null | undefined;
  /** URL to open before the session is ready, `http`, `https` or `about:blank`. If it fails, the session starts anyway and reports the failure in `start_navigation`. Default: null, an empty page. */
  start_url?: string | null | undefined;
  /** Size of the page area. Default: 1280 × 720 at scale 1. */
  viewport?: ViewportInput | null | undefined;
  /** User agent to send, 1 to 1024 printable ASCII characters. Default: null, the browser’s own. */
  user_agent?: string | null | undefined;
  /** BCP 47 language tag for the browser, such as `en-GB`. Default: null, the browser’s default. */
  locale?: string | null | undefined;
  /** IANA time zone for the browser, such as `Europe/Berlin`. Default: null, the browser’s default. */
  timezone?: string | null | undefined;
  /** Up to 20 HTTP headers to send with every request of every page; `Referer` with navigations only. Default: none. */
  extra_headers?: Record<string, string> | null | undefined;
  /** Proxy for the session’s traffic. Default: null, the region’s egress: directly from the worker if it is in the region, else through one of the region’s managed proxies. */
  proxy?: ProxyRequest | null | undefined;
  /** Whether to refuse connections to known advertising and tracking hosts. Default: `false`. */
  block_ads?: boolean | null | undefined;
  /** Types of resources that pages do not load. Default: none. */
  block_resources?: Array<'image' | 'media' | 'font' | 'stylesheet' | 'websocket'> | null | undefined;
  /** The only hosts that pages and their resources may reach: 1 to 50 patterns such as `example.com` or `*.example.com`, in any case. Default: null, no restriction. */
  allowed_domains?: Array<string> | null | undefined;
  /** Whether pages may download files. Default: `true`. */
  accept_downloads?: boolean | null | undefined;
  /** Whether to load pages with invalid TLS certificates. Default: `false`. */
  ignore_https_errors?: boolean | null | undefined;
  /** Cookies and local storage to restore before the first page loads, in Playwright’s format, at most 4 MiB. Default: null, none. */
  storage_state?: StorageStateRequest | null | undefined;
  /** Profile whose cookies and storage the session starts with, and which it may save at its end. Excludes `storage_state`. Default: null, none. */
  profile?: ProfileRequest | null | undefined;
  /** How the session handles captchas. */
  captcha?: CaptchaRequest | null | undefined;
  /** Whether to record network traffic from the start, for `GET …/har`. Default: `false`. */
  har?: boolean | null | undefined;
  /** Whether to record a video and a timeline of events, for `GET …/recordings`. Default: `false`. */
  record?: boolean | null | undefined;
  /** Name of the session, 1 to 64 characters, unique among your live sessions. Default: null, no name. */
  name?: string | null | undefined;
  /** Up to 50 key-value pairs of your own: keys of 1 to 64 characters, values of at most 512. Default: none. */
  metadata?: Record<string, string> | null | undefined;
}

export interface CreateSignInLinkRequest {
  /** Id of the owner to sign in as. Default: `local`. */
  owner?: string | null | undefined;
  /** Seconds for which the link works, 60 to 3600. Default: 600. */
  ttl_seconds?: number | null | undefined;
}

export interface CreatedConnectTokenResponse extends ConnectTokenResponse {
  /** The secret token. It is returned once: null in a replayed response. */
  token: string | null;
  /** DevTools WebSocket URL with the token, for `browserWSEndpoint` of Puppeteer and `connectOverCDP` of Playwright. It is returned once: null in a replayed response. */
  cdp_url: string | null;
  /** HTTP address with the token, for `browserURL` of Puppeteer and for tools that discover a browser over HTTP. It is returned once: null in a replayed response. */
  cdp_http_url: string | null;
}

export interface CreatedKeyResponse extends KeyResponse {
  /** The secret API key. It is returned once: null in a replayed response. */
  key: string | null;
}

export interface CreditCodesRequest {
  /** Credits per code: more than 0, at most 1,000,000,000, with up to 6 decimals. */
  amount: number;
  /** Number of codes to create, 1 to 1000. Default: 1. */
  count?: number | null | undefined;
  /** Days until the codes expire, 1 to 3650. Default: null, never. */
  expires_in_days?: number | null | undefined;
}

export interface CreditCodesResponse {
  /** The codes; null in a replayed response. */
  codes: Array<string> | null;
}

export interface CreditEntryResponse {
  /** Id of the entry. Later entries have greater numbers. */
  entry_id: string;
  /** When the entry was written (RFC 3339, UTC). */
  at: string;
  /** `grant` and `correction`: by the operator. `code`: a redeemed code. The others: a charge for what they name. */
  type: 'grant' | 'correction' | 'code' | 'action' | 'session' | 'captcha' | 'egress';
  /** Credits that were added; negative if they were taken. */
  amount: number;
  /** Balance in credits after the entry. */
  balance: number;
  /** Id of the session that was charged; null for fetches and for credits that were added. */
  session_id: string | null;
}

export interface CreditGrantResponse {
  /** Id of the owner. */
  owner: string;
  /** Credits that were added; negative if they were taken back. */
  granted: number;
  /** New balance in credits, as `GET /v1/credits` reports it. */
  balance: number;
}

export interface CreditRedeemResponse {
  /** Always `true`. */
  ok: true;
  /** Credits that were added. */
  granted: number;
  /** New balance in credits, as `GET /v1/credits` reports it. */
  balance: number;
}

export interface CreditsResponse {
  /** Id of the owner. */
  owner: string;
  /** Remaining credits, less traffic that is used and not in the ledger yet. Credits reserved for calls in progress are included. */
  balance: number;
  /** Whether calls are refused when the wallet is empty. */
  enforced: boolean;
  /** Prices in credits. */
  cost: CreditsResponseCost;
}

/** Prices in credits. */
export interface CreditsResponseCost {
  /** Credits per action. */
  action: number;
  /** Credits per captcha solved by a provider. */
  captcha: number;
  /** Credits per megabyte (1,000,000 bytes) of network traffic, charged by the byte. */
  egress_mb: number;
  /** Credits per session created. */
  session: number;
}

/** Tells where the mouse is. */
export interface CursorAction {
  type: 'cursor';
}

export interface DashboardConfigResponse {
  /** Version of the service. */
  version: string;
  /** The regions, as `GET /v1/regions` returns them. */
  regions: Array<Region>;
  /** How people sign in, besides with an API key or the admin key. */
  sign_in: DashboardConfigResponseSignIn;
  /** What the operator has configured. */
  features: DashboardConfigResponseFeatures;
  /** Plans that can be bought; empty where `features.billing` is false. */
  plans: Array<DashboardConfigResponsePlansItem>;
  /** Pages that explain the service. */
  links: DashboardConfigResponseLinks;
}

/** What the operator has configured. */
export interface DashboardConfigResponseFeatures {
  /** Whether plans can be bought. */
  billing: boolean;
  /** Whether calls of owners with an empty wallet are refused. */
  credits_enforced: boolean;
  /** Who can solve captchas; empty if they are only detected. */
  captcha_providers: Array<'http' | 'human'>;
  /** Format of recorded videos. */
  recording_video: 'hls' | 'frames';
  /** Whether steps may run a client’s own JavaScript in a page. */
  evaluate: boolean;
  /** Whether a language model is configured, which the flow `llm_task` needs. */
  language_model: boolean;
}

/** Pages that explain the service. */
export interface DashboardConfigResponseLinks {
  /** Path of the guides. */
  docs: string;
  /** Path of the API reference. */
  reference: string;
  /** Path of the OpenAPI document. */
  openapi: string;
}

export interface DashboardConfigResponsePlansItem {
  /** Name of the plan, for `POST /v1/billing/checkout`. */
  tier: string;
  /** Maximum number of live sessions; null: that of the service. */
  concurrency_limit: number | null;
  /** Maximum `timeout_seconds` of a session. */
  max_session_seconds: number;
  limits: UsageLimits;
}

/** How people sign in, besides with an API key or the admin key. */
export interface DashboardConfigResponseSignIn {
  /** Whether login tokens are accepted, with which people manage keys and billing. */
  login: boolean;
  /** Issuer of login tokens; null if the service is not configured with one. */
  issuer: string | null;
  /** Whether the development sign-in is served at `/dev-idp`. */
  development: boolean;
}

export interface DeadlineExceededDetails {
  /** Deadline of the call in milliseconds. */
  deadline_ms?: number | undefined;
}

/** Milliseconds between two keys, 0 to 1000. Default: 0. */
export type DelayMs = number | null;

/** Sets how later dialogs are answered; without it they are dismissed. The output lists the dialogs that have occurred. */
export interface DialogStep extends StepFields {
  type: 'dialog';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Whether to accept dialogs. Default: `true`. */
  accept?: boolean | null | undefined;
  /** Text to enter into prompts, at most 10000 characters; may contain placeholders. */
  text?: string | null | undefined;
}

/** Clicks twice. */
export interface DoubleClickAction {
  type: 'double_click';
  x?: X | undefined;
  y?: Y | undefined;
  button?: Button | undefined;
  modifiers?: Modifiers | undefined;
}

export interface DownloadNotReadyDetails {
  /** Number of bytes received so far. */
  received_bytes: number;
  /** Size of the file in bytes; null if unknown. */
  total_bytes: number | null;
}

export interface DownloadResponse {
  /** Id of the download. */
  download_id: string;
  /** URL from which the file was downloaded. */
  url: string;
  /** File name that the site suggests, sanitized for file systems. */
  suggested_filename: string;
  /** Status of the download. */
  status: 'in_progress' | 'completed' | 'cancelled' | 'too_large';
  /** Number of bytes received so far. */
  received_bytes: number;
  /** Size of the file in bytes; null if unknown. */
  total_bytes: number | null;
  /** When the download started (RFC 3339, UTC). */
  started_at: string;
  /** When the download finished (RFC 3339, UTC); null while it is in progress. */
  finished_at: string | null;
}

/** Downloads a file by a click or from a URL. Exactly one of `selectors` and `url` is required. */
export interface DownloadStep extends StepFields {
  type: 'download';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Selectors of the element to click. */
  selectors?: Array<Selector> | null | undefined;
  ref?: StepRef | undefined;
  /** URL of the file. */
  url?: string | null | undefined;
}

/** Drags along a path. */
export interface DragAction {
  type: 'drag';
  /** Points, 2 to 100: the button goes down at the first and up at the last. */
  path: Array<DragActionPathItem>;
  button?: Button | undefined;
  modifiers?: Modifiers | undefined;
}

export interface DragActionPathItem {
  /** Distance from the left edge, in pixels of the screenshot. */
  x: number;
  /** Distance from the top edge, in pixels of the screenshot. */
  y: number;
}

/** Drags an element to another element or by a distance. */
export interface DragStep extends StepFields {
  type: 'drag';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: StepSelectors | undefined;
  ref?: StepRef | undefined;
  /** Selectors of the element to drop on. Exactly one of `to`, `to_ref` and `by` is required. */
  to?: Array<Selector> | null | undefined;
  /** Reference of the element to drop on, from a snapshot, instead of `to`. */
  to_ref?: string | null | undefined;
  /** Distance to drag, for sliders and canvases. */
  by?: DragStepBy | null | undefined;
  position?: StepPosition | undefined;
  /** Offset from the top left corner of the element to drop on. Default: its center. */
  to_position?: DragStepToPosition | null | undefined;
  /** Number of mouse moves, 1 to 100. Default: 10. */
  moves?: number | null | undefined;
  force?: StepForce | undefined;
}

/** Distance to drag, for sliders and canvases. */
export interface DragStepBy {
  x: StepX;
  y: StepY;
}

/** Offset from the top left corner of the element to drop on. Default: its center. */
export interface DragStepToPosition {
  x: StepX;
  y: StepY;
}

export interface DrainWorkerRequest {
  /** Seconds after which sessions that still run are ended, 0 to 604800. Default: null, they go on until they end. */
  limit_seconds?: number | null | undefined;
}

export interface EconomicsResponse {
  /** Always `economics`. */
  object: 'economics';
  /** The current month in UTC, `YYYY-MM`. */
  month: string;
  /** Time of the figures (RFC 3339, UTC). */
  at: string;
  /** Currency of all amounts, ISO 4217; null without a price file. */
  currency: string | null;
  revenue: Revenue;
  /** Cost of the month up to now. */
  cost: EconomicsResponseCost;
  /** Revenue less cost, in `currency`. */
  margin: number;
  /** Margin in percent of the revenue, with two decimals; null without revenue. */
  margin_pct: number | null;
  /** What the cost of usage is made of. */
  usage: EconomicsResponseUsage;
  /** Credits of the month. */
  credits: EconomicsResponseCredits;
  /** The same by plan, without fixed cost. */
  by_plan: Array<EconomicsResponseByPlanItem>;
  /** The 50 owners with the highest cost, without fixed cost; owners of equal cost by revenue. */
  by_owner: Array<EconomicsResponseByOwnerItem>;
  /** The whole month, if usage and redeemed credits continue at the average of the month so far. */
  forecast: EconomicsResponseForecast;
  /** What the figures rest on, and what they leave out, each as a sentence. */
  assumptions: Array<string>;
}

export interface EconomicsResponseByOwnerItem {
  /** Id of the owner. */
  owner: string;
  /** Plan of the owner. */
  tier: string;
  revenue: Revenue;
  cost: UsageCost;
  /** Revenue less cost, in `currency`. */
  margin: number;
  /** Margin in percent of the revenue, with two decimals; null without revenue. */
  margin_pct: number | null;
}

export interface EconomicsResponseByPlanItem {
  /** Plan. */
  tier: string;
  /** Owners on the plan with revenue or usage in this month. */
  owners: number;
  revenue: Revenue;
  cost: UsageCost;
  /** Revenue less cost, in `currency`. */
  margin: number;
  /** Margin in percent of the revenue, with two decimals; null without revenue. */
  margin_pct: number | null;
}

/** Cost of the month up to now. */
export interface EconomicsResponseCost {
  /** Time of browsers, in `currency`. */
  vm_hours: number;
  /** Traffic, in `currency`. */
  egress: number;
  /** Solved captchas, in `currency`. */
  captcha: number;
  /** Fixed cost of the whole month, in `currency`. */
  fixed: number;
  /** Sum of all, in `currency`. */
  total: number;
}

/** Credits of the month. */
export interface EconomicsResponseCredits {
  /** Credits granted by operators, less those taken back. */
  granted: number;
  /** Credits redeemed with codes. */
  redeemed: number;
  /** Credits charged. */
  spent: number;
}

/** The whole month, if usage and redeemed credits continue at the average of the month so far. */
export interface EconomicsResponseForecast {
  /** Revenue, in `currency`. */
  revenue: number;
  /** Cost, in `currency`. */
  cost: number;
  /** Revenue less cost, in `currency`. */
  margin: number;
  /** Margin in percent of the revenue, with two decimals; null without revenue. */
  margin_pct: number | null;
}

/** What the cost of usage is made of. */
export interface EconomicsResponseUsage {
  /** Hours of browsers, with six decimals. */
  vm_hours: number;
  /** Bytes in both directions, by type of egress. */
  egress_bytes: EconomicsResponseUsageEgressBytes;
  /** Solved captchas. */
  captcha_solves: number;
}

/** Bytes in both directions, by type of egress. */
export interface EconomicsResponseUsageEgressBytes {
  /** Direct traffic. */
  direct: number;
  /** Traffic of sessions and fetches with a managed proxy. */
  managed: number;
  /** Traffic of sessions and fetches with rotating proxies. */
  rotating: number;
  /** Traffic of sessions and fetches with a proxy of their own. */
  external: number;
}

export interface ErrorBody {
  /** The error. */
  error: ErrorBodyError;
  /** The same as `error.code`. */
  code: string;
  /** The same as `error.message`. */
  detail: string;
}

/** The error. */
export interface ErrorBodyError {
  /** Error code. */
  code: 'bad_request' | 'unknown_task' | 'unknown_template' | 'invalid_signature' | 'missing_api_key' | 'missing_admin_key' | 'missing_view_token' | 'missing_login_token' | 'invalid_login_token' | 'missing_metrics_token' | 'insufficient_credits' | 'plan_limit_exceeded' | 'invalid_api_key' | 'invalid_admin_key' | 'invalid_connect_token' | 'invalid_sign_in_link' | 'invalid_view_token' | 'invalid_metrics_token' | 'origin_not_allowed' | 'premium_egress_required' | 'session_not_found' | 'tab_not_found' | 'ref_not_found' | 'job_not_found' | 'download_not_found' | 'connect_token_not_found' | 'profile_not_found' | 'skill_not_found' | 'owner_not_found' | 'worker_not_found' | 'key_not_found' | 'code_not_found' | 'recording_not_found' | 'asset_not_found' | 'route_not_found' | 'method_not_allowed' | 'request_timeout' | 'download_not_ready' | 'stale_ref' | 'upload_limit_reached' | 'last_tab' | 'tab_limit_reached' | 'session_busy' | 'session_ended' | 'session_not_ready' | 'report_not_available' | 'name_taken' | 'code_already_redeemed' | 'plan_active' | 'no_subscription' | 'key_limit_reached' | 'connect_token_limit_reached' | 'key_revoked' | 'vnc_unavailable' | 'profile_locked' | 'profile_unreadable' | 'profile_limit_reached' | 'idempotency_conflict' | 'idempotency_in_progress' | 'answer_lost' | 'code_expired' | 'job_expired' | 'body_too_large' | 'uri_too_long' | 'unsupported_media_type' | 'range_not_satisfiable' | 'rate_limited' | 'too_many_streams' | 'concurrency_limit' | 'create_rate_limit' | 'headers_too_large' | 'internal_error' | 'not_implemented' | 'navigation_failed' | 'page_failed' | 'billing_provider_failed' | 'session_lost' | 'no_capacity' | 'starting' | 'draining' | 'region_unavailable' | 'billing_not_configured' | 'login_unavailable' | 'store_unavailable' | 'worker_unreachable' | 'deadline_exceeded';
  /** What is wrong and what to do. */
  message: string;
  /** Whether the same request may succeed later without a change. */
  retryable: boolean;
  /** Id of the request, the same as in `X-Request-Id`. */
  request_id: string;
  /** Further data about the error; its fields depend on the code. */
  details: Record<string, unknown>;
}

/** Evaluates JavaScript in the page, where the operator allows it. Placeholders are not filled in. A promise is awaited. */
export interface EvaluateStep extends StepFields {
  type: 'evaluate';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** JavaScript expression, 1 to 100000 characters. */
  expression: string;
}

export interface ExtractField {
  /** CSS selector of the element, 1 to 2000 characters. */
  selector: string;
  /** Attribute to read instead of the text. `href` and `src` are returned as absolute URLs. */
  attr?: string | null | undefined;
  /** Type of the value. Default: `text`. */
  type?: 'text' | 'html' | 'number' | 'url' | 'date' | 'boolean' | null | undefined;
  list?: List | undefined;
}

/** Extracts values from the page. At least one of `selectors`, `fields`, `table` and `json_ld` is required. */
export interface ExtractStep extends StepFields {
  type: 'extract';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  ref?: StepRef | undefined;
  /** Selectors of the element to read; with `list`, of all elements; with `fields`, of the element in which the fields are searched. */
  selectors?: Array<Selector> | null | undefined;
  /** Attribute to read; URLs are made absolute. Default: the text of the element. */
  attribute?: string | null | undefined;
  /** Type of the value. Default: `text`. */
  as?: 'text' | 'html' | 'value' | 'number' | 'boolean' | 'date' | 'url' | null | undefined;
  list?: List | undefined;
  /** Values to extract, by name, at most 100; with `list`, an object for each match of `selectors`. */
  fields?: Record<string, StepExtractField> | null | undefined;
  /** Whether to return the table at `selectors`, or all tables of the page. Default: `false`. */
  table?: boolean | null | undefined;
  /** Whether to return the JSON-LD documents of the page. Default: `false`. */
  json_ld?: boolean | null | undefined;
  /** Maximum number of matches in a list, 1 to 10000. Default: 1000. */
  limit?: number | null | undefined;
}

/** What a page that could not be loaded failed with, or what is like a stale reference; only of such a failure. */
export interface FailureDetails {
  /** Why a page could not be loaded, as in the error `navigation_failed`. */
  reason?: string | undefined;
  /** Error of the network for such a page, such as `net::ERR_NAME_NOT_RESOLVED`; null if there was none. */
  net_error?: string | null | undefined;
  /** The elements that are most like the one that a stale reference had, at most 5, best first. */
  candidates?: Array<FailureDetailsCandidatesItem> | undefined;
}

export interface FailureDetailsCandidatesItem {
  /** Reference for steps. */
  ref: string;
  /** ARIA role of the element. */
  role: string;
  /** Accessible name of the element. */
  name: string;
}

export interface FetchAttempt {
  /** Number of the attempt, from 1. */
  n: number;
  /** When the attempt started (RFC 3339, UTC). */
  started_at: string;
  /** Strategy of the attempt. */
  strategy: 'direct' | 'wait_retry' | 'throttle' | 'rotate_egress' | 'fresh_context' | 'full_browser' | 'captcha_provider' | 'human';
  /** Whether a browser or plain HTTP was used. */
  mode: 'browser' | 'http';
  /** Egress of the attempt. */
  egress: FetchAttemptEgress;
  /** Kind of machine that was used. */
  kind: string;
  status_code: StatusCode;
  /** Result of the attempt. */
  status: 'ok' | 'blocked' | 'error';
  /** Type of block; null if the attempt was not blocked. */
  block_type: 'rate_limited' | 'challenge' | 'captcha' | 'access_denied' | 'bot_wall' | 'geo_blocked' | 'login_wall' | 'consent_wall' | 'empty_shell' | 'robots_disallowed' | 'cooldown' | 'unknown' | null;
  /** Error code; null if the attempt did not fail. */
  error_code: string | null;
  /** Duration of the attempt in milliseconds. */
  duration_ms: number;
}

/** Egress of the attempt. */
export interface FetchAttemptEgress {
  /** How traffic left: `direct`, or `managed`, `rotating` or `external` for proxies of this type. */
  type: string;
  /** Country of the egress that was used, ISO 3166-1 alpha-2; null if unknown. */
  country: string | null;
}

export interface FetchRequest {
  /** URL to fetch, `http` or `https`, at most 8192 characters. */
  url: string;
  /** Formats to return. Default: `html` and `metadata`. */
  formats?: Array<'html' | 'raw' | 'markdown' | 'text' | 'links' | 'metadata' | 'screenshot' | 'pdf' | 'json' | 'tables' | 'har' | 'snapshot'> | null | undefined;
  /** How to fetch. `browser`: load the page in a browser. `http`: send one plain request; JavaScript does not run. `auto`: `http` first, and a browser if the page needs one. Default: `browser`. */
  mode?: 'browser' | 'http' | 'auto' | null | undefined;
  /** HTTP method. Methods other than GET require `mode: http`. Default: `GET`. */
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS' | null | undefined;
  /** Request body, at most 2,000,000 characters. Requires `mode: http`. Default: null, none. */
  body?: string | null | undefined;
  /** Up to 20 HTTP headers to send. `Referer` is the referrer that scripts see too, and `User-Agent` what `navigator.userAgent` says. Default: none. */
  headers?: Record<string, string> | null | undefined;
  /** Up to 100 cookies to send. Default: none. */
  cookies?: Array<FetchRequestCookiesItem> | null | undefined;
  /** Id of a session to fetch with: its active tab, cookies and egress are used. Default: null, a browser context of its own. */
  session_id?: string | null | undefined;
  /** Region code from `GET /v1/regions`, from which the fetch’s traffic leaves. Default: the region of the worker that receives the request. */
  region?: string | null | undefined;
  /** Proxy for the fetch. Default: null, the region’s egress: directly from the worker if it is in the region, else through one of the region’s managed proxies. */
  proxy?: ProxyRequest | null | undefined;
  /** Kind of browser. `full_browser` has windows on a display, and takes longer to start. Requires `mode: browser` or `auto`. Default: `headless`. */
  kind?: 'headless' | 'full_browser' | null | undefined;
  profile?: Profile | undefined;
  wait_until?: WaitUntil | undefined;
  /** Further conditions to wait for after the page event. Default: null, none. */
  wait_for?: FetchRequestWaitFor | null | undefined;
  /** Maximum time for the whole fetch including retries, in milliseconds, 1000 to 180000. Each attempt may use all that is left. Default: 30000. */
  timeout_ms?: number | null | undefined;
  /** Steps to run on the page before its content is read, at most 50. Default: none. */
  actions?: Array<Step> | null | undefined;
  /** Whether to return only the main content of the page, without navigation and footer. Default: `false`. */
  only_main_content?: boolean | null | undefined;
  /** CSS selectors of the elements to keep, at most 50. Default: the whole page. */
  include_selectors?: Array<string> | null | undefined;
  /** CSS selectors of elements to remove, at most 50. Default: none. */
  exclude_selectors?: Array<string> | null | undefined;
  /** Values to extract from the page, returned in `json`. Default: null, none. */
  extract?: FetchRequestExtract | null | undefined;
  /** Options of the `screenshot` format. Default: null, the defaults of each option. */
  screenshot?: FetchRequestScreenshot | null | undefined;
  /** Options of the `snapshot` format. Default: null, the defaults of each option. */
  snapshot?: FetchSnapshotOptions | null | undefined;
  /** Options of the `pdf` format. Default: null, the defaults of each option. */
  pdf?: PdfOptions | null | undefined;
  /** Whether to refuse connections to known advertising and tracking hosts. Default: `false`. */
  block_ads?: boolean | null | undefined;
  /** Types of resources that the page does not load. Default: none. */
  block_resources?: Array<'image' | 'media' | 'font' | 'stylesheet' | 'websocket'> | null | undefined;
  /** When and how often to retry. */
  retry?: FetchRequestRetry | null | undefined;
  block_detection?: BlockDetection | undefined;
  /** Whether to respect the site’s robots.txt. Default: `false`. */
  respect_robots?: boolean | null | undefined;
  async?: Async | undefined;
  metadata?: Metadata | undefined;
}

export interface FetchRequestCookiesItem {
  /** Name of the cookie, 1 to 256 characters. */
  name: string;
  /** Value of the cookie, at most 4096 characters. */
  value: string;
  /** Domain of the cookie. Default: the host of `url`. */
  domain?: string | null | undefined;
  /** Path of the cookie. Default: `/`. */
  path?: string | null | undefined;
}

/** Values to extract from the page, returned in `json`. Default: null, none. */
export interface FetchRequestExtract {
  /** The values to extract, by name, at most 100. */
  fields: Record<string, ExtractField>;
}

export interface FetchRequestRetry {
  /** Maximum number of attempts, 1 to 5. Default: 2. */
  max_attempts?: number | null | undefined;
  /** Results after which to retry. Default: all of them. */
  on?: Array<'blocked' | 'timeout' | 'proxy_error' | '5xx'> | null | undefined;
  /** Whether to fetch although the site is in a cooldown. Default: `false`. */
  ignore_cooldown?: boolean | null | undefined;
}

/** Options of the `screenshot` format. Default: null, the defaults of each option. */
export interface FetchRequestScreenshot {
  /** Whether to capture the full page instead of the visible area. Default: `true`. */
  full_page?: boolean | null | undefined;
  format?: Format | undefined;
  quality?: Quality | undefined;
  /** Selector of a single element to capture. */
  selector?: Selector | null | undefined;
  /** Whether to scroll through a full page first, so that lazy-loaded images are present. Default: `true`. */
  scroll_first?: boolean | null | undefined;
}

/** Further conditions to wait for after the page event. Default: null, none. */
export interface FetchRequestWaitFor {
  /** Selector that must match an element. */
  selector?: Selector | null | undefined;
  text?: Text | undefined;
  /** Milliseconds to wait, 0 to 30000. */
  ms?: number | null | undefined;
}

export interface FetchResponse {
  /** Result of the fetch; `pending` while its job runs. */
  status: 'pending' | 'ok' | 'blocked' | 'error';
  /** Id of the fetch’s job, which can be polled; null for a fetch without `async`. */
  job_id: string | null;
  /** Id of the session whose browser loaded the page; null if no browser did. */
  session_id: string | null;
  /** URL at which to poll the job, the same as in `Location`; null for a synchronous fetch. */
  poll_url: string | null;
  /** URL that was requested. */
  url: string;
  /** URL of the page after all redirects; null if no response was received. */
  final_url: string | null;
  /** Redirects that were followed, in order. Pages that led on by themselves, by a refresh or a script, are among them with their own status. */
  redirects: Array<FetchResponseRedirectsItem>;
  /** HTTP status of the last response for the page itself; null if none was received. */
  status_code: number | null;
  /** Headers of the page’s response, without `set-cookie`. */
  headers: Record<string, string>;
  /** Media type of the page’s response; null if unknown. */
  content_type: string | null;
  /** Title of the page; null if there is none. */
  title: string | null;
  /** The document after JavaScript has run, at most 8 MB; null if not requested or not available. */
  html: string | null;
  /** The bytes as received: for the format `raw`, and for every response that is not HTML. */
  raw: Bytes | null;
  /** Visible content as Markdown; null if not requested or not available. */
  markdown: string | null;
  /** Visible content as plain text; null if not requested or not available. */
  text: string | null;
  /** Links of the page; null if not requested or not available. */
  links: Array<Link> | null;
  /** Metadata of the page; null if not requested or not available. */
  page: FetchResponsePage | null;
  /** The screenshot; null if not requested or not available. */
  screenshot: PictureResponse | null;
  /** The page as an accessibility tree, a line for each node; null if not requested or not available. With `session_id` elements have references for the steps of that session. */
  snapshot: string | null;
  /** The PDF document; null if not requested or not available. */
  pdf: Bytes | null;
  /** The extracted fields, or the response itself if it is JSON. */
  json: unknown;
  /** Tables of the page; null if not requested or not available. */
  tables: Array<FetchResponseTablesItem> | null;
  /** Network traffic as HAR 1.2 without bodies; null if not requested or not available. */
  har: FetchResponseHar | null;
  /** Results of the steps that ran, in order. */
  actions: Array<StepResult>;
  block: FetchResponseBlock;
  /** Captcha on the page; null if no page was loaded. */
  captcha: Captcha | null;
  /** Attempts of the fetch, in order. */
  attempts: Array<FetchAttempt>;
  /** The attempt that succeeded; null if none did. */
  resolved_by: FetchResponseResolvedBy | null;
  /** Durations in milliseconds. */
  timings: FetchResponseTimings;
  /** Network traffic of the page’s own requests in bytes, as sent on the wire. */
  bytes: FetchResponseBytes;
  /** Resources that the fetch has used. */
  usage: WorkUsage;
  /** Warnings that explain missing or incomplete results, such as `load_timed_out` or `html_truncated`. */
  warnings: Array<string>;
  /** Error of a fetch with `status: error`; null otherwise. */
  error: WorkError | null;
  metadata: AgentResponseMetadata;
  /** When the fetch was created (RFC 3339, UTC). */
  created_at: string;
  /** When the fetch finished (RFC 3339, UTC); null while it is pending. */
  finished_at: string | null;
}

/** The detected block, with its evidence; null if the page shows no sign of one. */
export type FetchResponseBlock = Block | null;

/** Network traffic of the page’s own requests in bytes, as sent on the wire. */
export interface FetchResponseBytes {
  /** Bytes received. */
  in: number;
  /** Bytes sent. */
  out: number;
}

/** Network traffic as HAR 1.2 without bodies; null if not requested or not available. */
export interface FetchResponseHar {
  /** The HAR 1.2 log: creator, pages and entries. */
  log: Record<string, unknown>;
}

/** Metadata of the page; null if not requested or not available. */
export interface FetchResponsePage {
  /** Title of the page; null if there is none. */
  title: string | null;
  /** Description from the page’s metadata; null if there is none. */
  description: string | null;
  /** Language of the page; null if not stated. */
  language: string | null;
  /** Canonical URL; null if not stated. */
  canonical: string | null;
  /** URL of the icon; null if there is none. */
  favicon: string | null;
  /** Open Graph properties. */
  open_graph: Record<string, string>;
  /** JSON-LD documents of the page. */
  json_ld: Array<unknown>;
}

export interface FetchResponseRedirectsItem {
  /** URL that redirected. */
  url: string;
  /** HTTP status of the redirect. */
  status_code: number;
}

/** The attempt that succeeded; null if none did. */
export interface FetchResponseResolvedBy {
  /** Whether a browser or plain HTTP was used. */
  mode: 'browser' | 'http';
  /** Strategy of the attempt. */
  strategy: 'direct' | 'wait_retry' | 'throttle' | 'rotate_egress' | 'fresh_context' | 'full_browser' | 'captcha_provider' | 'human';
  /** Why `auto` chose this mode, such as `needs_script` or `no_browser_needed`; null for other modes. */
  reason: string | null;
}

export interface FetchResponseTablesItem {
  /** Caption of the table; null if it has none. */
  caption: string | null;
  /** Texts of the header cells. */
  headers: Array<string>;
  /** Texts of the cells, row by row. */
  rows: Array<Array<string>>;
}

/** Durations in milliseconds. */
export interface FetchResponseTimings {
  /** Time spent waiting in the queue, in milliseconds. */
  queue_ms: number;
  /** Time spent obtaining a browser, in milliseconds. */
  session_ms: number;
  /** Time to the first byte of the page in milliseconds; null if no response was received. */
  ttfb_ms: number | null;
  /** Time until the page had loaded in milliseconds; null if it did not. */
  load_ms: number | null;
  /** Total time in milliseconds. */
  total_ms: number;
}

export interface FetchSnapshotOptions {
  /** `full`: texts, lists, tables and images, too. `interactive`: what can be operated, with headings, landmarks and messages. Default: `full`. */
  mode?: 'interactive' | 'full' | null | undefined;
  /** Only what matches, with what is around it: a part of the role, name, value or row in any case, `"the whole text"`, or `/a regular expression/` with the flags `imsuv`. Default: everything. */
  find?: string | null | undefined;
  /** Maximum size in tokens, 100 to 32000, as far as they can be estimated. Default: 32000. */
  max_tokens?: number | null | undefined;
  /** Whether to add the URLs of links. Default: `false`. */
  urls?: boolean | null | undefined;
}

/** Sets the value of a field at once: text fields, editable elements, dates, colors and ranges. */
export interface FillStep extends StepFields {
  type: 'fill';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: StepSelectors | undefined;
  ref?: StepRef | undefined;
  /** Value to set, at most 100000 characters; may contain placeholders. */
  value: string;
  /** Whether to replace the existing value instead of appending to it. Default: `true`. */
  clear?: boolean | null | undefined;
  force?: StepForce | undefined;
}

/** Runs steps for each element, or for each item of a list. */
export interface ForEachStep extends StepFields {
  type: 'for_each';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Elements to iterate over. They are counted again before each iteration. Steps with `within` search in the current element; the variable holds its `index`, `text` and `href`. */
  selectors?: Array<Selector> | null | undefined;
  /** List to iterate over instead of elements: `{{vars.name}}` or `{{inputs.name}}`. */
  over?: string | null | undefined;
  /** Name of the variable with the current item. Default: `item`. */
  as?: string | null | undefined;
  /** Steps to run in each iteration, at most 50. */
  steps: Array<Step>;
  /** Maximum number of iterations, 1 to 500. Default: 100. */
  max?: number | null | undefined;
}

/** Image format. Default: `png`. */
export type Format = 'png' | 'jpeg' | 'webp' | null;

/** Goes forward in the history of the tab. */
export interface ForwardStep extends StepFields {
  type: 'forward';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  wait_until?: WaitUntil | undefined;
}

export interface GetHarReply {
  /** The HAR 1.2 log: creator, pages and entries. */
  log: Record<string, unknown>;
}

export interface GrantRequest {
  /** Id of the owner. The owner is created if it does not exist. */
  owner: string;
  /** Credits to add, or to take back if negative: at most 1,000,000,000, with up to 6 decimals. */
  amount: number;
  /** Note for the audit log, at most 500 characters. Default: null, none. */
  note?: string | null | undefined;
}

export interface HealthResponse {
  /** Overall status: the worst of all checks except `event_loop`, `loops`, `keys` and `browser`, which only report. `starting` until the worker is ready. */
  status: 'ok' | 'degraded' | 'unhealthy' | 'starting';
  /** Results of the checks, by name: each with its `status` and a `note`. */
  checks: Record<string, HealthResponseChecksValue>;
}

export interface HealthResponseChecksValue {
  /** Status of the check. */
  status: 'ok' | 'degraded' | 'unhealthy';
  /** Explanation of the status. */
  note: string;
}

/** Height in CSS pixels, 240 to 2160. */
export type Height = number;

/** Moves the mouse over an element. */
export interface HoverStep extends StepFields {
  type: 'hover';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: StepSelectors | undefined;
  ref?: StepRef | undefined;
  position?: StepPosition | undefined;
  force?: StepForce | undefined;
  /** Modifier keys to hold. Default: none. */
  modifiers?: Array<'Alt' | 'Control' | 'Meta' | 'Shift'> | null | undefined;
}

/** Returns the HTML of the page or an element. */
export interface HtmlStep extends StepFields {
  type: 'html';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: HtmlStepSelectors | undefined;
  ref?: StepRef | undefined;
}

/** Selectors of a single element to read. Default: the page. */
export type HtmlStepSelectors = Array<Selector> | null;

/** Runs steps depending on a condition. */
export interface IfStep extends StepFields {
  type: 'if';
  timeout_ms?: StepTimeoutMs | undefined;
  /** Condition that decides which steps run. */
  if: StepCondition;
  /** Steps that run if the condition holds, at most 50. */
  steps: Array<Step>;
  /** Steps that run if the condition does not hold, at most 50. Default: none. */
  else?: Array<Step> | null | undefined;
}

export interface InspectAction {
  /** Position of the step in its list, from 0. */
  index: number;
  /** Type of the step. */
  type: string;
  /** Result of the step: `ok`, `error` or `skipped`. */
  status: string;
  /** Error code of a failed step; null otherwise. */
  error_code: string | null;
  /** Duration of the step in milliseconds. */
  duration_ms: number;
}

export interface InspectAlternate {
  /** Language of the version, such as `de` or `x-default`. */
  lang: string;
  /** URL of the version. */
  url: string;
}

export interface InspectAmount {
  /** Number of requests. */
  count: number;
  /** Bytes on the wire, headers included where they are known. */
  transfer_bytes: number;
  /** Bytes of the bodies, decompressed. */
  resource_bytes: number;
}

export interface InspectAntiAutomation {
  /** Vendor of the protection. */
  vendor: string;
  /** Where it was seen. */
  reasons: Array<string>;
  /** Whether a challenge or a captcha was shown, or a request was refused. */
  challenge_seen: boolean;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectApi {
  /** Counts. */
  summary: InspectApiSummary;
  /** Endpoints, in order of their first call, at most 1000. */
  endpoints: Array<InspectEndpoint>;
  /** GraphQL endpoints. */
  graphql: Array<InspectGraphql>;
  /** WebSockets. */
  websockets: Array<InspectWebSocket>;
  /** Event streams. */
  event_streams: Array<InspectEventStream>;
  /** Descriptions of the API that the site publishes. */
  specs_found: Array<InspectApiSpecsFoundItem>;
  /** OpenAPI 3.1 document of the endpoints; null if not requested. */
  openapi: Record<string, unknown> | null;
  /** TypeScript client of the endpoints, one module without imports; null if not requested. */
  client: string | null;
}

/** Ids of the requests, at most 20. */
export type InspectApiEvidence = Array<string>;

export interface InspectApiSpecsFoundItem {
  /** URL of the document. */
  url: string;
  /** Type of the document. */
  type: 'openapi' | 'swagger' | 'wsdl' | 'graphql_schema' | 'opensearch' | 'asyncapi';
  /** Version of its format; null if it is not known. */
  version: string | null;
  evidence: InspectApiEvidence;
}

/** Counts. */
export interface InspectApiSummary {
  /** Number of endpoints. */
  endpoints: number;
  /** Hosts of endpoints. */
  hosts: Array<string>;
  /** Endpoints of the site. */
  first_party: number;
  /** Endpoints of others. */
  third_party: number;
  /** Number of GraphQL operations. */
  graphql_operations: number;
  /** Number of WebSocket URLs. */
  websockets: number;
  /** Number of event streams. */
  event_streams: number;
  /** Number of calls. */
  total_calls: number;
  /** Calls that failed with 4xx. */
  errors_4xx: number;
  /** Calls that failed with 5xx. */
  errors_5xx: number;
  /** Characters of all JSON responses. */
  json_bytes: number;
  /** Endpoints that were left out because of the limit of 1000. */
  omitted_endpoints: number;
}

export interface InspectAssetRequest {
  /** Id of the request, such as `r12`. */
  id: string;
  /** Id of the page that sent it. */
  page: string | null;
  /** URL, with redacted values. */
  url: string;
  /** Method. */
  method: string;
  /** Resource type. */
  type: 'document' | 'script' | 'stylesheet' | 'image' | 'font' | 'media' | 'xhr' | 'fetch' | 'websocket' | 'manifest' | 'other';
  /** Status of the response; 0 without one. */
  status_code: number;
  /** Media type of the response; empty without one. */
  mime_type: string;
  /** Protocol, such as `h2`; empty if it is unknown. */
  protocol: string;
  /** Priority that the browser gave it. */
  priority: string | null;
  /** Whether it belongs to the inspected site. */
  first_party: boolean;
  /** Start, in milliseconds from the start of the capture. */
  start_ms: number;
  /** Duration in milliseconds. */
  duration_ms: number;
  /** Time from sending the request to the first byte of the response. */
  ttfb_ms: number | null;
  /** Bytes on the wire. */
  transfer_bytes: number;
  /** Bytes of the body, decompressed. */
  resource_bytes: number;
  /** URL that made the browser send it, or the kind of initiator. */
  initiator: string | null;
  /** Whether the browser cache answered it. */
  from_cache: boolean;
  /** Whether a service worker answered it. */
  from_service_worker: boolean;
  /** Whether the first paint waited for it. */
  render_blocking: boolean;
  /** `Content-Encoding` of the response. */
  compression: string | null;
  /** Seconds for which the response may be cached; null if it does not say. */
  cache_ttl_s: number | null;
  /** Why the browser or its egress policy refused it. */
  blocked_reason: string | null;
  /** Network error, such as `net::ERR_CONNECTION_REFUSED`. */
  error: string | null;
}

export interface InspectAssetSummary {
  /** Number of requests. */
  requests: number;
  /** Bytes on the wire. */
  transfer_bytes: number;
  /** Bytes of the bodies, decompressed. */
  resource_bytes: number;
  /** Share of text resources, by bytes, that were sent compressed, in percent. */
  compressed_pct: number;
  /** Responses from the browser cache. */
  cached: number;
  /** Requests that failed or were answered 400 or above. */
  failed: number;
  /** Requests that the browser or its egress policy refused. */
  blocked_by_client: number;
  /** Amounts by resource type; types that did not occur are left out. */
  by_type: Record<string, InspectAmount>;
  /** Number of requests by protocol, such as `h2`. */
  by_protocol: Record<string, number>;
  /** Bytes on the wire of the site itself and of its sibling hosts. */
  first_party_bytes: number;
  /** Bytes on the wire of other sites. */
  third_party_bytes: number;
  /** Timings of the first page, in milliseconds from the start of the navigation. */
  timings: InspectTimings;
}

export interface InspectAssets {
  /** Totals of the capture. */
  summary: InspectAssetSummary;
  /** All requests in the order of the capture, at most 2,000. */
  requests: Array<InspectAssetRequest>;
  /** The longest chain of requests that the first paint waited for. */
  critical_chain: Array<InspectChainLink>;
  /** Scripts and style sheets that delayed the first paint, at most 50. */
  render_blocking: Array<InspectRenderBlocking>;
  /** The 20 largest resources by bytes on the wire. */
  largest: Array<InspectLargestAsset>;
  /** Resources that were loaded more than once, at most 50. */
  duplicates: Array<InspectDuplicate>;
  /** Text resources of 1,400 bytes and more that were sent uncompressed, at most 50. */
  uncompressed: Array<InspectUncompressed>;
  /** Static resources that may be cached for less than a week, largest first, at most 50. */
  uncached: Array<InspectUncached>;
  /** Bytes of scripts and style sheets that were not used; null if they were not measured. */
  unused_bytes: InspectUnusedBytes | null;
  /** Images that are larger than they are shown, at most 50. */
  oversized_images: Array<InspectOversizedImage>;
  /** Fonts, at most 50. */
  fonts: Array<InspectFont>;
  /** Resource hints of the pages, such as `preload` and `preconnect`, at most 100. */
  hints: Array<InspectResourceHint>;
  /** Requests that failed, at most 100. */
  failed: Array<InspectFailedRequest>;
  /** Errors in the console, at most 100. */
  console_errors: Array<InspectConsoleError>;
  /** Source maps that scripts and style sheets name, at most 100. They are not loaded. */
  sourcemaps: Array<InspectSourceMap>;
}

export interface InspectAuth {
  /** Whether the page itself needs a sign-in: it redirected to one, or showed only a sign-in form. */
  required_for_page: boolean;
  /** How requests authenticate, at most 50. */
  mechanisms: Array<InspectAuthMechanism>;
  /** Sign-in forms of the pages, at most 20. */
  login_forms: Array<InspectLoginForm>;
  /** Sign-in by an identity provider, at most 20. */
  sso: Array<InspectSso>;
  /** The OpenID Connect or OAuth provider; null if none was seen. */
  oidc: InspectOidc | null;
  /** Calls that renew a credential. */
  token_refresh: Array<InspectTokenRefresh>;
  /** URLs that end the session, at most 20. */
  logout_urls: Array<string>;
  /** CSRF tokens of requests, and where they come from. */
  csrf: Array<InspectCsrf>;
  /** Endpoints that the page called without a credential and that answered 401 or 403. Nothing is called for this. */
  unauthenticated_probes: Array<InspectUnauthenticatedProbe>;
  /** Seconds until the shortest known credential expires; null if none has an expiry. */
  session_lifetime_hint: number | null;
  /** Passkeys. `used`: the page called them. `available`: a field offers them. */
  webauthn: 'used' | 'available' | 'no';
  /** What to do to call the API of this site, in the order of the steps. */
  recommendations: Array<string>;
}

export interface InspectAuthMechanism {
  /** Id of the mechanism within the report, such as `auth1`. */
  id: string;
  /** Kind of mechanism. `none`: no request carried a credential. */
  type: 'cookie_session' | 'bearer_jwt' | 'bearer_opaque' | 'api_key' | 'basic' | 'oauth2' | 'oidc' | 'saml' | 'hmac_signed' | 'csrf_token' | 'none';
  /** Where requests carry it; null for `none`. */
  in: 'header' | 'cookie' | 'query' | 'body' | null;
  /** Name of the header, cookie, query parameter or body field. */
  name: string | null;
  /** Scheme of the `Authorization` header, such as `Bearer`; the flow of `oauth2` and `oidc`. */
  scheme: string | null;
  /** Hosts that receive it. */
  hosts: Array<string>;
  /** Ids of the endpoints in `api.endpoints` that receive it. */
  endpoints: Array<string>;
  /** Where the page stores it: `localStorage`, `sessionStorage`, a cookie, or only a variable of a script. */
  storage: 'local' | 'session' | 'cookie' | 'memory' | 'unknown';
  /** Ids of the requests whose response carried the credential first. */
  issued_by: Array<string>;
  /** Attributes of the cookie; null for what is no cookie. */
  cookie_flags: InspectCookieFlags | null;
  /** Header and claim names of the token; null for what is no JWT. */
  jwt: InspectJwt | null;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectAutomation {
  /** `http`: the raw HTML has the content. `api_replay`: JSON endpoints have it. `browser`: only scripts can make it. */
  recommended_mode: 'http' | 'browser' | 'api_replay';
  /** Why this mode is recommended. */
  reason: string;
  /** CSS selector that exists once the content is there; null if it is there at once. */
  wait_for: string | null;
  /** CSS selectors of repeated items and of the main content, best first, at most 5. */
  content_selectors: Array<string>;
  /** Whether scrolling loads more. */
  infinite_scroll: boolean;
  /** How to get to the next page of a list. */
  pagination: InspectPagination | null;
  /** A consent banner that may cover the page. */
  consent_banner: InspectConsentBanner | null;
  /** Frames of the pages, at most 20. */
  iframes: Array<InspectFrame>;
  /** Whether the pages use custom elements or shadow trees, which plain CSS selectors do not enter. */
  shadow_dom: boolean;
  /** Protections against automation, at most 20. */
  anti_automation: Array<InspectAntiAutomation>;
  /** What `robots.txt` means for automating this site. */
  robots_note: string | null;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectChainLink {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** Requests above it in the chain; 0 for the document. */
  depth: number;
  /** Start, in milliseconds from the start of the capture. */
  start_ms: number;
  /** End, in milliseconds from the start of the capture. */
  end_ms: number;
  /** Bytes on the wire. */
  transfer_bytes: number;
}

/** How sure the report is of it. */
export type InspectConfidence = 'high' | 'medium' | 'low';

export interface InspectConsentBanner {
  /** Vendor of the consent banner. */
  vendor: string | null;
  /** CSS selector of the banner. */
  selector: string;
}

export interface InspectConsoleError {
  /** The message, with redacted values, at most 500 characters. */
  text: string;
  /** Source of the message. */
  url: string | null;
  /** Line in the source. */
  line: number | null;
  /** How often it was logged. */
  count: number;
}

export interface InspectContentSecurityPolicy {
  /** Whether the page has an enforced policy. */
  present: boolean;
  /** Whether the policy lets any inline script run. */
  unsafe_inline: boolean;
  /** Whether the policy allows `eval`. */
  unsafe_eval: boolean;
  /** Whether the page has a policy that only reports. */
  report_only: boolean;
  /** Where the policy stands. */
  in: 'header' | 'meta' | null;
}

export interface InspectCookie {
  /** Name. The value is never reported. */
  name: string;
  /** Domain that receives it; with a leading dot, also the hosts below. */
  domain: string;
  /** Path that receives it. */
  path: string;
  /** Whether it belongs to the inspected site. */
  first_party: boolean;
  /** Whether scripts of the page cannot read it. */
  http_only: boolean;
  /** Whether it is sent over HTTPS only. */
  secure: boolean;
  /** The `SameSite` attribute; null if it is not set. */
  same_site: 'strict' | 'lax' | 'none' | null;
  /** Whether it is bound to the top-level site. */
  partitioned: boolean;
  /** Seconds from the start of the capture until it expires; null for a session cookie. */
  lifetime_s: number | null;
  /** Characters of name and value. */
  size: number;
  /** What it seems to be for. */
  purpose: 'auth' | 'csrf' | 'analytics' | 'ads' | 'bot_defence' | 'preference' | 'unknown';
  /** URL whose response set it; null for a cookie of a script, or from before. */
  set_by: string | null;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectCookieFlags {
  /** Whether scripts of the page cannot read the cookie. */
  http_only: boolean;
  /** Whether the cookie is sent over HTTPS only. */
  secure: boolean;
  /** The `SameSite` attribute; null if it is not set. */
  same_site: 'strict' | 'lax' | 'none' | null;
  /** Lifetime in seconds; null for a cookie that ends with the browser session. */
  expires_in: number | null;
}

export interface InspectCredential {
  /** Where it is sent. */
  in: 'header' | 'query' | 'cookie';
  /** Name of the header, parameter or cookie. */
  name: string;
  /** Scheme of an `Authorization` header, in lower case. */
  scheme: string | null;
}

export interface InspectCsrf {
  /** Name of the header, field or parameter that carries the token. */
  name: string;
  /** Where requests carry it. */
  in: 'header' | 'body' | 'query';
  /** Where the page gets the token: a meta element, a hidden field, a cookie, or the header or body of a response. */
  source: 'meta' | 'hidden' | 'cookie' | 'header' | 'body' | 'unknown';
  /** Name of the meta element, cookie, hidden field or header. */
  source_name: string | null;
  /** Ids of the endpoints that receive it. */
  endpoint_ids: Array<string>;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectDataBlob {
  /** Name of the blob, such as `__NEXT_DATA__`. */
  name: string;
  /** Names of its top keys, at most 50. */
  keys: Array<string>;
  /** Size in bytes. */
  bytes: number;
}

export interface InspectDependency {
  /** Id of the endpoint whose reply has the value. */
  endpoint_id: string;
  /** Where the value stands in that reply, such as `$.data[*].id`. */
  json_path: string;
  /** Where this endpoint takes the value. */
  in: 'path' | 'query' | 'header' | 'body';
  /** Name of the parameter, header or body field that takes it. */
  field: string;
  /** The request that had the value in its reply, and the request that sent it. */
  evidence: Array<string>;
}

export interface InspectDetected {
  /** Name, as in `technologies`. */
  name: string;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectDuplicate {
  /** URL of the first copy, with redacted values. */
  url: string;
  /** Ids of all copies. */
  request_ids: Array<string>;
  /** `url`: the same URL was loaded again. `content`: other URLs returned the same body. */
  by: 'url' | 'content';
  /** Bytes on the wire of all copies but the first. */
  wasted_bytes: number;
}

export interface InspectEndpoint {
  /** Id in this report, such as `E3`. */
  id: string;
  /** HTTP method. */
  method: string;
  /** Host, with the port if it is not the default one. */
  host: string;
  /** Path with parameters in braces, such as `/orders/{order_id}`. */
  path_template: string;
  /** URL of a call, without secrets. */
  example_url: string;
  /** Style of the API. `rpc`: the path names a procedure, such as `/rpc/search` or `/shop.v1.Orders/List`. `rest`: any other. */
  kind: 'rest' | 'graphql' | 'jsonrpc' | 'grpc_web' | 'trpc' | 'form' | 'rpc';
  /** Operation of GraphQL, or method of JSON-RPC, if all calls have the same; else null. */
  operation_name: string | null;
  /** Whether the host belongs to the site. */
  first_party: boolean;
  /** Parameters. */
  params: InspectEndpointParams;
  /** Request body; null without one. */
  request: InspectEndpointRequest | null;
  /** Responses by status. */
  responses: Array<InspectReply>;
  /** Pagination; null for none that was seen. */
  pagination: InspectEndpointPagination | null;
  /** Whether calls need a credential. */
  auth_required: 'yes' | 'no' | 'unknown';
  /** What that is inferred from. */
  auth_reason: string;
  /** Credentials that calls had; `auth.mechanisms` describes each. */
  auth_refs: Array<InspectCredential>;
  /** Token against cross-site requests; null for none. */
  csrf: InspectEndpointCsrf | null;
  /** Whether a call can be repeated by the rules of HTTP, or has an `Idempotency-Key`. */
  idempotent_hint: boolean;
  /** Rate limit that responses state; null for none. */
  rate_limit: InspectEndpointRateLimit | null;
  /** Cross-origin rules of the responses; null for none. */
  cors: InspectEndpointCors | null;
  /** What sent the first call; null if it is not known. */
  initiator: InspectEndpointInitiator | null;
  /** URL of the page that made the first call; null if it is not known. */
  triggered_by: string | null;
  /** Number of calls. */
  calls: number;
  /** Start of the first call, in milliseconds after the start of the capture. */
  first_seen_ms: number;
  /** What is unusual: `cached`, `deprecated`, `failed`, `redirected`, `slow`, `third_party`. */
  flags: Array<string>;
  /** Replies of other endpoints that this one takes values from. */
  depends_on: Array<InspectDependency>;
  /** Whether a program can repeat the call outside of the browser. */
  replayable: 'yes' | 'no' | 'needs_token';
  /** Command that repeats a call, with placeholders for secrets. It has the body only if `capture_bodies` is `samples`, else the name of a file. */
  curl: string;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

/** Cross-origin rules of the responses; null for none. */
export interface InspectEndpointCors {
  /** `Access-Control-Allow-Origin`. */
  allow_origin: string;
  /** Whether credentials are allowed. */
  credentials: boolean;
  /** Whether the browser sent a preflight request. */
  preflight: boolean;
}

/** Token against cross-site requests; null for none. */
export interface InspectEndpointCsrf {
  /** Where the token is sent. */
  in: 'header' | 'query' | 'body';
  /** Name of the header, parameter or field. */
  name: string;
  /** Where the page gets the token: a meta element, a hidden field, a cookie, or the header or body of a response. */
  source: 'meta' | 'hidden' | 'cookie' | 'header' | 'body' | 'unknown';
}

/** What sent the first call; null if it is not known. */
export interface InspectEndpointInitiator {
  /** Type of what sent the request, such as `script`. */
  type: string;
  /** URL of the script. */
  script_url: string | null;
  /** Line in the script, from 0. */
  line: number | null;
  /** Index of the action that ran before; null for none. */
  action_index: number | null;
}

/** Pagination; null for none that was seen. */
export interface InspectEndpointPagination {
  /** How the next page is named. `link`: by a URL in the response. */
  style: 'page' | 'offset' | 'cursor' | 'link';
  /** Parameters of the query that choose the page. */
  params: Array<string>;
  /** Where the response names the next page, such as `$.next_cursor` or `header link`; null if it does not. */
  next: string | null;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

/** Parameters. */
export interface InspectEndpointParams {
  /** Parameters of the path, in its order. */
  path: Array<InspectParameter>;
  /** Parameters of the query. */
  query: Array<InspectParameter>;
  /** Request headers that the API defines: no headers that browsers send by themselves. */
  header: Array<InspectParameter>;
}

/** Rate limit that responses state; null for none. */
export interface InspectEndpointRateLimit {
  /** Names of the headers. */
  headers: Array<string>;
  /** Calls per window. */
  limit: number | null;
  /** Calls that were left after the last response. */
  remaining: number | null;
  /** When the window ends, as the header has it. */
  reset: string | null;
}

/** Request body; null without one. */
export interface InspectEndpointRequest {
  /** Media type of the body. */
  content_type: string;
  /** Schema of the body; null if it is not JSON or a form. */
  schema: InspectJsonSchema | null;
  /** Whether each call had a body. */
  body_required: boolean;
  /** Start of a body without secrets; null unless `capture_bodies` is `samples`. */
  example: string | null;
}

export interface InspectEventStream {
  /** URL, without secrets. */
  url: string;
  /** Events by name. */
  events: Array<InspectEventStreamEventsItem>;
  evidence: InspectApiEvidence;
}

export interface InspectEventStreamEventsItem {
  /** What distinguishes the type, such as `type=update`; null if nothing does. */
  discriminator: string | null;
  /** Number of messages. */
  count: number;
  /** Schema of the messages; null if they are not JSON. */
  schema: InspectJsonSchema | null;
  /** Name of the event; `message` by default. */
  name: string;
}

/** Ids of the requests in which it was seen, at most 20. Empty for what only the page itself shows. */
export type InspectEvidence = Array<string>;

export interface InspectFailedRequest {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** Status of the response; 0 without one. */
  status_code: number;
  /** Network error; null for an HTTP status. */
  net_error: string | null;
}

export interface InspectFont {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** Format, such as `woff2`. */
  format: string | null;
  /** Bytes on the wire. */
  transfer_bytes: number;
  /** Whether the page preloads it. */
  preloaded: boolean;
}

export interface InspectFrame {
  /** URL of the frame; null for one without. */
  src: string | null;
  /** CSS selector of the frame. */
  selector: string;
  /** Whether the frame belongs to the inspected site. */
  first_party: boolean;
}

export interface InspectGraphql {
  /** URL of the endpoint, without query. */
  endpoint: string;
  /** Operations that were sent. */
  operations: Array<InspectGraphqlOperationsItem>;
  /** Whether the server describes its schema, if the page asked for it. */
  introspection: 'not_tested' | 'open' | 'closed';
  evidence: InspectApiEvidence;
}

export interface InspectGraphqlOperationsItem {
  /** Name of the operation; null for none. */
  name: string | null;
  /** Type of the operation; `unknown` if only its hash was sent. */
  type: 'query' | 'mutation' | 'subscription' | 'unknown';
  /** SHA-256 hash of a persisted operation; null for none. */
  hash: string | null;
  /** Fields at the root of the operation. */
  root_fields: Array<string>;
  /** Schema of the variables; null without any. */
  variables_schema: InspectJsonSchema | null;
  /** Number of calls. */
  calls: number;
}

/** JSON Schema, draft 2020-12, inferred from what was seen. */
export type InspectJsonSchema = Record<string, unknown>;

export interface InspectJwt {
  /** Signature algorithm of the header, such as `RS256`. */
  alg: string | null;
  /** Issuer. */
  iss: string | null;
  /** Audiences. */
  aud: Array<string>;
  /** Lifetime that was left when the token was seen, in seconds; null without `exp`. */
  exp_in_seconds: number | null;
  /** Names of all claims. Values of other claims are never reported. */
  claim_names: Array<string>;
}

export interface InspectLargestAsset {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** Resource type. */
  type: 'document' | 'script' | 'stylesheet' | 'image' | 'font' | 'media' | 'xhr' | 'fetch' | 'websocket' | 'manifest' | 'other';
  /** Bytes on the wire. */
  transfer_bytes: number;
  /** Bytes of the body, decompressed. */
  resource_bytes: number;
}

export interface InspectLoginField {
  /** Name of the field; empty if it has none. */
  name: string;
  /** Type of the input, such as `email`. */
  type: string;
  /** The `autocomplete` attribute. */
  autocomplete: string | null;
  /** CSS selector of the field. */
  selector: string;
}

export interface InspectLoginForm {
  /** URL of the page that has the form. */
  page: string;
  /** URL that the form is sent to; the page itself where a script sends it. */
  action: string;
  /** Method of the form. */
  method: 'get' | 'post';
  /** Fields that a person fills, in the order of the page, at most 30. */
  fields: Array<InspectLoginField>;
  /** CSS selector of the button that sends the form. */
  submit_selector: string | null;
  /** CSS selector of the password field; null in the first step of a form that asks for the user name alone. */
  password_field: string | null;
  /** Whether the form asks for a one-time code. */
  mfa_hint: boolean;
  /** Vendor of the captcha on the page. */
  captcha: string | null;
  /** Name of the hidden field with a CSRF token. */
  csrf_field: string | null;
  /** Whether page and action use HTTPS. */
  over_https: boolean;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectManifest {
  /** URL of the manifest. */
  url: string;
  /** Name of the application; null if the manifest was not loaded. */
  name: string | null;
}

export interface InspectOidc {
  /** Issuer of the discovery document or of the tokens. */
  issuer: string | null;
  /** URL where the sign-in begins. */
  authorization_endpoint: string | null;
  /** URL that issues tokens. */
  token_endpoint: string | null;
  /** Scopes of the discovery document; else those that were requested. */
  scopes_supported: Array<string>;
  /** The challenge method of the authorization code flow. `unknown`: no flow was seen. */
  pkce: 'S256' | 'plain' | 'none' | 'unknown';
  /** Whether the discovery document was read. */
  discovery: boolean;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectOversizedImage {
  /** URL, with redacted values. */
  url: string;
  /** Id of the request; null for an image without one. */
  request_id: string | null;
  /** Size of the file in pixels, such as `2000x1500`. */
  natural: string;
  /** Largest size on a page, in CSS pixels. */
  displayed: string;
  /** Bytes that an image of the displayed size would save. */
  wasted_bytes: number;
}

export interface InspectPagination {
  /** CSS selector of the link or button to the next page. */
  selector: string | null;
  /** Query parameter that counts pages. */
  param: string | null;
}

export interface InspectParameter {
  /** Name of the parameter; of a header, in lower case. */
  name: string;
  /** Type of all values that were seen. */
  type: 'string' | 'integer' | 'number' | 'boolean';
  /** Format of all values, such as `uuid` or `date-time`; null for none. */
  format: string | null;
  /** All values, where few different ones were seen often; else null. */
  enum: Array<string> | null;
  /** Whether each call had it. */
  required: boolean;
  /** A value that was seen, without secrets. */
  example: string;
  /** Number of different values. */
  observed_values: number;
}

export interface InspectProbeResult {
  /** Whether the file exists; null if it was not requested. */
  present: boolean | null;
  /** Size in bytes. */
  bytes: number;
}

export interface InspectRedirect {
  /** URL that redirected. */
  url: string;
  /** Status of the response. */
  status_code: number;
  /** How it redirected. */
  type: 'http' | 'meta' | 'js';
}

export interface InspectRenderBlocking {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** Resource type. */
  type: 'script' | 'stylesheet';
  /** Bytes on the wire. */
  transfer_bytes: number;
  /** Duration of the request in milliseconds. */
  duration_ms: number;
}

export interface InspectRendering {
  /** `ssr`: on the server. `csr`: in the browser. `hybrid`: in both. */
  type: 'ssr' | 'csr' | 'hybrid' | 'unknown';
  /** Characters of text in the raw HTML, divided by those of the rendered page. */
  ratio: number | null;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectReply {
  /** HTTP status. */
  status_code: number;
  /** Number of such responses. */
  count: number;
  /** Media type; empty without a body. */
  content_type: string;
  /** Schema of the body; null if it is not JSON, or was not captured. */
  schema: InspectJsonSchema | null;
  /** Median size of the body in bytes. */
  size_p50: number;
  /** Median time to the end of the response in milliseconds. */
  latency_p50_ms: number;
  /** `Cache-Control` of the last response. */
  cache_control: string | null;
  /** Whether responses have an entity tag. */
  etag: boolean;
  /** Start of a body without secrets; null unless `capture_bodies` is `samples`. */
  example: string | null;
}

export interface InspectRequest {
  /** URL to inspect, `http` or `https`, at most 8192 characters. Either this or `har` is required. */
  url?: string | null | undefined;
  /** HAR 1.2 to report on instead of a URL, as Chrome, Firefox and Playwright export it: the object, or its JSON text, which may be larger: the object may have at most 100,000 objects and arrays. At most 32 MB. Fields that say what a browser does, such as `actions` and `depth`, are refused beside it. Default: null. */
  har?: string | InspectRequestHar2 | null | undefined;
  /** Id of a session to inspect as: its active tab, cookies and egress are used. Default: null, a browser context of its own. */
  session_id?: string | null | undefined;
  /** Region code from `GET /v1/regions`, from which the traffic leaves. Default: the region of the worker that receives the request. */
  region?: string | null | undefined;
  /** Proxy for the inspection. Default: null, the region’s egress. */
  proxy?: ProxyRequest | null | undefined;
  /** Kind of browser. Default: `headless`. */
  kind?: 'headless' | 'full_browser' | null | undefined;
  profile?: Profile | undefined;
  /** Cookies and local storage to begin with, in Playwright’s format. Default: null, none. */
  storage_state?: StorageStateRequest | null | undefined;
  /** Steps to run on the first page before it is read, such as a login, at most 50. Their traffic is part of the report. Default: none. */
  actions?: Array<Step> | null | undefined;
  /** Page event to wait for: `commit`, `domcontentloaded`, `load` or `networkidle` (no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count). Default: `networkidle`. */
  wait_until?: 'load' | 'domcontentloaded' | 'networkidle' | 'commit' | null | undefined;
  /** How long to go on capturing after that event and after the actions, in milliseconds, 0 to 15000. Default: 1500. */
  settle_ms?: number | null | undefined;
  /** Maximum time for the whole inspection, in milliseconds, 1000 to 180000. Default: 60000. */
  timeout_ms?: number | null | undefined;
  /** How many links to follow from the first page, within its origin, 0 to 2. Default: 0. */
  depth?: number | null | undefined;
  /** Maximum number of pages to visit, 1 to 10. Default: 5. */
  max_pages?: number | null | undefined;
  /** Parts of the report to return. `openapi` and `client` are parts of `api`, and each returns it. A screenshot is not redacted. Default: all but `client`, `har` and `screenshot`. */
  include?: Array<'site' | 'api' | 'openapi' | 'client' | 'auth' | 'assets' | 'third_parties' | 'cookies' | 'security' | 'seo' | 'automation' | 'har' | 'screenshot'> | null | undefined;
  /** What is made of bodies. `schema`: the shape of requests and responses, without values. `samples`: also redacted examples. `none`: bodies are not read. Default: `schema`. */
  capture_bodies?: 'schema' | 'samples' | 'none' | null | undefined;
  /** Maximum size of a body that is read, in bytes, 1024 to 2097152. Larger ones are left out. Default: 262144. */
  max_body_bytes?: number | null | undefined;
  /** Whether to request well-known files, such as `/openapi.json` and `/.well-known/openid-configuration`. `robots.txt` and `security.txt` are always requested. Default: `false`. */
  probe?: boolean | null | undefined;
  /** Whether to scroll each page to its end, so that lazy content loads. Default: `false`. */
  scroll?: boolean | null | undefined;
  block_detection?: BlockDetection | undefined;
  async?: Async | undefined;
  metadata?: Metadata | undefined;
}

export type InspectRequestHar2 = {
  /** The log: creator, pages and entries. */
  log: InspectRequestHar2Log;
} & Record<string, unknown | InspectRequestHar2Log>;

/** The log: creator, pages and entries. */
export type InspectRequestHar2Log = {
} & Record<string, unknown>;

export interface InspectResourceHint {
  /** Kind of hint. */
  rel: 'preload' | 'modulepreload' | 'prefetch' | 'preconnect' | 'dns-prefetch' | 'prerender';
  /** Target, with redacted values. */
  url: string;
  /** The `as` attribute. */
  as: string | null;
  /** Whether a request used the target; null for hints about later pages. */
  used: boolean | null;
}

export interface InspectResponse {
  /** Version of the report’s form. */
  report_version: 1;
  /** Id of the inspection. */
  inspect_id: string;
  /** Id of the inspection’s job, by which the report can be read again for 24 hours. */
  job_id: string;
  /** Id of the session whose browser loaded the site; null if no browser did. */
  session_id: string | null;
  /** Result of the inspection; `pending` while its job runs. */
  status: 'pending' | 'ok' | 'blocked' | 'error';
  /** URL that was inspected, redacted; of a HAR, that of its first document. null if there is none. */
  url: string | null;
  /** URL of the first page after all redirects, redacted; null if no response was received. */
  final_url: string | null;
  /** When the inspection began (RFC 3339, UTC); of a HAR, when it was recorded. */
  started_at: string;
  /** Duration of the inspection in milliseconds. */
  duration_ms: number;
  /** The pages that were visited, in order. */
  pages: Array<InspectedPage>;
  /** What the limits of the inspection left out. */
  limits: InspectResponseLimits;
  /** In how many places secrets were replaced before anything was kept. One secret may stand in many. */
  redactions: InspectResponseRedactions;
  /** Warnings that explain missing or incomplete results, such as `load_timed_out`. */
  warnings: Array<string>;
  /** What the site is and how it is made; null if not requested. */
  site: InspectSite | null;
  /** The calls of the site’s API, their parameters and schemas; null if not requested. */
  api: InspectApi | null;
  /** How the site authenticates; null if not requested. */
  auth: InspectAuth | null;
  /** What the pages load, how fast, and what they could save; null if not requested. */
  assets: InspectAssets | null;
  /** Whose servers the pages use beside the site’s own; null if not requested. */
  third_parties: Array<InspectThirdParty> | null;
  /** Cookies of the site and of others, without values; null if not requested. */
  cookies: Array<InspectCookie> | null;
  /** What the responses say about security; null if not requested. */
  security: InspectSecurity | null;
  /** What search engines read; null if not requested. */
  seo: InspectSeo | null;
  /** What to know before automating the site; null if not requested. */
  automation: InspectAutomation | null;
  /** The network traffic as HAR 1.2, redacted; null if not requested. */
  har: InspectResponseHar | null;
  /** URL at which to poll the job, the same as in `Location`; null once it is done. */
  poll_url: string | null;
  /** Link to the report as a page for people, which needs no key and works for 24 hours; null if there is no report. */
  report_url: string | null;
  /** Parts of the report as files, by links that work as `report_url` does; null if there is no report. */
  artifacts: InspectResponseArtifacts | null;
  block: FetchResponseBlock;
  /** Results of the steps that ran, in order. */
  actions: Array<InspectAction>;
  /** The first page as a person sees it; null if not requested or not available. */
  screenshot: PictureResponse | null;
  /** Resources that the inspection has used. */
  usage: WorkUsage;
  /** Error of an inspection with `status: error`; null otherwise. */
  error: WorkError | null;
  metadata: AgentResponseMetadata;
}

/** Parts of the report as files, by links that work as `report_url` does; null if there is no report. */
export interface InspectResponseArtifacts {
  /** Link to the OpenAPI document; null if the report does not have it. */
  openapi_url: string | null;
  /** Link to the TypeScript client; null if the report does not have it. */
  client_url: string | null;
  /** Link to the HAR; null if the report does not have it. */
  har_url: string | null;
  /** Link to the screenshot; null if the report does not have it. */
  screenshot_url: string | null;
}

/** The network traffic as HAR 1.2, redacted; null if not requested. */
export interface InspectResponseHar {
  /** The HAR 1.2 log: creator, pages and entries. */
  log: Record<string, unknown>;
}

/** What the limits of the inspection left out. */
export interface InspectResponseLimits {
  /** Whether anything was left out. */
  truncated: boolean;
  /** Number of requests that were left out. */
  dropped_requests: number;
  /** Bytes of bodies that were left out. */
  dropped_bytes: number;
  /** Which limits applied; null if none did. */
  reason: string | null;
}

/** In how many places secrets were replaced before anything was kept. One secret may stand in many. */
export interface InspectResponseRedactions {
  /** Number of header values that were redacted. */
  headers: number;
  /** Number of body values that were redacted by the name of their field. */
  body_keys: number;
  /** Number of body values that were redacted by their form. */
  body_values: number;
}

export interface InspectRobots {
  /** Whether the rules allow the inspected URL to this service; null without a readable file. */
  allowed_for_us: boolean | null;
  /** Seconds between two requests that the file asks for. */
  crawl_delay: number | null;
  /** Sitemaps that the file names, at most 50. */
  sitemaps: Array<string>;
  /** Known AI crawlers that the file shuts out of the whole site. */
  ai_agents_disallowed: Array<string>;
}

export interface InspectSecurity {
  /** Security headers of the first page. */
  headers: InspectSecurityHeaders;
  /** URLs that a page over HTTPS loaded over HTTP, at most 50. */
  mixed_content: Array<string>;
  /** Whether HTTP redirected to HTTPS; null if no page was requested over HTTP. */
  https_redirect: boolean | null;
  /** Scripts and style sheets of other sites without an `integrity` attribute, at most 50. */
  sri_missing: Array<string>;
  /** Targets of forms that are sent over HTTP, at most 50. */
  forms_http: Array<string>;
  /** Whether all documents came over TLS 1.2 or later; null where the capture does not say. */
  tls_ok: boolean | null;
  /** Observations. This is not a vulnerability scan. */
  score_notes: Array<InspectSecurityNote>;
}

export interface InspectSecurityHeaders {
  /** `Strict-Transport-Security`. */
  hsts: string | null;
  /** `Content-Security-Policy`. */
  csp: InspectContentSecurityPolicy;
  /** `X-Frame-Options`. */
  x_frame_options: string | null;
  /** `X-Content-Type-Options`. */
  x_content_type_options: string | null;
  /** `Referrer-Policy`, of the header or of the page. */
  referrer_policy: string | null;
  /** `Permissions-Policy`, at most 500 characters. */
  permissions_policy: string | null;
  /** `Cross-Origin-Opener-Policy`. */
  coop: string | null;
  /** `Cross-Origin-Embedder-Policy`. */
  coep: string | null;
  /** `Cross-Origin-Resource-Policy`. */
  corp: string | null;
}

export interface InspectSecurityNote {
  /** `warning`: a browser or an attacker could use it. `info`: worth knowing. */
  level: 'info' | 'warning';
  /** Stable name of the note, such as `hsts_missing`. */
  code: string;
  /** What was observed, and what would be better. */
  text: string;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectSecurityTxt {
  /** Whether the site has the file (RFC 9116). */
  present: boolean;
  /** Ways to report a vulnerability, at most 5. */
  contact: Array<string>;
  /** When the file expires. */
  expires: string | null;
}

export interface InspectSeo {
  /** Canonical URL of the first page. */
  canonical: string | null;
  /** The `robots` meta element or the `X-Robots-Tag` header. */
  robots_meta: string | null;
  /** Whether search engines may index the first page. */
  indexable: boolean;
  /** Texts of the first-level headings, at most 10. */
  h1: Array<string>;
  /** Number of all headings. */
  headings: number;
  /** The `viewport` meta element. */
  viewport: string | null;
  /** Versions in other languages, at most 50. */
  alternates: Array<InspectAlternate>;
  /** Names of the Open Graph properties. */
  open_graph: Array<string>;
  /** Images without an `alt` attribute on all pages. */
  images_without_alt: number;
  /** Links to the same site on the first page. */
  links_internal: number;
  /** Links to other sites on the first page. */
  links_external: number;
  /** RSS and Atom feeds, at most 20. */
  feeds: Array<string>;
  /** Observations, such as a missing title. */
  notes: Array<string>;
}

export interface InspectSite {
  /** Title of the first page. */
  title: string;
  /** Description of the first page. */
  description: string | null;
  /** Language that the page declares. */
  language: string | null;
  /** Redirects before the first page, in order. */
  redirects: Array<InspectRedirect>;
  /** Status of the first page; 0 without a response. */
  status_code: number;
  /** Address of the server. */
  ip: string | null;
  /** Protocol of the first page, such as `h2`. */
  protocol: string | null;
  /** TLS of the first page; null without it, or where the capture does not say. */
  tls: InspectTls | null;
  /** The `Server` header. */
  server: string | null;
  /** The `X-Powered-By` header. */
  powered_by: string | null;
  /** Content delivery network in front of the site; null if none was seen. */
  cdn: InspectDetected | null;
  /** Protections in front of the site. */
  waf: Array<InspectDetected>;
  /** What the site is built with, at most 100. */
  technologies: Array<InspectTechnology>;
  /** Where the text of the first page is made. */
  rendering: InspectRendering;
  /** Data that frameworks embed in the pages: names and sizes, never values. */
  data_blobs: Array<InspectDataBlob>;
  /** Whether a page registered a service worker. */
  service_worker: boolean;
  /** The web application manifest. */
  manifest: InspectManifest | null;
  /** What `robots.txt` says; null if the site has none. */
  robots: InspectRobots | null;
  /** The file `/llms.txt`, which is requested only with `probe`. */
  llms_txt: InspectProbeResult;
  /** The file `security.txt`. */
  security_txt: InspectSecurityTxt;
  /** Structured data of the pages, at most 100 types. */
  structured_data: Array<InspectStructuredData>;
}

export interface InspectSourceMap {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** URL of the source map; `inline` for one within the file. */
  source_map: string;
}

export interface InspectSso {
  /** The identity provider. */
  provider: 'google' | 'microsoft' | 'apple' | 'github' | 'gitlab' | 'facebook' | 'linkedin' | 'x' | 'amazon' | 'slack' | 'okta' | 'auth0' | 'cognito' | 'keycloak' | 'onelogin' | 'saml' | 'other';
  /** URL that starts the sign-in, without the values of its parameters. */
  start_url: string | null;
  /** CSS selector of the link or button. */
  selector: string | null;
  /** The public client id, where the address carries one. */
  client_id: string | null;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectStructuredData {
  /** Type, such as `Product`. */
  type: string;
  /** How it is written. */
  format: 'json_ld' | 'microdata' | 'rdfa' | 'open_graph' | 'twitter';
  /** How often it occurs on all pages. */
  count: number;
}

export interface InspectTechnology {
  /** Name of the technology. */
  name: string;
  /** What it is for, such as `framework` or `analytics`. */
  category: string;
  /** Version, where the site names it. */
  version: string | null;
  /** Where it was seen, such as `response header server`, at most 5. */
  reasons: Array<string>;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectThirdParty {
  /** Who runs the hosts; the registrable domain if it is unknown. */
  entity: string;
  /** What it is for, such as `analytics`, `ad` or `cdn`; `unknown` otherwise. */
  category: string;
  /** Home page of the entity. */
  homepage: string | null;
  /** Hosts that were requested, at most 50. */
  hosts: Array<string>;
  /** Number of requests. */
  requests: number;
  /** Bytes on the wire. */
  transfer_bytes: number;
  /** Time of its scripts on the main thread; null if it was not measured. */
  main_thread_ms: number | null;
  /** Whether its responses set cookies. */
  sets_cookies: boolean;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectTimings {
  /** Time to the first byte of the document. */
  ttfb_ms: number | null;
  /** Time to `DOMContentLoaded`. */
  dcl_ms: number | null;
  /** Time to `load`. */
  load_ms: number | null;
  /** First Contentful Paint. */
  fcp_ms: number | null;
  /** Largest Contentful Paint. */
  lcp_ms: number | null;
  /** CSS path of the element of the Largest Contentful Paint. */
  lcp_element: string | null;
  /** Cumulative Layout Shift, without a unit. */
  cls: number | null;
  /** Total Blocking Time. */
  tbt_ms: number | null;
  /** Rating of `ttfb`, `fcp`, `lcp` and `cls` by the thresholds of web-vitals, and of `tbt` by those of Lighthouse. */
  ratings: Record<string, 'good' | 'needs_improvement' | 'poor'>;
}

export interface InspectTls {
  /** Protocol version, such as `TLS 1.3`. */
  version: string;
  /** Issuer of the certificate. */
  issuer: string | null;
  /** End of the certificate, RFC 3339, UTC. */
  valid_to: string | null;
  /** Number of names in the certificate. */
  san_count: number | null;
}

export interface InspectTokenRefresh {
  /** Id of the endpoint in `api.endpoints`. */
  endpoint_id: string | null;
  /** URL that returns a new token, without the values of its parameters. */
  url: string;
  /** Method of the request. */
  method: string;
  /** Median seconds between two calls; null after one call. */
  interval_s: number | null;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectUnauthenticatedProbe {
  /** Id of the endpoint in `api.endpoints`. */
  endpoint_id: string | null;
  /** The URL, without the values of its parameters. */
  url: string;
  /** The response to the request that carried no credential. */
  status_code: number;
  confidence: InspectConfidence;
  evidence: InspectEvidence;
}

export interface InspectUncached {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** Seconds for which the response may be cached; null if it does not say. */
  cache_ttl_s: number | null;
  /** Bytes on the wire. */
  transfer_bytes: number;
}

export interface InspectUncompressed {
  /** Id of the request. */
  request_id: string;
  /** URL, with redacted values. */
  url: string;
  /** Bytes of the body. */
  resource_bytes: number;
  /** Bytes that gzip is expected to save: measured where the body was captured, else two thirds. */
  saving_bytes: number;
}

export interface InspectUnusedBytes {
  /** Bytes of scripts that no page used. */
  js: number;
  /** Bytes of style sheets that no page used. */
  css: number;
  /** Files with more than 20 KB unused, largest first, at most 20. */
  files: Array<InspectUnusedFile>;
}

export interface InspectUnusedFile {
  /** URL, with redacted values. */
  url: string;
  /** Script or style sheet. */
  type: 'js' | 'css';
  /** Bytes of the file. */
  total_bytes: number;
  /** Bytes of the file that no page used. */
  unused_bytes: number;
}

export interface InspectWebSocket {
  /** URL, without secrets. */
  url: string;
  /** Subprotocol that the server chose; null for none. */
  subprotocol: string | null;
  /** Frames that the page sent. */
  frames_sent: number;
  /** Frames that the page received. */
  frames_received: number;
  /** Characters of all frames. */
  bytes: number;
  /** Types of messages. */
  message_types: Array<InspectWebSocketMessageTypesItem>;
  /** Protocol of the messages. */
  protocol_guess: 'socket.io' | 'graphql-ws' | 'signalr' | 'phoenix' | 'json' | 'raw';
  /** How sure the report is of the protocol. */
  confidence: 'high' | 'medium' | 'low';
  evidence: InspectApiEvidence;
}

export interface InspectWebSocketMessageTypesItem {
  /** Direction, from the page’s side. */
  direction: 'sent' | 'received';
  /** What distinguishes the type, such as `type=update`; null if nothing does. */
  discriminator: string | null;
  /** Number of messages. */
  count: number;
  /** Schema of the messages; null if they are not JSON. */
  schema: InspectJsonSchema | null;
}

export interface InspectedPage {
  /** Id of the page, to which requests refer. */
  page_id: string;
  /** URL of the page after all redirects, redacted. */
  url: string;
  /** Title of the page; empty if unknown. */
  title: string;
  status_code: StatusCode;
  /** Number of requests of the page. */
  requests: number;
  /** Time until the load event in milliseconds; null if there was none. */
  load_ms: number | null;
}

export interface InsufficientCreditsDetails {
  /** Credits in the wallet. */
  balance: number;
  /** Credits that no running call holds. */
  available: number;
  /** Credits that the call needs. */
  required: number;
}

export interface JobItemResponse {
  /** Id of the job. */
  job_id: string;
  /** Id of the session that runs the job, or ran it; null while there is none, and if none did. */
  session_id: string | null;
  /** Kind of job. */
  kind: 'fetch' | 'inspect' | 'agent' | 'template';
  /** Status of the job: `pending` until it is done, then its result. */
  status: 'pending' | 'ok' | 'blocked' | 'error';
  /** Stage of the job. */
  stage: 'queued' | 'running' | 'done';
  /** Progress of the job. */
  progress: JobItemResponseProgress;
  /** When the job was created (RFC 3339, UTC). */
  created_at: string;
  /** When the job started to run (RFC 3339, UTC); null before that. */
  started_at: string | null;
  /** When the job finished (RFC 3339, UTC); null before that. */
  finished_at: string | null;
  /** When the result is deleted (RFC 3339, UTC), and with it `session_id`, `error` and `usage` in lists; null while the job is pending. */
  expires_at: string | null;
  /** Address of the page without credentials, query and fragment, or name of the flow or template; null for a HAR. */
  target: string | null;
  /** Error of a job with `status: error`, in lists without `details`; null otherwise. */
  error: WorkError | null;
  /** Resources that the job has used; null while it is pending. */
  usage: WorkUsage | null;
}

/** Progress of the job. */
export interface JobItemResponseProgress {
  /** Number of steps completed. */
  step: number;
  /** Total number of steps; null if unknown. */
  total: number | null;
  /** Description of the current step. */
  note: string;
}

export interface JobResponse extends JobItemResponse {
  /** Result of the job: a FetchResponse, InspectResponse, AgentResponse or TemplateResponse. null while the job is pending. */
  result: Record<string, unknown> | null;
}

/** Presses keys. */
export interface KeyAction {
  type: 'key';
  /** A key or a combination with `+`, or several in order with spaces between them. Names are those of X11 (`Return`, `Page_Down`, `ctrl+shift+t`) or of browsers (`Enter`, `PageDown`, `Control+Shift+T`), in any case. */
  keys: string;
  /** Milliseconds to hold each, 0 to 10000. Default: 0. */
  hold_ms?: number | null | undefined;
}

export interface KeyLimitReachedDetails {
  /** The limit. */
  limit: number;
}

export interface KeyResponse {
  /** Id of the API key. */
  key_id: string;
  /** Name of the key; null if it has none. */
  name: string | null;
  /** First characters of the key. */
  prefix: string;
  /** Last four characters of the key. */
  last4: string;
  /** Id of the owner. */
  owner: string;
  /** When the key was created (RFC 3339, UTC). */
  created_at: string;
  /** Who created the key: `admin`, `bootstrap`, `sign_in_link`, or `login:SUBJECT`. */
  created_by: string;
  /** When the key was last used (RFC 3339, UTC), to the minute; null if never. */
  last_used_at: string | null;
  /** When the key expires (RFC 3339, UTC); null if never. */
  expires_at: string | null;
  /** When the key was revoked (RFC 3339, UTC); null if it is not revoked. */
  revoked_at: string | null;
  /** Status of the key. */
  status: 'active' | 'revoked' | 'expired';
}

export interface Link {
  /** Absolute URL of the link. */
  url: string;
  /** Text of the link. */
  text: string;
  /** `rel` attribute of the link; null if it has none. */
  rel: string | null;
  /** Whether the link stays within the registrable domain of the page. */
  internal: boolean;
}

/** A link to watch or control a session. */
export interface LinkResponse {
  /** The token. It is returned once: null in a replayed response, as is `url`. */
  token: string | null;
  /** Id of the session. */
  session_id: string;
  /** Link to open in a browser; null in a replayed response. The page removes the token from its address and continues with a cookie. */
  url: string | null;
  /** When the link can no longer be opened (RFC 3339, UTC). Views that are open stay open. */
  expires_at: string;
  /** Seconds until the link can no longer be opened. */
  expires_in: number;
}

/** Returns the links of the page or an element. */
export interface LinksStep extends StepFields {
  type: 'links';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: HtmlStepSelectors | undefined;
  ref?: StepRef | undefined;
}

/** Whether to return all matches instead of the first. Default: `false`. */
export type List = boolean | null;

export interface LivezReply {
  /** Always `ok`. */
  status: 'ok';
}

/** Returns the page or an element as Markdown. */
export interface MarkdownStep extends StepFields {
  type: 'markdown';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: HtmlStepSelectors | undefined;
  ref?: StepRef | undefined;
  /** Whether to return only the main content, without navigation and footer. Default: `false`. */
  only_main_content?: boolean | null | undefined;
}

/** Up to 50 key-value pairs of your own, returned with the result. Default: none. */
export type Metadata = Record<string, string> | null;

export interface MethodNotAllowedDetails {
  /** Methods of this path. */
  allow: Array<string>;
}

/** Keys to hold meanwhile, by any of their names: `ctrl`, `shift`, `alt`, `cmd`. Default: none. */
export type Modifiers = Array<string> | null;

/** Presses a button and holds it, also after this call. End it with `mouse_up`. */
export interface MouseDownAction {
  type: 'mouse_down';
  x?: X | undefined;
  y?: Y | undefined;
  button?: Button | undefined;
  modifiers?: Modifiers | undefined;
}

/** Releases a button. */
export interface MouseUpAction {
  type: 'mouse_up';
  x?: X | undefined;
  y?: Y | undefined;
  button?: Button | undefined;
  modifiers?: Modifiers | undefined;
}

/** Moves the mouse. */
export interface MoveAction {
  type: 'move';
  /** Distance from the left edge, in pixels of the screenshot. */
  x: number;
  /** Distance from the top edge, in pixels of the screenshot. */
  y: number;
  modifiers?: Modifiers | undefined;
}

export interface NavigateRequest {
  /** URL to open: `http`, `https` or `about:blank`, at most 8192 characters. */
  url: string;
  /** Id of the session. Optional; if sent, it must equal the id in the path. */
  session_id?: string | null | undefined;
  wait_until?: WaitUntil | undefined;
  /** Maximum time for the navigation in milliseconds, 1000 to 120000. Default: 30000. */
  timeout_ms?: number | null | undefined;
  /** URL to send as the `Referer` header. Default: none. */
  referer?: string | null | undefined;
  block_detection?: BlockDetection | undefined;
  /** Id of the tab to navigate. Default: the active tab. */
  tab_id?: string | null | undefined;
}

export interface NavigateResponse {
  /** Id of the session. */
  session_id: string;
  /** URL of the page after all redirects. */
  final_url: string;
  /** Title of the page. */
  title: string;
  /** Always `ok`: a failed navigation is a 502 error. */
  status: 'ok';
  /** HTTP status of the page; null if there was no HTTP response, such as for `about:blank`. */
  status_code: number | null;
  /** Id of the tab that was navigated. */
  tab_id: string;
  /** Duration of the navigation in milliseconds. */
  duration_ms: number;
  block: FetchResponseBlock;
  /** Captcha on the page. */
  captcha: Captcha;
  /** Warnings, such as `possible_block:challenge:cloudflare` when the evidence for a block is weak, and `challenge_cleared:challenge:cloudflare` after a challenge that passed by itself. */
  warnings: Array<string>;
}

/** Opens a URL. */
export interface NavigateStep extends StepFields {
  type: 'navigate';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** URL to open, at most 8192 characters; may contain placeholders. */
  url: string;
  wait_until?: WaitUntil | undefined;
  /** URL to send as the `Referer` header. Default: none. */
  referer?: string | null | undefined;
}

export interface NavigationFailedDetails {
  /** Why the page could not be loaded. */
  reason: 'dns_failed' | 'connection_refused' | 'connection_reset' | 'tls_error' | 'timeout' | 'proxy_error' | 'aborted' | 'download' | 'blocked_by_policy' | 'too_many_redirects' | 'page_crashed';
  /** Error of the network as the browser names it; null if it has none. */
  net_error: string | null;
  /** The rule of the egress policy that refused the address. */
  rule?: string | undefined;
  /** Id of the download, if the URL is a file. */
  download_id?: string | undefined;
}

export interface NoCapacityDetails {
  /** `disk_low` where disk space is what lacks. */
  reason?: string | undefined;
}

export interface OpenTabRequest {
  /** URL to open in the tab: `http`, `https` or `about:blank`. Default: an empty page. */
  url?: string | null | undefined;
  /** Whether the tab becomes the active one. Default: `true`. */
  active?: boolean | null | undefined;
  wait_until?: WaitUntil | undefined;
  /** Maximum time for opening the tab and loading `url` in milliseconds, 1000 to 120000. Default: 30000. */
  timeout_ms?: number | null | undefined;
}

export interface OverviewResponse {
  /** Always `overview`. */
  object: 'overview';
  /** Version of the worker that responds. */
  version: string;
  /** Id of the worker that responds. */
  worker_id: string;
  /** Region of the worker that responds. */
  region: string;
  /** Seconds since the worker that responds was started. */
  uptime_seconds: number;
  /** Insecure or incomplete settings, each as a sentence. Empty if there are none. */
  warnings: Array<string>;
  /** Workers of all regions that share the database. */
  workers: Array<OverviewResponseWorkersItem>;
  /** Number of sessions of all owners and workers, by state. */
  sessions: OverviewResponseSessions;
  /** Machines that fetches of all owners use now. */
  fetch_machines: number;
  /** Number of jobs of all owners and workers that can still be read, by state. */
  jobs: OverviewResponseJobs;
  /** The warm pool of the region. `GET /admin/pool` has each machine. */
  pool: OverviewResponsePool;
  /** The host of the worker that responds. */
  host: OverviewResponseHost;
  /** Traffic through the egress gate of the worker that responds, since its start. */
  egress: OverviewResponseEgress;
  /** Requests that the worker that responds has denied since its start, by error code. Codes without one are absent. */
  denials: Record<string, number>;
  /** Credits of all owners since the service exists. */
  credits: OverviewResponseCredits;
  /** Blocks that fetches and navigations met in the last 24 hours. */
  blocks_24h: number;
  /** Background loops of the worker that responds. */
  loops: Array<OverviewResponseLoopsItem>;
}

/** Credits of all owners since the service exists. */
export interface OverviewResponseCredits {
  /** Credits that were granted or redeemed with codes, less those taken back. */
  granted: number;
  /** Credits that were charged, or are used and not charged yet. */
  spent: number;
  /** What is left of them for all owners: the difference of the two. */
  balance: number;
}

/** Traffic through the egress gate of the worker that responds, since its start. */
export interface OverviewResponseEgress {
  /** Bytes from sites and proxies. */
  bytes_in: number;
  /** Bytes to sites and proxies. */
  bytes_out: number;
  /** Bytes of both directions through managed and rotating proxies. */
  proxied_bytes: number;
  /** Open routes. */
  routes: number;
}

/** The host of the worker that responds. */
export interface OverviewResponseHost {
  /** Whether the worker would start a new machine now. */
  admitting: boolean;
  /** Available memory in bytes; null if it cannot be read. */
  memory_available_bytes: number | null;
  /** Free disk space in bytes; null before it was first read. */
  disk_free_bytes: number | null;
  /** Whether the disk is below its floor. */
  disk: 'ok' | 'low' | 'full';
}

/** Number of jobs of all owners and workers that can still be read, by state. */
export interface OverviewResponseJobs {
  /** Jobs that have not started. */
  queued: number;
  /** Jobs that run. */
  running: number;
  /** Jobs that succeeded. */
  ok: number;
  /** Jobs whose site blocked them. */
  blocked: number;
  /** Jobs that failed or were cancelled. */
  error: number;
}

export interface OverviewResponseLoopsItem {
  /** Name of the loop. */
  name: string;
  /** Time between two iterations in milliseconds. */
  interval_ms: number;
  /** Iterations since the start. */
  turns: number;
  /** When the last iteration began (RFC 3339, UTC); null before the first one. */
  last_turn_at: string | null;
  /** Error of the last iteration; null if it succeeded. */
  last_error: string | null;
  /** Consecutive failed iterations. */
  failures: number;
}

/** The warm pool of the region. `GET /admin/pool` has each machine. */
export interface OverviewResponsePool {
  /** Warm machines that the region keeps. */
  targets: OverviewResponsePoolTargets;
  /** Machines of the region by state. */
  counts: PoolCounts;
}

/** Warm machines that the region keeps. */
export interface OverviewResponsePoolTargets {
  /** Target for `headless` machines. */
  headless: number;
  /** Target for `full_browser` machines. */
  full_browser: number;
}

/** Number of sessions of all owners and workers, by state. */
export interface OverviewResponseSessions {
  /** Sessions that are starting. */
  starting: number;
  /** Sessions that can be used. */
  ready: number;
  /** Sessions whose machine is being released. */
  ending: number;
  /** Ended sessions that can still be read. */
  ended: number;
  /** Sessions that failed to start and can still be read. */
  failed: number;
}

export interface OverviewResponseWorkersItem {
  /** Id of the worker. */
  worker_id: string;
  /** Region of the worker. */
  region: string;
  /** URL at which other workers reach it. */
  url: string;
  /** When the worker started (RFC 3339, UTC). */
  started_at: string;
  /** When the worker last reported (RFC 3339, UTC). */
  heartbeat_at: string;
  /** Whether the worker still reports. A worker that does not is lost: its sessions are ended. */
  alive: boolean;
}

export interface OwnerItemResponse {
  /** Id of the owner. */
  owner: string;
  /** When the owner was created (RFC 3339, UTC). */
  created_at: string;
  /** Plan in effect: that of a trial while one is active. */
  tier: string;
  /** Plan and trial. */
  plan: OwnerItemResponsePlan;
  /** Worker to which the owner is pinned: the only one that takes its new sessions, fetches and jobs; null: any. */
  pinned_worker_id: string | null;
  /** Remaining credits, as the owner reads them. */
  balance: number;
}

/** Plan and trial. */
export interface OwnerItemResponsePlan {
  /** Plan of the owner. */
  tier: string;
  /** Plan of the last trial; null if there was none. */
  trial_tier: string | null;
  /** When the last trial ends or ended (RFC 3339, UTC); null if there was none. Until then its plan applies. */
  trial_ends_at: string | null;
}

export interface OwnerResponse {
  /** Id of the owner. */
  owner: string;
  /** When the owner was created (RFC 3339, UTC). */
  created_at: string;
  /** Plan and trial. `usage.tier` is the plan in effect. */
  plan: OwnerResponsePlan;
  /** Worker to which the owner is pinned: the only one that takes its new sessions, fetches and jobs; null: any. */
  pinned_worker_id: string | null;
  /** Usage in this month, and the limits in effect. */
  usage: UsageResponse;
  /** Balance and prices. */
  credits: CreditsResponse;
}

/** Plan and trial. `usage.tier` is the plan in effect. */
export interface OwnerResponsePlan {
  /** Plan of the owner. */
  tier: string;
  /** Plan of the last trial; null if there was none. */
  trial_tier: string | null;
  /** When the last trial ends or ended (RFC 3339, UTC); null if there was none. Until then its plan applies. */
  trial_ends_at: string | null;
}

export interface PageContentResponse {
  /** Id of the tab. */
  tab_id: string;
  /** URL of the page. */
  url: string;
  /** Title of the page. */
  title: string;
  /** Format of the content. */
  format: 'html' | 'markdown' | 'text' | 'links';
  /** The content as text; null for `links`. */
  content: string | null;
  /** The links of the page; null for other formats. */
  links: Array<Link> | null;
  /** Warnings, such as `html_truncated` for content that was cut. */
  warnings: Array<string>;
}

export interface PageFailedDetails {
  /** Why: see the guide “Errors”. */
  reason: string;
}

export interface PdfDocumentResponse {
  /** Always `application/pdf`. */
  content_type: 'application/pdf';
  /** The document in base64. */
  data_base64: string;
  /** Size of the document in bytes. */
  bytes: number;
}

export interface PdfOptions {
  /** Whether to use landscape orientation. Default: `false`. */
  landscape?: boolean | null | undefined;
  /** Whether to print backgrounds. Default: `true`. */
  print_background?: boolean | null | undefined;
  /** Scale of the page, 0.1 to 2. Default: 1. */
  scale?: number | null | undefined;
  /** Paper width in inches, 0.1 to 200. Default: 8.27 (A4). */
  paper_width_inches?: number | null | undefined;
  /** Paper height in inches, 0.1 to 200. Default: 11.69 (A4). */
  paper_height_inches?: number | null | undefined;
  /** Margin on all sides in inches, 0 to 10. Default: 0.4. */
  margin_inches?: number | null | undefined;
  /** Pages to print, such as `1-3` or `1,4-`. Default: all pages. */
  page_ranges?: string | null | undefined;
  /** HTML of the page header, at most 10000 characters. Default: none. */
  header_template?: string | null | undefined;
  /** HTML of the page footer, at most 10000 characters. Default: none. */
  footer_template?: string | null | undefined;
  /** Whether a page size set in CSS takes precedence. Default: `false`. */
  prefer_css_page_size?: boolean | null | undefined;
  /** Whether to scroll through the page first, so that lazy-loaded images are present. Default: `true`. */
  scroll_first?: boolean | null | undefined;
}

export interface PdfRequest extends PdfOptions {
  tab_id?: TabId | undefined;
  /** Maximum time for printing in milliseconds, 1000 to 120000. Default: 30000. */
  timeout_ms?: number | null | undefined;
}

/** Prints the page to a PDF document. */
export interface PdfStep extends StepFields {
  type: 'pdf';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Whether to use landscape orientation. Default: `false`. */
  landscape?: boolean | null | undefined;
  /** Whether to print backgrounds. Default: `true`. */
  print_background?: boolean | null | undefined;
  /** Scale of the page, 0.1 to 2. Default: 1. */
  scale?: number | null | undefined;
  /** Paper width in inches, 0 to 200. Default: the browser’s default. */
  paper_width_inches?: number | null | undefined;
  /** Paper height in inches, 0 to 200. Default: the browser’s default. */
  paper_height_inches?: number | null | undefined;
  /** Margin on all sides in inches, 0 to 20. Default: the browser’s default. */
  margin_inches?: number | null | undefined;
  /** Pages to print, such as `1-3` or `1,4-`. Default: all pages. */
  page_ranges?: string | null | undefined;
  /** HTML of the page header, at most 10000 characters. Default: none. */
  header_template?: string | null | undefined;
  /** HTML of the page footer, at most 10000 characters. Default: none. */
  footer_template?: string | null | undefined;
  /** Whether a page size set in CSS takes precedence. Default: `false`. */
  prefer_css_page_size?: boolean | null | undefined;
  /** Whether to scroll through the page first, so that lazy-loaded images are present. Default: `true`. */
  scroll_first?: boolean | null | undefined;
}

export interface PictureResponse {
  /** Media type of the image, such as `image/png`. */
  content_type: string;
  /** Width in pixels. */
  width: number;
  /** Height in pixels. */
  height: number;
  /** The image in base64; null if it is split into tiles. */
  data_base64: string | null;
  /** Tiles of an image taller than 16384 pixels or with more than 20 million, from top to bottom; null for other images. */
  tiles: Array<PictureResponseTilesItem> | null;
  /** Warnings about the capture, such as incomplete content. */
  warnings: Array<string>;
  /** What is drawn on the image, at most 300; only with `annotate`. */
  annotations?: Array<PictureResponseAnnotationsItem> | undefined;
}

export interface PictureResponseAnnotationsItem {
  /** Reference for steps, as it is drawn. */
  ref: string;
  /** ARIA role of the element. */
  role: string;
  /** Accessible name of the element. */
  name: string;
  /** Place of the element in the image. */
  box: PictureResponseAnnotationsItemBox;
}

/** Place of the element in the image. */
export interface PictureResponseAnnotationsItemBox {
  /** Distance from the left in CSS pixels. */
  x: number;
  /** Distance from the top in CSS pixels. */
  y: number;
  /** Width in CSS pixels. */
  width: number;
  /** Height in CSS pixels. */
  height: number;
}

export interface PictureResponseTilesItem {
  /** The image of the tile in base64. */
  data_base64: string;
  /** Width of the tile in pixels. */
  width: number;
  /** Height of the tile in pixels. */
  height: number;
  /** Distance from the top of the page in pixels. */
  y: number;
}

export interface PinOwnerRequest {
  /** Id of the worker. */
  worker_id: string;
}

export interface PlanLimitExceededDetails {
  /** What is limited, such as `actions` or `egress_bytes`. */
  axis: string;
  /** The limit of the month. */
  limit: number;
  /** How much of it is used. */
  used: number;
  /** How much the call needs. */
  required: number;
  /** When the limit resets (RFC 3339, UTC). */
  resets_at: string;
}

export interface PlanResponse {
  /** Name of the plan. */
  tier: string;
  /** Whether owners without a plan of their own have it. */
  default: boolean;
  /** Maximum number of live sessions; null: that of a worker. */
  concurrency_limit: number | null;
  /** Sessions created per minute; null: unlimited. */
  creates_per_minute: number | null;
  /** Requests per minute; null: unlimited. */
  requests_per_minute: number | null;
  /** Maximum lifetime of a session in seconds. */
  max_session_seconds: number;
  /** Maximum number of tabs in a session; null: that of the service. */
  tab_limit: number | null;
  /** Whether managed and rotating proxies may be used. */
  premium_egress: boolean;
  /** Days for which an ended recording is stored. */
  recording_retention_days: number;
  /** Slots for waiting jobs that an owner gets for each one of an owner with the weight 1. */
  job_weight: number;
  limits: UsageLimits;
  /** Whether usage beyond the limits is allowed. */
  overage_allowed: boolean;
  /** Whether the limits are enforced. */
  enforced: boolean;
  /** Number of owners of the plan, trials aside. */
  owners: number;
}

export interface PoolCounts {
  /** Machines that are starting. */
  warming: number;
  /** Machines that are waiting for a session. */
  ready: number;
  /** Machines that are in use. */
  assigned: number;
  /** Machines that are ending. */
  draining: number;
  /** Machines that have failed and are not yet ended. */
  failed: number;
}

export interface PoolResponse {
  /** Always `pool`. */
  object: 'pool';
  /** Region of the pool. */
  region: string;
  /** Target for `headless` machines; `targets` has those of all kinds. */
  target: number;
  /** Targets of the whole region, divided evenly among its live workers. */
  targets: PoolResponseTargets;
  /** Number of machines in `vms`, by state. */
  counts: PoolCounts;
  /** When the `headless` target was set (RFC 3339, UTC); null if it comes from the configuration. */
  updated_at: string | null;
  /** Who set the `headless` target; null if it comes from the configuration. */
  updated_by: string | null;
  /** Machines of the region. */
  vms: Array<PoolVm>;
  /** The worker that responds to this request. */
  worker: PoolResponseWorker;
}

/** Targets of the whole region, divided evenly among its live workers. */
export interface PoolResponseTargets {
  /** Target for `headless` machines. */
  headless: PoolTarget;
  /** Target for `full_browser` machines. */
  full_browser: PoolTarget;
}

/** The worker that responds to this request. */
export interface PoolResponseWorker {
  /** Id of the worker. */
  worker_id: string;
  /** Name of the worker’s runtime. */
  runtime: string;
  /** How the worker isolates browsers: `microvm` or `process`. */
  isolation: 'microvm' | 'process';
  /** Warnings about the worker’s configuration. */
  warnings: Array<string>;
  /** Templates from which the worker starts machines. */
  templates: Array<PoolResponseWorkerTemplatesItem>;
  /** Load of the worker’s host. */
  pressure: PoolResponseWorkerPressure;
}

/** Load of the worker’s host. */
export interface PoolResponseWorkerPressure {
  /** Whether the worker would start a new machine now. */
  admitting: boolean;
  /** The resource that is short; null if none is. */
  reason: string | null;
  /** Available memory of the host in bytes; null if it cannot be read. */
  memory_available_bytes: number | null;
  /** Percentage of the last ten seconds in which some task waited for memory (PSI); null if it cannot be read. */
  memory_stall_percent: number | null;
  /** Percentage of the last ten seconds in which some task waited for a CPU (PSI); null if it cannot be read. */
  cpu_stall_percent: number | null;
  /** Number of sessions that are waiting for a machine to start. */
  waiting: number;
}

export interface PoolResponseWorkerTemplatesItem {
  /** Kind of machine. */
  kind: 'headless' | 'full_browser' | 'shell';
  /** How machines start. `clone`: from a template. `cold`: by booting, because no template works. `process`: as processes, which have no template. */
  method: 'process' | 'clone' | 'cold';
  /** Number of failed boots of this kind since the last successful one. */
  failures: number;
  /** Cause of the last failure, or a hint; null if there is none. */
  note: string | null;
}

export interface PoolTarget {
  /** Number of warm machines of this kind in the region. */
  target: number;
  /** When the target was set (RFC 3339, UTC); null if it comes from the configuration. */
  updated_at: string | null;
  /** Who set the target; null if it comes from the configuration. */
  updated_by: string | null;
}

export interface PoolTargetRequest {
  /** Number of warm machines of this kind in the region, shared by its workers: 0 to 1000. */
  target: number;
  /** Kind of machine. Default: `headless`. */
  kind?: 'headless' | 'full_browser' | null | undefined;
}

export interface PoolVm {
  /** Id of the machine. */
  vm_id: string;
  /** State of the machine. `ready`: waiting for a session. `failed`: not in use, because ending it failed or its worker has not reported for half a minute; the machine is being ended, and is listed until then, for at most ten minutes. Machines that failed to start are not listed: see `worker.templates`. */
  state: 'warming' | 'ready' | 'assigned' | 'draining' | 'failed';
  /** Kind of machine: `headless` and `full_browser` for sessions, `shell` for fetches. */
  kind: 'headless' | 'full_browser' | 'shell';
  /** Id of the session that uses the machine; null if none does. */
  session_id: string | null;
  /** Id of the worker that runs the machine. */
  worker_id: string;
  /** When the machine was created (RFC 3339, UTC). */
  created_at: string;
  /** Seconds for which the machine has been waiting for a session; null if it is not waiting. */
  idle_seconds: number | null;
  /** Proportional set size of the machine’s processes in bytes: shared memory is divided among those that share it. null for machines of other workers, and where it cannot be read. */
  memory_bytes: number | null;
  /** Name of the runtime that runs the machine; null if unknown. */
  runtime: string | null;
  /** Whether the machine was created from an older browser, image or template than new ones are. It is replaced while idle. */
  outdated: boolean;
}

export interface PortalRequest {
  /** URL to which the payment provider links back. Default: the API reference of this service. */
  return_url?: string | null | undefined;
}

export interface PortalResponse {
  /** URL of the billing portal at the payment provider. */
  url: string;
}

/** Presses keys or key combinations. */
export interface PressStep extends StepFields {
  type: 'press';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  ref?: StepRef | undefined;
  /** Selectors of the element to focus first. Default: the focused element. */
  selectors?: Array<Selector> | null | undefined;
  /** A key or key combination, or up to 50 of them in order. It holds the modifiers that it names: `+` and `A` come without Shift, `Shift+'/'` types `/`. */
  keys: string | Array<string>;
  delay_ms?: DelayMs | undefined;
}

/** Profile to work with. The work then has a session of its own, which counts as one, ends with it, and saves the profile where `save_changes` asks for it. Not with `session_id`. Default: null, none. */
export type Profile = ProfileRequest | null;

export interface ProfileLimitReachedDetails {
  /** The limit. */
  limit: number;
}

export interface ProfileLockedDetails {
  /** Id of the session that saves the profile. */
  session_id?: string | undefined;
}

export interface ProfileRequest {
  /** Id of the profile. Send either `id` or `name`. */
  id?: string | null | undefined;
  /** Name of the profile, 1 to 64 characters. With `save_changes` a profile that does not exist is created. Send either `id` or `name`. */
  name?: string | null | undefined;
  /** Whether the profile is saved when the session ends. One session at a time may, and others may read meanwhile. Default: `false`. */
  save_changes?: boolean | null | undefined;
}

export interface ProfileResponse {
  /** Id of the profile. */
  profile_id: string;
  /** Always `profile`. */
  object: 'profile';
  /** Name of the profile, unique among yours. */
  name: string;
  /** When the profile was created (RFC 3339, UTC). */
  created_at: string;
  /** When the profile was last saved (RFC 3339, UTC); null if it never was, and is empty. */
  saved_at: string | null;
  /** When a session last started with the profile (RFC 3339, UTC); null if none did. */
  last_used_at: string | null;
  /** Number of times the profile has been saved. */
  version: number;
  /** Size of what is kept, in bytes, before compression and encryption. At most 4 MiB. */
  size_bytes: number;
  /** Number of cookies. */
  cookies: number;
  /** Number of origins with local storage or databases. */
  origins: number;
  /** Id of the session that saves the profile when it ends, and until then locks it; null if none does. */
  writer_session_id: string | null;
}

export interface PromoCodesRequest {
  /** Plan to try: a tier of the tiers file. */
  tier: string;
  /** Length of the trial in days, 1 to 365. */
  trial_days: number;
  /** Number of codes to create, 1 to 1000. Default: 1. */
  count?: number | null | undefined;
  /** Days until the codes expire, 1 to 3650. Default: null, never. */
  expires_in_days?: number | null | undefined;
}

export interface PromoCodesResponse {
  /** The codes; null in a replayed response. */
  codes: Array<string> | null;
}

export interface PromoRedeemResponse {
  /** Always `true`. */
  ok: true;
  /** Plan of the trial. */
  tier: string;
  /** When the trial ends (RFC 3339, UTC). */
  trial_ends_at: string;
}

export interface ProxyRequest {
  /** Type of proxy. `none`: direct connection, only in the region of the worker. `managed`: the region’s own proxies. `rotating`: a list of proxies through which `rotate-ip` moves. `external`: your own proxy, given in `server`. */
  type: 'none' | 'managed' | 'rotating' | 'external';
  /** Proxy address for `type: external`: `http://`, `https://` or `socks5://`, with host and port. Required for that type. */
  server?: string | null | undefined;
  /** User name for the proxy, at most 256 characters. */
  username?: string | null | undefined;
  /** Password for the proxy, at most 1024 characters. Never returned. */
  password?: string | null | undefined;
  /** For `type: rotating`: 1 to 50 proxy addresses of your own, each optionally with credentials. Default: the region’s list. */
  servers?: Array<string> | null | undefined;
  /** Use only the region’s proxies in this country, ISO 3166-1 alpha-2. Default: any country. */
  country?: string | null | undefined;
  /** For `type: rotating`: when the next proxy is used. `on_request`: after a call to `rotate-ip`. `every_connection`: for each new connection. Default: `on_request`. */
  rotate?: 'on_request' | 'every_connection' | null | undefined;
  /** Up to 50 hosts that are reached without the proxy, such as `example.com` or `*.example.com`. Default: none. */
  bypass?: Array<string> | null | undefined;
}

/** Image quality for `jpeg` and `webp`, 1 to 100. Default: 80. */
export type Quality = number | null;

export interface RecordingResponse {
  /** Id of the recording. */
  rec_id: string;
  /** Id of the recorded session. */
  session_id: string;
  /** Status of the recording. `incomplete`: playable, but the end is missing. `failed`: nothing to play. */
  status: 'recording' | 'complete' | 'incomplete' | 'failed';
  /** Format of the video: `hls`, or `frames` (single images) if no encoder is installed; null before the first frame. */
  video: 'hls' | 'frames' | null;
  /** When the recording started (RFC 3339, UTC). */
  started_at: string;
  /** When the recording ended (RFC 3339, UTC); null while it is running. */
  ended_at: string | null;
  /** Duration in milliseconds. */
  duration_ms: number;
  /** Size of all files in bytes. */
  size_bytes: number;
  /** Whether the recording stopped before the session because it reached its maximum size. */
  truncated: boolean;
  /** When the recording is deleted (RFC 3339, UTC); null while the session is live. */
  expires_at: string | null;
  /** URL of the player. It requires a view token of the scope `recording`, or your API key. */
  url: string;
  /** Names of the files. Append one to the directory of `url` to download it. */
  assets: Array<string>;
}

export interface RedeemPromoRequest {
  /** The code, 1 to 128 characters. Upper and lower case and dashes are ignored. */
  code: string;
}

export interface RedeemRequest {
  /** The code, 1 to 128 characters. Upper and lower case and dashes are ignored. */
  code: string;
}

export interface RedeemSignInLinkRequest {
  /** Secret of the link: what follows `#link=` in its address. */
  token: string;
}

export interface Region {
  /** Code of the region, for `region` of a session or fetch. */
  code: string;
  /** Display name of the region. */
  name: string;
  /** Country of the region, ISO 3166-1 alpha-2; null if not configured. */
  country: string | null;
  /** Whether this region is used when a request names none. */
  default: boolean;
  /** Egress options of the region. */
  egress: RegionEgress;
}

/** Egress options of the region. */
export interface RegionEgress {
  /** Whether traffic leaves without a proxy: the worker that answered is in this region. */
  direct: boolean;
  /** Whether `proxy.type: managed` is available. */
  managed: boolean;
  /** Whether `proxy.type: rotating` is available without a proxy list of your own. */
  rotating: boolean;
  /** Countries of the region’s proxies, ISO 3166-1 alpha-2. */
  countries: Array<string>;
}

export interface RegionsResponse {
  /** Version of the regions file. */
  version: string;
  /** The regions. */
  regions: Array<Region>;
}

/** Reloads the page. */
export interface ReloadStep extends StepFields {
  type: 'reload';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  wait_until?: WaitUntil | undefined;
}

/** Runs steps repeatedly. */
export interface RepeatStep extends StepFields {
  type: 'repeat';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Steps to run in each iteration, at most 50. */
  steps: Array<Step>;
  /** Condition that ends the loop. It is checked after each iteration. */
  until?: StepCondition | null | undefined;
  /** Maximum number of iterations, 1 to 500. Default: 10. */
  max?: number | null | undefined;
}

/** Revenue of the month. */
export interface Revenue {
  /** Monthly prices of active subscriptions, in `currency`. */
  subscriptions: number;
  /** Credits redeemed with codes, at their price, in `currency`. */
  credits: number;
  /** Sum of both, in `currency`. */
  total: number;
}

export interface RevokedKeyResponse {
  /** Id of the API key. */
  key_id: string;
  /** Always `revoked`. */
  status: 'revoked';
  /** When the key was revoked (RFC 3339, UTC). */
  revoked_at: string;
}

export interface RotateIpResponse {
  /** Id of the session. */
  session_id: string;
  /** Whether the egress was changed. */
  rotated: boolean;
  /** What happened, in one sentence. */
  note: string;
}

export interface RotateKeyRequest {
  /** Seconds for which the existing key remains valid, 0 to 604800. Default: 0. */
  grace_seconds?: number | null | undefined;
}

export interface RotatedKeyResponse extends CreatedKeyResponse {
  /** Id of the replaced key. */
  replaces: string;
}

export interface RunActionsRequest {
  /** Steps to run in order, 1 to 50. Required unless `recording` is sent. */
  actions?: Array<Step> | null | undefined;
  /** A recording exported as JSON from Chrome’s DevTools Recorder, to run instead of `actions`. */
  recording?: Record<string, unknown> | null | undefined;
  tab_id?: TabId | undefined;
  /** Values for `{{inputs.name}}` placeholders in the steps. Default: none. */
  inputs?: Record<string, unknown> | null | undefined;
  /** Whether to stop at the first step that fails. Default: `true`. */
  stop_on_error?: boolean | null | undefined;
  /** Maximum time for all steps together in milliseconds, 1000 to 180000. Steps beyond it fail with `timeout`. Default: 60000. */
  timeout_ms?: number | null | undefined;
}

/** Fields of a request to run a flow or a template. */
export interface RunFields {
  /** Id of a session to work in: its active tab, cookies and egress are used. Default: null, a browser of its own. */
  session_id?: string | null | undefined;
  /** Whether to keep the session for further calls. It is then a session of its own, which counts as one. Default: `false`. */
  keep_session?: boolean | null | undefined;
  /** Region code from `GET /v1/regions`, from which traffic leaves. Default: the region of the worker. */
  region?: string | null | undefined;
  /** Kind of browser: `headless`, or `full_browser` with windows on a display. Default: `headless`. */
  kind?: 'headless' | 'full_browser' | null | undefined;
  /** Proxy to use. Default: null, the region’s egress. */
  proxy?: ProxyRequest | null | undefined;
  profile?: Profile | undefined;
  /** Maximum time for all steps together in milliseconds, 1000 to 300000. Default: 120000. */
  timeout_ms?: number | null | undefined;
  /** Maximum number of steps, also those of loops, 1 to 1000. Each step is charged as an action. Default: 100. */
  max_steps?: number | null | undefined;
  async?: Async | undefined;
  metadata?: Metadata | undefined;
}

/** Result of a flow or a template. */
export interface RunResponse {
  /** Id of the job, which can be polled; null without `async`. */
  job_id: string | null;
  /** URL at which to poll the job, the same as in `Location`; null without `async`. */
  poll_url: string | null;
  /** Version of what ran. */
  version: string;
  /** Result of the run; `pending` while its job runs. */
  status: 'pending' | 'ok' | 'blocked' | 'error';
  /** Output, as its JSON Schema describes it; null unless the status is `ok`. */
  output: unknown;
  /** Steps in the order in which they ended, at most 1000; then `warnings` has `steps_truncated`. Those of a loop or branch are listed before it. */
  steps: Array<AgentStep>;
  /** Id of the session in which it ran; null if it did not start. */
  session_id: string | null;
  /** What blocked the page; null if nothing did. */
  block: Block | null;
  /** Resources that the run has used. */
  usage: WorkUsage;
  /** URL of the page at the end; null if no page was opened. */
  final_url: string | null;
  /** Warnings that explain incomplete results, such as `limit_reached`. */
  warnings: Array<string>;
  /** Error of a run with `status: error`; null otherwise. */
  error: WorkError | null;
  metadata: AgentResponseMetadata;
  /** When the run was requested (RFC 3339, UTC). */
  created_at: string;
  /** When the run started (RFC 3339, UTC); null before that. */
  started_at: string | null;
  /** When the run finished (RFC 3339, UTC); null while it is pending. */
  finished_at: string | null;
}

/** Takes a screenshot between other actions; at the end of the list, it is the `screenshot` of the response. */
export interface ScreenshotAction {
  type: 'screenshot';
}

export interface ScreenshotRequest {
  tab_id?: TabId | undefined;
  format?: Format | undefined;
  quality?: Quality | undefined;
  /** Whether to capture the full page instead of the visible area. Default: `false`. */
  full_page?: boolean | null | undefined;
  /** Selector of a single element to capture: CSS, or any selector of the step language. */
  selector?: string | null | undefined;
  /** Reference of a single element to capture, such as `e12`, instead of `selector`. */
  ref?: string | null | undefined;
  /** Whether to scroll through a full page first, so that lazy-loaded images are present. Default: `true`. */
  scroll_first?: boolean | null | undefined;
  /** Whether to draw references of a snapshot on what can be operated. Default: `false`. */
  annotate?: boolean | null | undefined;
  /** Maximum time for the screenshot in milliseconds, 1000 to 120000. Default: 30000. */
  timeout_ms?: number | null | undefined;
}

/** Takes a screenshot. */
export interface ScreenshotStep extends StepFields {
  type: 'screenshot';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Selectors of a single element to capture. Default: the page. */
  selectors?: Array<Selector> | null | undefined;
  ref?: StepRef | undefined;
  format?: Format | undefined;
  /** Image quality for `jpeg` and `webp`, 0 to 100. */
  quality?: number | null | undefined;
  /** Whether to capture the full page instead of the visible area. Default: `false`. */
  full_page?: boolean | null | undefined;
  /** Whether to scroll through the page first, so that lazy-loaded images are present. Default: the value of `full_page`. */
  scroll_first?: boolean | null | undefined;
  /** Whether to make the page’s default background transparent. Default: `false`. */
  omit_background?: boolean | null | undefined;
  /** Whether to draw references of a snapshot on what can be operated. Default: `false`. */
  annotate?: boolean | null | undefined;
}

/** Turns the mouse wheel. */
export interface ScrollAction {
  type: 'scroll';
  x?: X | undefined;
  y?: Y | undefined;
  /** Distance to the right, in pixels of the screenshot. Default: 0. */
  dx?: number | null | undefined;
  /** Distance down, in pixels of the screenshot. Default: 0. */
  dy?: number | null | undefined;
  modifiers?: Modifiers | undefined;
}

/** Scrolls the page or an element. Exactly one of `to`, `selectors` and `by` is required. */
export interface ScrollStep extends StepFields {
  type: 'scroll';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Selectors of the element to scroll. Default: the page. */
  container?: Array<Selector> | null | undefined;
  /** Position to scroll to: `top`, `bottom`, or a point. */
  to?: 'top' | 'bottom' | ScrollStepTo2 | null | undefined;
  /** Selectors of the element to scroll into view. */
  selectors?: Array<Selector> | null | undefined;
  ref?: StepRef | undefined;
  /** Distance to scroll. */
  by?: ScrollStepBy | null | undefined;
  /** Condition until which to scroll repeatedly, for pages that load more as they are scrolled. */
  until?: ScrollStepUntil | null | undefined;
  /** Maximum number of scrolls with `until`, 1 to 500. Default: 50. */
  max?: number | null | undefined;
  /** Milliseconds without growth that count as stable, 100 to 10000. Default: 1000. */
  idle_ms?: number | null | undefined;
}

/** Distance to scroll. */
export interface ScrollStepBy {
  x: StepX;
  y: StepY;
}

export interface ScrollStepTo2 {
  x: StepX;
  y: StepY;
}

/** Condition until which to scroll repeatedly, for pages that load more as they are scrolled. */
export interface ScrollStepUntil {
  /** Whether to stop when nothing has grown for `idle_ms`. Default: `true`. */
  stable?: boolean | null | undefined;
  /** Stop when one of these selectors matches. */
  selectors?: Array<Selector> | null | undefined;
  /** Stop when `selectors` has this many matches, 1 to 100000. */
  count?: number | null | undefined;
}

/** Selects options of a list, or a radio button of a group: of a fieldset, its legend, an ARIA group, or any button of it. Several values select several options of a multiple selection; an empty list selects none. Exactly one of `value`, `label` and `index` is required. */
export interface SelectStep extends StepFields {
  type: 'select';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: StepSelectors | undefined;
  ref?: StepRef | undefined;
  /** Value of the option, or a list of at most 100 values. */
  value?: string | Array<string> | null | undefined;
  /** Label of the option, or a list of at most 100 labels. */
  label?: string | Array<string> | null | undefined;
  /** Position of the option, from 0, or a list of at most 100 positions. */
  index?: number | Array<number> | null | undefined;
  force?: StepForce | undefined;
}

/** A CSS selector, or text behind xpath/, text/, aria/, label/, placeholder/, testid/, pierce/ or ref/. A list is a path through frames and shadow roots, also closed ones: each entry is searched in the match of the previous one. */
export type Selector = string | Array<string>;

export interface SelfHealOverviewResponse {
  /** Length of the window in hours. */
  window_hours: number;
  /** Attempts by result, and tasks that met a block. */
  totals: SelfHealOverviewResponseTotals;
  /** Share of tasks that succeeded in the end, of those that met a block, 0 to 1; null without a block. */
  heal_rate: number | null;
  /** Number of blocks by type. */
  by_type: Record<string, number>;
  /** Number of blocks by vendor. */
  by_vendor: Record<string, number>;
  /** Number of healed tasks by the strategy that succeeded. */
  by_strategy: Record<string, number>;
  /** Sites with the most blocks, at most ten. */
  top_domains: Array<SelfHealOverviewResponseTopDomainsItem>;
  /** Number of sites in a cooldown now. */
  cooldowns: number;
  /** Selectors of flows that no longer matched. */
  selector_heals: SelfHealOverviewResponseSelectorHeals;
  /** Stored skills. */
  skills: SelfHealOverviewResponseSkills;
}

/** Selectors of flows that no longer matched. */
export interface SelfHealOverviewResponseSelectorHeals {
  /** Number of replacements that later runs have confirmed. */
  verified: number;
  /** Number of replacements that no later run has confirmed. */
  unverified: number;
  /** Number of selectors for which no replacement was found. */
  failed: number;
}

/** Stored skills. */
export interface SelfHealOverviewResponseSkills {
  /** Number of skills in use. */
  active: number;
  /** Number of skills that are not used because they failed repeatedly. */
  quarantined: number;
}

export interface SelfHealOverviewResponseTopDomainsItem {
  /** Id of the owner. */
  owner: string;
  /** Registrable domain of the site. */
  domain: string;
  /** Number of blocks. */
  blocks: number;
  /** State of the site for this owner. */
  state: 'healthy' | 'degraded' | 'blocked' | 'cooldown' | 'unknown';
}

/** Attempts by result, and tasks that met a block. */
export interface SelfHealOverviewResponseTotals {
  /** Number of attempts. */
  attempts: number;
  /** Number of successful attempts. */
  ok: number;
  /** Number of blocked attempts. */
  blocked: number;
  /** Number of failed attempts. */
  error: number;
  /** Number of tasks that met a block and succeeded in the end. */
  healed: number;
  /** Number of tasks that met a block and did not succeed. */
  unresolved: number;
}

export interface SessionEndedDetails {
  ended_reason?: string | null | undefined;
  /** Status of the session. */
  status?: string | undefined;
}

export interface SessionEventResponse {
  /** Sequence number of the event within the session. */
  id: number;
  /** Type of the event. */
  type: 'session.ready' | 'session.expiring' | 'session.ended' | 'tab.opened' | 'tab.closed' | 'tab.refused' | 'tab.crashed' | 'navigation' | 'download.started' | 'download.finished' | 'dialog' | 'actions.step' | 'action' | 'viewer.joined' | 'viewer.left' | 'captcha.detected' | 'captcha.awaiting_human' | 'captcha.solved' | 'captcha.failed' | 'profile.saved' | 'profile.save_failed';
  /** When the event occurred (RFC 3339, UTC). */
  at: string;
  /** Data of the event; its fields depend on the type. */
  data: Record<string, unknown>;
}

export interface SessionLostDetails {
  ended_reason?: string | null | undefined;
}

export interface SessionProfile {
  /** Id of the profile. */
  profile_id: string;
  /** Name of the profile. */
  name: string;
  /** Whether the session saves the profile when it ends. */
  save_changes: boolean;
  /** `pending` until the session has ended, then `saved`, or `failed` if the profile is as it was before the session; null without `save_changes`. */
  save_status: 'pending' | 'saved' | 'failed' | null;
}

export interface SessionResponse {
  /** Id of the session. */
  session_id: string;
  /** Always `session`. */
  object: 'session';
  /** Status of the session. `ready` sessions accept calls; `ended` and `failed` are final. */
  status: 'starting' | 'ready' | 'ending' | 'ended' | 'failed';
  /** Why the session ended; null while it is live. New reasons may be added. */
  ended_reason: 'requested' | 'idle_timeout' | 'max_lifetime' | 'admin' | 'plan_limit' | 'credits_exhausted' | 'start_failed' | 'browser_crashed' | 'browser_unresponsive' | 'vm_lost' | 'worker_lost' | 'out_of_memory' | 'cdp_closed' | 'drained' | null;
  /** Kind of browser: `headless`, or `full_browser` with windows on a display. */
  kind: 'headless' | 'full_browser';
  /** `session`: created by you. `fetch`: created by the service to run your fetches, and ended by the service. */
  purpose: 'session' | 'fetch';
  /** Region from which the session’s traffic leaves, unless it uses a proxy of your own. */
  region: string;
  /** Name of the session; null if it has none. */
  name: string | null;
  /** Metadata of the session, as key-value pairs. */
  metadata: Record<string, string>;
  /** When the session was created (RFC 3339, UTC). */
  created_at: string;
  /** When the browser was ready (RFC 3339, UTC); null before that. */
  started_at: string | null;
  /** Time of the last activity that reset the idle timer (RFC 3339, UTC). */
  last_activity_at: string;
  /** When the session reaches its maximum lifetime (RFC 3339, UTC). */
  expires_at: string;
  /** When the session ended (RFC 3339, UTC); null while it is live. */
  ended_at: string | null;
  /** Maximum lifetime in seconds, counted from the creation. */
  timeout_seconds: number;
  /** Seconds after which the session ends if nothing calls it and no DevTools client is connected. */
  idle_timeout_seconds: number;
  /** Whether the session continues after its last DevTools client disconnects. */
  keep_alive: boolean;
  /** URL of the active tab; null if no tab is known. */
  current_url: string | null;
  /** Title of the active tab; null if no tab is known. */
  title: string | null;
  /** Size of the page area. */
  viewport: Viewport;
  /** User agent that pages see; null while the browser starts, unless one was set. */
  user_agent: string | null;
  /** Locale that was set for the session, as a BCP 47 tag; null for the browser’s default. */
  locale: string | null;
  /** Time zone that was set for the session, as an IANA name; null for the default. */
  timezone: string | null;
  /** URL at which `GET` returns a connect token and a DevTools address for Playwright and Puppeteer. */
  connect_url: string;
  /** WebSocket URL of the Chrome DevTools Protocol. It contains no secret: send `Authorization: Bearer` with your API key. */
  cdp_url: string;
  /** URL of the live view, without a secret. In a browser that is signed in to the dashboard it opens at once; others are asked to sign in. For somebody else, `POST …/view-token` returns a link. Programs get 401 without one. */
  live_view_url: string;
  /** Proxy that the request named, without credentials; null for the region’s egress, which `egress` describes. */
  proxy: SessionResponseProxy | null;
  /** Profile with which the session started; null without one. */
  profile: SessionProfile | null;
  /** Whether connections to known advertising and tracking hosts are refused. */
  block_ads: boolean;
  /** The only hosts that pages and their resources may reach, as patterns; null for no restriction. */
  allowed_domains: Array<string> | null;
  /** How the session handles captchas. */
  captcha: SessionResponseCaptcha;
  /** Address from which the session’s traffic leaves. */
  egress: SessionResponseEgress;
  /** Tabs of the session. */
  tabs: SessionResponseTabs;
  /** Clients that are connected to the session. */
  connections: SessionResponseConnections;
  /** Recording of the session. */
  recording: SessionResponseRecording;
  /** Resources that the session has used. */
  usage: SessionResponseUsage;
  /** How the browser is isolated: `microvm` in a virtual machine, `process` in Linux namespaces. */
  isolation: 'microvm' | 'process';
  /** Name of the runtime that runs the machine. */
  runtime: string;
  /** Result of the navigation to `start_url`; null if none was requested or it has not finished. */
  start_navigation: StartNavigation | null;
  /** Whether the machine came from the warm pool. */
  warm: boolean;
}

/** How the session handles captchas. */
export interface SessionResponseCaptcha {
  /** Whether captchas are only reported, or also solved. */
  mode: 'detect' | 'solve';
  /** Who solves captchas; null for all configured providers. */
  provider: 'http' | 'human' | null;
}

/** Clients that are connected to the session. */
export interface SessionResponseConnections {
  /** Number of open DevTools connections. */
  cdp: number;
  /** Number of open live view and VNC connections. */
  viewers: number;
}

/** Address from which the session’s traffic leaves. */
export interface SessionResponseEgress {
  /** How traffic leaves: `direct`, or through proxies of this type; null before the session is ready. */
  type: 'direct' | 'managed' | 'rotating' | 'external' | null;
  /** Public IP address that sites see; null unless the operator’s regions file states it. */
  ip: string | null;
  /** Country of the egress, ISO 3166-1 alpha-2: of the proxy, or of the region if traffic leaves directly; null if unknown. */
  country: string | null;
  /** Number of times the egress has been rotated. */
  rotations: number;
  /** When the egress was last rotated (RFC 3339, UTC); null if never. */
  rotated_at: string | null;
}

/** Proxy that the request named, without credentials; null for the region’s egress, which `egress` describes. */
export interface SessionResponseProxy {
  /** Type of the proxy. */
  type: 'none' | 'managed' | 'rotating' | 'external';
  /** Address of the proxy without credentials; null if the type has no single server. */
  server: string | null;
  /** Country of the proxies, ISO 3166-1 alpha-2; null if none was requested. */
  country: string | null;
  /** When the next proxy of a `rotating` list is used: `on_request` or `every_connection`. */
  rotate: string;
  /** Host patterns that are reached without the proxy. */
  bypass: Array<string>;
}

/** Recording of the session. */
export interface SessionResponseRecording {
  /** Whether the session was created with `record: true`. */
  enabled: boolean;
  /** Id of the recording; null if there is none. */
  rec_id: string | null;
  /** Status of the recording; null if there is none. */
  status: 'recording' | 'complete' | 'incomplete' | 'failed' | null;
}

/** Tabs of the session. */
export interface SessionResponseTabs {
  /** Number of open tabs. */
  open: number;
  /** Maximum number of open tabs. */
  limit: number;
}

/** Resources that the session has used. */
export interface SessionResponseUsage {
  /** Number of actions. */
  actions: number;
  /** Browser time in seconds. */
  browser_seconds: number;
  /** Network traffic in bytes, in both directions. */
  egress_bytes: number;
  /** Number of captchas solved by a provider. */
  captcha_solves: number;
  /** Credits that this usage costs, including any part that the wallet could not cover. */
  credits: number;
}

/** Sets a cookie. */
export interface SetCookieStep extends StepFields {
  type: 'set_cookie';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Name of the cookie, 1 to 256 characters. */
  name: string;
  /** Value of the cookie, at most 4096 characters; may contain placeholders. */
  value: string;
  /** URL for which to set the cookie. Default: the page’s URL, if `domain` is not given either. */
  url?: string | null | undefined;
  /** Domain of the cookie, 1 to 253 characters. */
  domain?: string | null | undefined;
  /** Path of the cookie, 1 to 1024 characters. */
  path?: string | null | undefined;
  /** Expiry time in Unix seconds. Default: a session cookie. */
  expires?: number | null | undefined;
  /** Whether the cookie is hidden from JavaScript. Default: `false`. */
  http_only?: boolean | null | undefined;
  /** Whether the cookie is sent over HTTPS only. Default: `false`. */
  secure?: boolean | null | undefined;
  /** SameSite attribute of the cookie. Default: the browser’s default. */
  same_site?: 'Strict' | 'Lax' | 'None' | null | undefined;
}

/** Sets a header that is sent with all later requests of the tab. */
export interface SetHeaderStep extends StepFields {
  type: 'set_header';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Name of the header, at most 128 characters. */
  name: string;
  /** Value of the header, at most 4096 characters; may contain placeholders. null removes the header. */
  value: string | null;
}

/** Changes the size of the page area. */
export interface SetViewportStep extends StepFields {
  type: 'set_viewport';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  width: Width;
  height: Height;
  /** Physical pixels per CSS pixel, 0.5 to 4. Default: 1. */
  device_scale_factor?: number | null | undefined;
}

export interface SettingsResponse {
  /** Always `settings`. */
  object: 'settings';
  /** Id of the worker that responds. */
  worker_id: string;
  /** All settings, in the order of the documentation. */
  settings: Array<SettingsResponseSettingsItem>;
}

export interface SettingsResponseSettingsItem {
  /** Name of the environment variable. */
  name: string;
  /** Part of the service that it belongs to. */
  group: string;
  /** Value as the service uses it; null if there is none. For a secret only `set` or `not set`. URLs are without user, password, query and fragment. */
  value: string | null;
  /** Where the value comes from. */
  source: 'environment' | 'command_line' | 'default';
  /** Value without any setting; null: the description says what applies. */
  default: string | null;
  /** Whether the value is never shown. */
  secret: boolean;
  /** What the setting does, with its unit, in Markdown. */
  description: string;
}

export interface SignInLinkResponse {
  /** Id of the owner that the link signs in as. */
  owner: string;
  /** The link, with its secret in the fragment, which browsers send to nobody. It is returned once: null in a replayed response. */
  url: string | null;
  /** When the link expires (RFC 3339, UTC), used or not. */
  expires_at: string;
}

export interface SiteHealthResponse {
  /** Registrable domain of the site. */
  domain: string;
  /** Id of the owner. */
  owner: string;
  /** State of the site for this owner. */
  state: 'healthy' | 'degraded' | 'blocked' | 'cooldown' | 'unknown';
  /** Share of successful attempts in the window, 0 to 1; null without an attempt. */
  success_rate: number | null;
  /** The last 50 attempts. */
  window: SiteHealthResponseWindow;
  /** Blocks of high confidence since the last success. Three start a cooldown. */
  consecutive_blocks: number;
  /** When an attempt last succeeded (RFC 3339, UTC); null if never. */
  last_ok_at: string | null;
  /** When an attempt was last blocked (RFC 3339, UTC); null if never. */
  last_block_at: string | null;
  /** Type of the last block; null if there was none. */
  last_block_type: 'rate_limited' | 'challenge' | 'captcha' | 'access_denied' | 'bot_wall' | 'geo_blocked' | 'login_wall' | 'consent_wall' | 'empty_shell' | 'robots_disallowed' | 'cooldown' | 'unknown' | null;
  /** Vendor of the last block; null if there was none. */
  vendor: BlockVendor | null;
  /** Strategy with the best score so far; null if none has succeeded. */
  best_strategy: 'direct' | 'wait_retry' | 'throttle' | 'rotate_egress' | 'fresh_context' | 'full_browser' | 'captcha_provider' | 'human' | null;
  /** When the cooldown ends (RFC 3339, UTC); null if there is none. */
  cooldown_until: string | null;
  /** Average duration of the attempts in the window, in milliseconds; null without an attempt. */
  avg_latency_ms: number | null;
  /** When the last attempt ended (RFC 3339, UTC); null without an attempt. */
  updated_at: string | null;
}

/** The last 50 attempts. */
export interface SiteHealthResponseWindow {
  /** Number of attempts. */
  attempts: number;
  /** Number of successful attempts. */
  ok: number;
  /** Number of blocked attempts. */
  blocked: number;
  /** Number of failed attempts. */
  error: number;
  /** When the first attempt in the window started (RFC 3339, UTC); null without an attempt. */
  since: string | null;
}

export interface SkillResponse {
  /** Id of the skill. */
  skill_id: string;
  /** Step that the skill is for: its `id` or type, and its first selector. */
  name: string;
  /** Registrable domain of the site. */
  domain: string;
  /** Flow or template that the step belongs to. */
  task: string;
  /** Version of the skill, from 1. A new one begins when other selectors replace the ones in use. */
  version: number;
  /** State of the skill: `active`, `stale` (not used for 30 days) or `quarantined` (failed three times in a row, and not used until the step’s own selectors match again). */
  state: 'active' | 'stale' | 'quarantined';
  /** Selectors that find the element, best first. They are tried after those of the step. */
  selectors: Array<string | Array<string>>;
  /** Number of runs in which the element was found. */
  success_count: number;
  /** Number of runs in which it was not found. */
  failure_count: number;
  /** Share of runs in which the element was found, 0 to 1; null before the first run. */
  success_rate: number | null;
  /** When a run last used the step (RFC 3339, UTC). */
  last_used_at: string | null;
  /** When the element was last found although no selector of the step matched; null if never. */
  last_healed_at: string | null;
  /** When the skill was learned (RFC 3339, UTC). */
  created_at: string;
}

export interface SnapshotNode {
  /** Level of the node in the tree, from 0. */
  depth: number;
  /** ARIA role, or `text`, or `generic` for an element that is only clickable or scrolls. */
  role: string;
  /** Accessible name, or the text of a `text`. */
  name: string;
  /** Value of a field; null if it has none, or if that is secret. */
  value: string | null;
  /** Only text in the element, if that is not its name; null otherwise. */
  text: string | null;
  /** States that are set, such as `checked`, `disabled`, `expanded`, `level` and `focused`, with `true` or their value. */
  states: Record<string, string>;
  /** Options of a selection; null for other elements. */
  options: SnapshotNodeOptions | null;
  /** Reference for steps, such as `e12`; null for an element that has none. */
  ref: string | null;
  /** Text that tells the row or card of the element from others; null outside of any. */
  place: string | null;
  /** Place of the element in the visible area; null unless `boxes` was sent. */
  box: SnapshotNodeBox | null;
  /** URL of a link; null unless `urls` was sent. */
  url: string | null;
}

/** Place of the element in the visible area; null unless `boxes` was sent. */
export interface SnapshotNodeBox {
  /** Distance from the left in CSS pixels. */
  x: number;
  /** Distance from the top in CSS pixels. */
  y: number;
  /** Width in CSS pixels. */
  width: number;
  /** Height in CSS pixels. */
  height: number;
}

/** Options of a selection; null for other elements. */
export interface SnapshotNodeOptions {
  /** First options, at most 12. */
  shown: Array<string>;
  /** Number of other options. */
  more: number;
}

export interface SnapshotResponse {
  /** Id of the snapshot, for `since`. */
  snapshot_id: string;
  /** Id of the tab. */
  tab_id: string;
  /** URL of the page. */
  url: string;
  /** Title of the page. */
  title: string;
  /** Estimated size in tokens. */
  tokens: number;
  /** What the tokens did not suffice for; null if nothing is left. */
  left: SnapshotResponseLeft | null;
  /** References whose elements are gone since the snapshot `since`, at most 50; null without it. */
  removed: Array<string> | null;
  /** Warnings: `frames_left_out:2` for frames that did not answer or are too many, `page_too_large` if the page has more than 25,000 nodes, `since_not_found` if the snapshot is whole because the earlier one is unknown or of another part of the page. */
  warnings: Array<string>;
  /** Format of the snapshot. */
  format: 'text' | 'json';
  /** A line for each node, such as `- button "Buy" [ref=e3]`, indented by its level; null for `json`. */
  snapshot: string | null;
  /** The nodes in document order; null for `text`. */
  nodes: Array<SnapshotNode> | null;
}

/** What the tokens did not suffice for; null if nothing is left. */
export interface SnapshotResponseLeft {
  /** Number of nodes that are left. */
  nodes: number;
  /** Their estimated size in tokens. */
  tokens: number;
  /** Cursor to send as `after`. */
  after: string;
}

/** Returns the page or an element as an accessibility tree with references, as `GET /v1/session/{session_id}/snapshot` does. */
export interface SnapshotStep extends StepFields {
  type: 'snapshot';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: HtmlStepSelectors | undefined;
  ref?: StepRef | undefined;
  /** `interactive`: what can be operated, with headings, landmarks and messages. `full`: also texts, lists, tables and images. Default: `interactive`. */
  mode?: 'interactive' | 'full' | null | undefined;
  /** Only what matches, with what is around it: a part of the role, name, value or row in any case, `"the whole text"`, or `/a regular expression/` with the flags `imsuv`. Default: everything. */
  find?: string | null | undefined;
  /** Cursor `left.after` of the snapshot before, to go on where it ended. Default: from the start. */
  after?: string | null | undefined;
  /** `snapshot_id` of one of the last four snapshots of the tab: only what has changed since. Default: everything. */
  since?: string | null | undefined;
  /** Maximum size in tokens, 100 to 32000, as far as they can be estimated. Default: 4000. */
  max_tokens?: number | null | undefined;
  /** Whether to add the place of each element in the visible area. Default: `false`. */
  boxes?: boolean | null | undefined;
  /** Whether to add the URLs of links. Default: `false`. */
  urls?: boolean | null | undefined;
  /** Format of the snapshot. Default: `text`. */
  format?: 'text' | 'json' | null | undefined;
}

export interface StartNavigation {
  /** URL that was requested as `start_url`. */
  url: string;
  /** Whether the navigation succeeded. */
  status: 'ok' | 'failed';
  /** HTTP status of the page; null if no HTTP response was received. */
  status_code: number | null;
  /** Why the navigation failed; null if it succeeded. */
  reason: 'dns_failed' | 'connection_refused' | 'connection_reset' | 'tls_error' | 'timeout' | 'proxy_error' | 'aborted' | 'download' | 'blocked_by_policy' | 'too_many_redirects' | 'page_crashed' | null;
  /** Network error as the browser names it, such as `net::ERR_NAME_NOT_RESOLVED`; null if it succeeded or the page crashed. */
  net_error: string | null;
  /** What went wrong and what to do; null if the navigation succeeded. */
  message: string | null;
}

/** HTTP status of the page; null if no response was received. */
export type StatusCode = number | null;

export type Step = NavigateStep | BackStep | ForwardStep | ReloadStep | ClickStep | HoverStep | FillStep | TypeStep | PressStep | SelectStep | CheckStep | UploadStep | DragStep | ScrollStep | WaitStep | ExtractStep | SnapshotStep | ScreenshotStep | PdfStep | HtmlStep | MarkdownStep | LinksStep | DownloadStep | DialogStep | SetCookieStep | SetHeaderStep | SetViewportStep | EvaluateStep | AssertStep | IfStep | ForEachStep | RepeatStep;

/** All of the given conditions must hold when the step is evaluated. */
export interface StepCondition {
  /** Selectors of which one must match an element. */
  exists?: Array<Selector> | null | undefined;
  /** Selectors of which none may match an element. */
  not_exists?: Array<Selector> | null | undefined;
  text?: Text | undefined;
  /** Pattern that the URL of the page must match. */
  url_matches?: string | null | undefined;
}

/** A value to extract. Without `selectors` it is read from the element itself. It is null if nothing matches. */
export interface StepExtractField {
  /** Selectors of the element. Default: the element of the step itself. */
  selectors?: Array<Selector> | null | undefined;
  /** Attribute to read; URLs are made absolute. Default: the text of the element. */
  attribute?: string | null | undefined;
  /** Type of the value. Default: `text`. */
  as?: 'text' | 'html' | 'value' | 'number' | 'boolean' | 'date' | 'url' | null | undefined;
  list?: List | undefined;
}

/** Fields of every step. */
export interface StepFields {
  /** Id of the step, for `goto:` and `opened_by:`. Unique in the whole list. */
  id?: string | null | undefined;
  /** Note of your own, at most 500 characters. */
  description?: string | null | undefined;
  /** Whether a failure counts as `skipped`, so that the next step runs. Default: `false`. */
  optional?: boolean | null | undefined;
  /** Number of retries after a failure, 0 to 5. Default: 0. */
  retries?: number | null | undefined;
  /** Name of the variable that stores the output. `name[]` appends it to a list. */
  save_as?: string | null | undefined;
  /** What to do after a failure: `fail`, `continue`, or `goto:<id>` of a step in the same list. Default: `fail`. */
  on_error?: string | null | undefined;
  /** Path to the frame of the step: 1 to 8 selectors of frame elements, from the outermost to the innermost. Default: the main frame. */
  frame?: Array<string> | null | undefined;
  /** `as` of an enclosing `for_each`: the step searches only in its current element. */
  within?: string | null | undefined;
  /** Tab of the step. `main`: the tab in which the run started. `newest`, `opened_by:<step id>` or `tab_id:<id>`: another tab. Default: `main`. */
  tab?: string | null | undefined;
}

/** Whether to act although the element is covered, moving or disabled. Default: `false`. */
export type StepForce = boolean | null;

/** Condition without which the step is skipped. */
export type StepIf = StepCondition | null;

/** Offset from the element’s top left corner. Default: its center. */
export interface StepPosition {
  x: StepX;
  y: StepY;
}

/** Reference of the element from a snapshot, such as `e12`, instead of `selectors`. */
export type StepRef = string | null;

/** Result of a step. The results of nested steps are in its `output.steps`. */
export interface StepResult {
  /** Position of the step in its list, from 0. */
  index: number;
  /** Iteration of the enclosing loop, from 0. */
  turn?: number | undefined;
  /** Id of the step; null if it has none. */
  id: string | null;
  /** Type of the step. */
  type: string;
  /** Result of the step. `skipped`: its `if` condition did not hold, or it is optional and failed. */
  status: 'ok' | 'error' | 'skipped';
  /** Duration of the step in milliseconds. */
  duration_ms: number;
  /** Output of the step; its form depends on the type. */
  output?: unknown | undefined;
  /** Error of the step. Also present if the step is `skipped` because it is optional. */
  error?: StepResultError | undefined;
  /** The selector that found the element: an entry of `selectors`, unless the step was healed. */
  selector_used?: string | Array<string> | undefined;
  /** Present if no entry of `selectors` matched, and the element was found by what earlier runs of the flow learned about it. */
  healed?: true | undefined;
  /** Warnings about the step. */
  warnings?: Array<string> | undefined;
}

/** Error of the step. Also present if the step is `skipped` because it is optional. */
export interface StepResultError {
  /** Error code: one of `timeout`, `not_found`, `not_actionable`, `click_not_received`, `assertion_failed`, `navigation_failed`, `not_a_page`, `not_allowed`, `too_large`, `invalid_selector`, `invalid_value`, `frame_not_found`, `tab_not_found`, `ref_not_found`, `stale_ref`, `file_not_found`, `download_failed`, `script_failed`, `page_lost`, `limit_reached`. */
  code: string;
  /** What went wrong and what to do. */
  message: string;
  details?: FailureDetails | undefined;
}

/** Selectors of the element, 1 to 20, tried in order: the first that matches anything is used. One of `selectors` and `ref` is required. */
export type StepSelectors = Array<Selector> | null;

/** Maximum time for each attempt in milliseconds, 100 to 120000, within the time of the whole run. Default: 10000. */
export type StepTimeoutMs = number | null;

/** Horizontal distance in CSS pixels, -100000 to 100000. */
export type StepX = number;

/** Vertical distance in CSS pixels, -100000 to 100000. */
export type StepY = number;

export interface StorageState {
  /** Cookies, at most 3000. Default: none. */
  cookies: Array<StoredCookie>;
  /** Local storage by origin, at most 200 origins. Default: none. */
  origins: Array<StorageStateOriginsItem>;
}

export interface StorageStateOriginsItem {
  /** Origin of the storage, such as `https://example.com`. */
  origin: string;
  /** Items in local storage, at most 5000. Default: none. */
  localStorage: Array<StorageStateOriginsItemLocalStorageItem>;
}

export interface StorageStateOriginsItemLocalStorageItem {
  /** Key of the item, at most 5242880 characters, any of UTF-16. */
  name: string;
  /** Value of the item, at most 5242880 characters, any of UTF-16. */
  value: string;
}

export interface StorageStateRequest {
  /** Cookies, at most 3000. Default: none. */
  cookies?: Array<CookieRequest> | null | undefined;
  /** Local storage by origin, at most 200 origins. Default: none. */
  origins?: Array<StorageStateRequestOriginsItem> | null | undefined;
}

export interface StorageStateRequestOriginsItem {
  /** Origin of the storage, such as `https://example.com`. */
  origin: string;
  /** Items in local storage, at most 5000. Default: none. */
  localStorage?: Array<StorageStateRequestOriginsItemLocalStorageItem> | null | undefined;
}

export interface StorageStateRequestOriginsItemLocalStorageItem {
  /** Key of the item, at most 5242880 characters, any of UTF-16. */
  name: string;
  /** Value of the item, at most 5242880 characters, any of UTF-16. */
  value: string;
}

export interface StoredCookie {
  /** Name of the cookie. Name and value together have 1 to 4096 bytes in UTF-8. */
  name: string;
  /** Value of the cookie. */
  value: string;
  /** Domain of the cookie, 1 to 256 characters. A leading dot includes subdomains. */
  domain: string;
  /** Path of the cookie, which begins with `/`, 1 to 1024 characters. */
  path: string;
  /** Expiry time in Unix seconds; -1 for a session cookie. */
  expires: number;
  /** Whether the cookie is hidden from JavaScript. */
  httpOnly: boolean;
  /** Whether the cookie is sent over HTTPS only. */
  secure: boolean;
  /** SameSite attribute of the cookie. Default: the browser’s default. */
  sameSite?: 'Strict' | 'Lax' | 'None' | undefined;
  /** Partition key of a partitioned cookie (CHIPS): the top-level site, such as `https://example.com`, at most 512 characters. */
  partitionKey?: string | undefined;
  /** Whether a partitioned cookie is of a frame with a cross-site ancestor, as Playwright names it. Default: false. */
  _crHasCrossSiteAncestor?: boolean | undefined;
}

export interface StrategiesResponse {
  /** Id of the owner. */
  owner: string;
  /** Registrable domain of the site. */
  domain: string;
  /** All strategies in the order in which they are tried. */
  strategies: Array<StrategiesResponseStrategiesItem>;
  /** Strategy with which the next task on this site starts. */
  current: 'direct' | 'wait_retry' | 'throttle' | 'rotate_egress' | 'fresh_context' | 'full_browser' | 'captcha_provider' | 'human';
  /** When the cooldown ends and the site is tried again (RFC 3339, UTC); null if there is none. */
  next_probe_at: string | null;
}

export interface StrategiesResponseStrategiesItem {
  /** Name of the strategy. */
  name: 'direct' | 'wait_retry' | 'throttle' | 'rotate_egress' | 'fresh_context' | 'full_browser' | 'captcha_provider' | 'human';
  /** Number of attempts. */
  attempts: number;
  /** Number of successful attempts. */
  successes: number;
  /** Number of blocked attempts. */
  blocks: number;
  /** Number of failed attempts. */
  errors: number;
  /** Share of successful attempts of all recorded ones, 0 to 1; null without an attempt. */
  success_rate: number | null;
  /** Lower bound of the 95 % Wilson interval over the last 50 attempts; null without an attempt. */
  score: number | null;
  /** Average duration in milliseconds; null without an attempt. */
  avg_latency_ms: number | null;
  /** Average cost of an attempt in credits: its actions, traffic and solved captchas; null without an attempt. */
  avg_cost_credits: number | null;
  /** When the strategy was last used (RFC 3339, UTC); null if never. */
  last_used_at: string | null;
  /** Whether the service can use the strategy. Some require a proxy list or a captcha provider. */
  enabled: boolean;
}

/** Id of the tab to use. Default: the active tab. */
export type TabId = string | null;

export interface TabLimitReachedDetails {
  /** The limit. */
  limit: number;
}

export interface TabResponse {
  /** Id of the tab. */
  tab_id: string;
  /** URL of the tab. */
  url: string;
  /** Title of the tab. */
  title: string;
  /** Whether this is the active tab, which calls without a `tab_id` use. */
  active: boolean;
  /** Id of the tab that opened this one; null if no tab did. */
  opener_tab_id: string | null;
  /** When the tab was opened (RFC 3339, UTC). */
  created_at: string;
  /** Loading status of the tab. */
  status: 'loading' | 'complete' | 'crashed';
}

export interface TemplateItemResponse extends AgentTaskResponse {
  /** Its steps, in the step language. A step of the type `call` runs the flow `task` with `inputs`. */
  steps: Array<Record<string, unknown>>;
  /** The steps as a recording of the Chrome DevTools Recorder; null unless `format` is `recorder` and all steps have a counterpart. */
  recording: Record<string, unknown> | null;
  /** The steps as a Playwright test; null unless `format` is `playwright` and all steps have a counterpart. */
  playwright: string | null;
}

export interface TemplateRequest extends RunFields {
  /** Name of the template to run, one of `GET /v1/templates`, at most 100 characters. */
  template: string;
  /** Inputs of the template, as its JSON Schema describes them, at most 100. */
  inputs?: Record<string, unknown> | null | undefined;
}

export interface TemplateResponse extends RunResponse {
  /** Name of the template. */
  template: string;
}

/** Text that the page must show. */
export type Text = string | null;

/** Clicks three times. */
export interface TripleClickAction {
  type: 'triple_click';
  x?: X | undefined;
  y?: Y | undefined;
  button?: Button | undefined;
  modifiers?: Modifiers | undefined;
}

/** Types text key by key. */
export interface TypeAction {
  type: 'type';
  /** Text to type into what has the focus, at most 10000 characters. A line break is the Enter key. */
  text: string;
  delay_ms?: DelayMs | undefined;
}

/** Types text key by key. */
export interface TypeStep extends StepFields {
  type: 'type';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  ref?: StepRef | undefined;
  /** Selectors of the element to type into. Default: the focused element. */
  selectors?: Array<Selector> | null | undefined;
  /** Text to type, at most 10000 characters; may contain placeholders. */
  text: string;
  delay_ms?: DelayMs | undefined;
}

export interface UnknownTaskDetails {
  /** Names that exist. */
  available: Array<string>;
}

export interface UnknownTemplateDetails {
  /** Names that exist. */
  available: Array<string>;
}

export interface UpdateOwnerRequest {
  /** Plan to set: a tier of the tiers file. */
  tier: string;
}

export interface UpdateSessionRequest {
  /** Maximum lifetime in seconds, counted from the creation of the session: 30 to 86400, or less if the plan sets a lower maximum. */
  timeout_seconds?: number | null | undefined;
  /** Seconds after which the session ends if nothing calls it and no DevTools client is connected: 10 to 86400, and at most `timeout_seconds`. */
  idle_timeout_seconds?: number | null | undefined;
  /** New name of the session, 1 to 64 characters, unique among your live sessions; null removes the name. */
  name?: string | null | undefined;
  /** Metadata of the session. Replaces all existing entries. */
  metadata?: Record<string, string> | null | undefined;
}

export interface UploadLimitReachedDetails {
  /** Maximum number of files of a session. */
  files: number;
  /** Maximum number of their bytes. */
  bytes: number;
}

export interface UploadRequest {
  /** File name without slashes, 1 to 200 characters and at most 255 bytes in UTF-8. */
  name: string;
  /** Contents of the file in base64, at most 12 MiB when decoded. */
  data_base64: string;
}

/** Gives files to a file field. */
export interface UploadStep extends StepFields {
  type: 'upload';
  timeout_ms?: StepTimeoutMs | undefined;
  if?: StepIf | undefined;
  selectors?: StepSelectors | undefined;
  ref?: StepRef | undefined;
  /** Ids of uploaded files, at most 20. An empty list clears the field. */
  file_ids: Array<string>;
}

export interface UploadedFileResponse {
  /** Id of the file, for the `file_ids` of an `upload` step. */
  file_id: string;
  /** File name. */
  name: string;
  /** Size of the file in bytes. */
  bytes: number;
  /** SHA-256 checksum of the file in hexadecimal. */
  sha256: string;
  /** When the file was uploaded (RFC 3339, UTC). */
  created_at: string;
}

export interface UriTooLongDetails {
  /** Maximum number of bytes. */
  limit_bytes: number;
}

/** Cost of usage, without fixed cost. */
export interface UsageCost {
  /** Time of browsers, in `currency`. */
  vm_hours: number;
  /** Traffic, in `currency`. */
  egress: number;
  /** Solved captchas, in `currency`. */
  captcha: number;
  /** Sum of all, in `currency`. */
  total: number;
}

/** Limits per calendar month; null: unlimited. */
export interface UsageLimits {
  /** Number of actions; null: unlimited. */
  actions: number | null;
  /** Network traffic in bytes; null: unlimited. */
  egress_bytes: number | null;
  /** Browser time in seconds; null: unlimited. */
  browser_seconds: number | null;
  /** Number of captchas solved by a provider; null: unlimited. */
  captcha_solves: number | null;
}

export interface UsageResponse {
  /** Plan in effect: that of a trial while one is active. */
  tier: string;
  /** Calendar month in UTC, as `YYYY-MM`. */
  month: string;
  /** Usage in this month. */
  usage: UsageResponseUsage;
  /** Limits of the plan per month; null: unlimited. */
  limits: UsageLimits;
  /** What remains of the limits this month; null: unlimited. */
  remaining: UsageLimits;
  /** Maximum number of live sessions: that of the plan, or that of a worker if the plan has none. */
  concurrency_limit: number;
  /** Whether managed and rotating proxies may be used. */
  premium_egress: boolean;
  /** Whether usage beyond the limits is allowed. */
  overage_allowed: boolean;
  /** Whether the limits are enforced. */
  enforced: boolean;
  /** When the next month begins (RFC 3339, UTC). */
  resets_at: string;
  /** When the trial ends and the previous plan applies again (RFC 3339, UTC); null without a trial. */
  trial_ends_at: string | null;
  /** Usage of each of the last `days` days, oldest first, today included. Absent unless `days` was sent. Up to two seconds old. */
  days?: Array<UsageResponseDaysItem> | undefined;
}

export interface UsageResponseDaysItem {
  /** Day in UTC, as `YYYY-MM-DD`. */
  day: string;
  /** Number of actions. */
  actions: number;
  /** Network traffic in bytes, in both directions, as measured at the egress of the service. */
  egress_bytes: number;
  /** Browser time in seconds, rounded down. */
  browser_seconds: number;
  /** Number of sessions created. */
  sessions: number;
  /** Number of captchas solved by a provider. */
  captcha_solves: number;
}

/** Usage in this month. */
export interface UsageResponseUsage {
  /** Number of actions. */
  actions: number;
  /** Network traffic in bytes, in both directions, as measured at the egress of the service. */
  egress_bytes: number;
  /** Browser time in seconds, rounded down. */
  browser_seconds: number;
  /** Number of sessions created. */
  sessions: number;
  /** Number of captchas solved by a provider. */
  captcha_solves: number;
}

export interface ValidationBody {
  /** Errors of the request: all of them, or the first 100. */
  detail: Array<ValidationIssue>;
  /** Number of further errors that were found. Absent if `detail` has all of them. Lists stop after some thousand. */
  omitted?: number | undefined;
  /** The error in the form of all other errors. */
  error: ValidationBodyError;
  /** The same as `error.code`. */
  code: 'validation_error';
}

/** The error in the form of all other errors. */
export interface ValidationBodyError {
  /** Always `validation_error`. */
  code: 'validation_error';
  /** The first error and its location, and the number of the others. */
  message: string;
  /** The first hint of `detail`; null without one. */
  hint: string | null;
  /** Always false: correct the request. */
  retryable: false;
  /** Id of the request, the same as in `X-Request-Id`. */
  request_id: string;
  /** Empty: `detail` has the errors. */
  details: Record<string, unknown>;
}

export interface ValidationIssue {
  /** Location of the error: first `body`, `query`, `path` or `header`, then the path to the field. */
  loc: Array<string>;
  /** What is wrong. */
  msg: string;
  /** Type of the error. */
  type: string;
  /** The value that was sent. */
  input: unknown;
  /** Further data about the error, such as the bound that was exceeded. */
  ctx: Record<string, unknown>;
  /** What to change, where the service can guess it. */
  hint?: string | undefined;
}

export interface ViewTokenRequest {
  /** What the link allows. `view`: watch. `control`: also send input. `recording`: open the session’s recording, also after the session has ended. Default: `view`; for an ended session with a recording, `recording`. */
  scope?: 'view' | 'control' | 'recording' | null | undefined;
  /** Seconds for which the link can be opened, 30 to 3600. Default: 300. */
  ttl_seconds?: number | null | undefined;
}

export interface ViewTokenResponse extends LinkResponse {
  /** Always `view`. */
  token_type: 'view';
  /** What the link allows. */
  scope: 'view' | 'control' | 'recording';
}

export interface Viewport {
  width: Width;
  height: Height;
  /** Physical pixels per CSS pixel, 0.5 to 4. Default: 1. */
  device_scale_factor: number;
}

export interface ViewportInput {
  width: Width;
  height: Height;
  /** Physical pixels per CSS pixel, 0.5 to 4. Default: 1. */
  device_scale_factor?: number | null | undefined;
}

export interface VncTokenRequest {
  /** Seconds for which the link can be opened, 30 to 3600. Default: 300. */
  ttl_seconds?: number | null | undefined;
}

export interface VncTokenResponse extends LinkResponse {
  /** Always `vnc`. */
  token_type: 'vnc';
}

/** Waits. */
export interface WaitAction {
  type: 'wait';
  /** Milliseconds to wait, 0 to 60000. Default: 1000. */
  ms?: number | null | undefined;
}

/** Waits for a condition. Exactly one of `ms`, `selectors`, `text`, `url`, `network_idle` and `function` is required. */
export interface WaitStep extends StepFields {
  type: 'wait';
  timeout_ms?: BackStepTimeoutMs | undefined;
  if?: StepIf | undefined;
  /** Milliseconds to wait, 0 to 60000. */
  ms?: number | null | undefined;
  /** Selectors of the element to wait for. */
  selectors?: Array<Selector> | null | undefined;
  ref?: StepRef | undefined;
  /** State of the element to wait for. Requires `selectors`. Default: `visible`. */
  state?: 'visible' | 'attached' | 'hidden' | 'detached' | null | undefined;
  text?: Text | undefined;
  /** Pattern that the URL of the page must match. */
  url?: string | null | undefined;
  /** Wait until no request was open for half a second. Event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds, such as long polls, do not count. */
  network_idle?: true | null | undefined;
  /** JavaScript expression to evaluate in the page until it is true, where the operator allows `evaluate`. */
  function?: string | null | undefined;
}

/** Page event to wait for: `commit` (response received), `domcontentloaded`, `load` or `networkidle` (no request open for half a second; event streams, WebSockets, media, beacons and requests that are open for longer than 5 seconds do not count). Default: `load`. */
export type WaitUntil = 'load' | 'domcontentloaded' | 'networkidle' | 'commit' | null;

export interface WebhookResponse {
  /** Always `true`. */
  received: true;
  /** Whether the event was ignored because it changes nothing. */
  ignored: boolean;
  /** Whether the event had already been received. */
  duplicate: boolean;
}

/** Width in CSS pixels, 320 to 3840. */
export type Width = number;

export interface WorkError {
  /** Error code. */
  code: string;
  /** What went wrong and what to do. */
  message: string;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** Further data about the error; its fields depend on the code. */
  details?: Record<string, unknown> | undefined;
}

export interface WorkUsage {
  /** Number of actions. */
  actions: number;
  /** Network traffic of the page’s own requests in bytes. Charges are based on the traffic measured at the egress, which may differ by some bytes. */
  egress_bytes: number;
  /** Number of captchas solved by a provider. */
  captcha_solves: number;
  /** Credits that this usage costs. */
  credits: number;
}

export interface WorkerResponse {
  /** Always `worker`. */
  object: 'worker';
  /** Id of the worker. */
  worker_id: string;
  /** Region of the worker. */
  region: string;
  /** Public URL of the worker. */
  url: string;
  /** Version of the service that the worker runs; empty for one that does not report it. */
  version: string;
  /** When the worker started (RFC 3339, UTC). */
  started_at: string;
  /** When the worker last reported (RFC 3339, UTC). What follows is as of then, but for `state`. */
  heartbeat_at: string;
  /** Whether the worker still reports. A worker that does not is lost: its sessions are ended. */
  alive: boolean;
  /** What the operator decided, or that the worker stops. `active`: it takes new work. `cordoned`: it takes no new sessions, fetches or jobs, and those it has go on. `draining`: the same, and `/health` fails, so that load balancers leave it out; also while the worker stops. */
  state: 'active' | 'cordoned' | 'draining';
  /** Who decided, as in the audit log; null if nobody has. */
  state_by: string | null;
  /** When the sessions of a draining worker are ended (RFC 3339, UTC); null if they go on until they end. */
  drain_until: string | null;
  /** Kinds of machines that the worker can start. */
  kinds: Array<string>;
  /** Sessions that the worker runs or starts, machines of fetches included. */
  sessions: number;
  /** Owners that are pinned to the worker. `GET /admin/owners?pinned_worker_id=` lists them. */
  pinned_owners: number;
  /** Maximum number of sessions of the worker (`BERTH_MAX_SESSIONS`). */
  sessions_max: number;
  /** Sessions that were placed on the worker within its last two heartbeats. */
  reserved: number;
  /** Machines that still fit into the memory of its host; null if it cannot be read. */
  machines_left: number | null;
  /** Whether the worker would start a new machine. */
  admitting: boolean;
  /** Whether the processors of its host are too busy to start machines quickly. */
  processors_busy: boolean;
  /** Warm machines of the worker, by kind. */
  warm: WorkerResponseWarm;
}

/** Warm machines of the worker, by kind. */
export interface WorkerResponseWarm {
  /** Warm machines of the kind `headless`. */
  headless: number;
  /** Warm machines of the kind `full_browser`. */
  full_browser: number;
}

/** Distance from the left edge, in pixels of the screenshot. Default, with `y`: where the mouse is. */
export type X = number | null;

/** Distance from the top edge, in pixels of the screenshot. Default, with `x`: where the mouse is. */
export type Y = number | null;

/** A code of an error of the service. Newer services may have others. */
export type ErrorCode = 'bad_request' | 'unknown_task' | 'unknown_template' | 'invalid_signature' | 'missing_api_key' | 'missing_admin_key' | 'missing_view_token' | 'missing_login_token' | 'invalid_login_token' | 'missing_metrics_token' | 'insufficient_credits' | 'plan_limit_exceeded' | 'invalid_api_key' | 'invalid_admin_key' | 'invalid_connect_token' | 'invalid_sign_in_link' | 'invalid_view_token' | 'invalid_metrics_token' | 'origin_not_allowed' | 'premium_egress_required' | 'session_not_found' | 'tab_not_found' | 'ref_not_found' | 'job_not_found' | 'download_not_found' | 'connect_token_not_found' | 'profile_not_found' | 'skill_not_found' | 'owner_not_found' | 'worker_not_found' | 'key_not_found' | 'code_not_found' | 'recording_not_found' | 'asset_not_found' | 'route_not_found' | 'method_not_allowed' | 'request_timeout' | 'download_not_ready' | 'stale_ref' | 'upload_limit_reached' | 'last_tab' | 'tab_limit_reached' | 'session_busy' | 'session_ended' | 'session_not_ready' | 'report_not_available' | 'name_taken' | 'code_already_redeemed' | 'plan_active' | 'no_subscription' | 'key_limit_reached' | 'connect_token_limit_reached' | 'key_revoked' | 'vnc_unavailable' | 'profile_locked' | 'profile_unreadable' | 'profile_limit_reached' | 'idempotency_conflict' | 'idempotency_in_progress' | 'answer_lost' | 'code_expired' | 'job_expired' | 'body_too_large' | 'uri_too_long' | 'unsupported_media_type' | 'range_not_satisfiable' | 'rate_limited' | 'too_many_streams' | 'concurrency_limit' | 'create_rate_limit' | 'headers_too_large' | 'internal_error' | 'not_implemented' | 'navigation_failed' | 'page_failed' | 'billing_provider_failed' | 'session_lost' | 'no_capacity' | 'starting' | 'draining' | 'region_unavailable' | 'billing_not_configured' | 'login_unavailable' | 'store_unavailable' | 'worker_unreachable' | 'deadline_exceeded';

/** What `details` has by the code of the error. */
export interface ErrorDetails {
  unknown_task: UnknownTaskDetails;
  unknown_template: UnknownTemplateDetails;
  insufficient_credits: InsufficientCreditsDetails;
  plan_limit_exceeded: PlanLimitExceededDetails;
  method_not_allowed: MethodNotAllowedDetails;
  download_not_ready: DownloadNotReadyDetails;
  upload_limit_reached: UploadLimitReachedDetails;
  tab_limit_reached: TabLimitReachedDetails;
  session_ended: SessionEndedDetails;
  key_limit_reached: KeyLimitReachedDetails;
  connect_token_limit_reached: ConnectTokenLimitReachedDetails;
  profile_locked: ProfileLockedDetails;
  profile_limit_reached: ProfileLimitReachedDetails;
  answer_lost: AnswerLostDetails;
  body_too_large: BodyTooLargeDetails;
  uri_too_long: UriTooLongDetails;
  concurrency_limit: ConcurrencyLimitDetails;
  create_rate_limit: CreateRateLimitDetails;
  navigation_failed: NavigationFailedDetails;
  page_failed: PageFailedDetails;
  session_lost: SessionLostDetails;
  no_capacity: NoCapacityDetails;
  deadline_exceeded: DeadlineExceededDetails;
}
