/** All commands, as data: the program, its help, the page of the documentation and completion are made from it. */
import type { Action } from './context.ts';

export interface CommandSpec {
  /** Name, of one word. */
  name: string;
  aliases?: readonly string[];
  /** Arguments as help shows them: `<required>`, `[optional]`, `[many...]`. */
  args?: string;
  summary: string;
  /** Flags as help shows them, and what they do. */
  options?: readonly (readonly [flags: string, description: string])[];
  examples: readonly string[];
  group: (typeof groups)[number];
  /** The option `-s` is the session's everywhere but here. */
  keepsShortS?: boolean;
  /** Loads what the command does, so that a start reads only that. */
  load: () => Promise<Action>;
}

export const groups = ['Pages', 'Input', 'Reading', 'Watching', 'Sessions', 'Work without a session', 'Service', 'Setup'] as const;

type Module = Record<string, unknown>;
const from = (load: () => Promise<Module>, name: string) => async (): Promise<Action> => (await load())[name] as Action;
const act = (name: string) => from(() => import('./commands/act.ts'), name);
const pages = (name: string) => from(() => import('./commands/pages.ts'), name);
const read = (name: string) => from(() => import('./commands/read.ts'), name);
const watch = (name: string) => from(() => import('./commands/watch.ts'), name);
const work = (name: string) => from(() => import('./commands/work.ts'), name);
const service = (name: string) => from(() => import('./commands/service.ts'), name);

const timeout = ['--timeout <ms>', 'Time of the step in milliseconds.'] as const;
const tab = ['--tab <id>', 'Tab to use. Default: the one that `berth tab` selected, or the active one.'] as const;
const force = ['--force', 'Does not wait until the element can be used.'] as const;
const stepOptions = [timeout, tab] as const;
const main = ['--main', 'Only the main content, without navigation and footers.'] as const;
const async = ['--async', 'Returns a job at once; `berth job ID --wait` waits for it.'] as const;
const workTimeout = ['--timeout <ms>', 'Time of the whole work in milliseconds.'] as const;
const ttl = ['--ttl <seconds>', 'How long the link works.'] as const;
const noOpen = ['--no-open', 'Prints the link without opening it.'] as const;

export const commands: readonly CommandSpec[] = [
  {
    name: 'open',
    aliases: ['goto', 'navigate'],
    args: '[url]',
    summary: 'Open a page, and start a session where there is none',
    options: [
      ['--new', 'Starts another session, even if there is one.'],
      ['--profile <name>', 'Browser profile to start the session with.'],
      ['--save-profile', 'Saves the profile when the session ends.'],
      ['--full-browser', 'Starts a browser with its window, which `watch` shows whole.'],
      ['--viewport <size>', 'Size of the page, such as 1280x800.'],
      ['--proxy <url>', 'Proxy of the session.'],
      ['--region <name>', 'Region of the session.'],
      ['--record', 'Records a video of the session.'],
      ['--har', 'Records its traffic from the start.'],
      ['--lifetime <seconds>', 'Ends the session after this time in any case.'],
      ['--idle <seconds>', 'Ends the session when it was not used for this time.'],
      ['--metadata <name=value...>', 'Metadata of the session.'],
      ['--wait-until <event>', 'load, domcontentloaded, networkidle or commit.'],
      ...stepOptions,
    ],
    examples: ['berth open shop.example', 'berth open --new --record --viewport 1280x800 https://shop.example/'],
    group: 'Pages',
    load: pages('open'),
  },
  { name: 'back', summary: 'Go back', options: stepOptions, examples: ['berth back'], group: 'Pages', load: pages('back') },
  {
    name: 'forward-page',
    aliases: ['next-page'],
    summary: 'Go forward',
    options: stepOptions,
    examples: ['berth forward-page'],
    group: 'Pages',
    load: pages('forward'),
  },
  {
    name: 'reload',
    summary: 'Load the page again',
    options: stepOptions,
    examples: ['berth reload'],
    group: 'Pages',
    load: pages('reload'),
  },
  {
    name: 'tab',
    args: '[what] [argument]',
    summary: 'List tabs, select one by its number, or `new [url]` or `close [tab]`',
    examples: ['berth tab', 'berth tab new shop.example', 'berth tab 2', 'berth tab close 2'],
    group: 'Pages',
    load: pages('tab'),
  },
  {
    name: 'wait',
    args: '[target]',
    summary: 'Wait for an element, a text, an address, a quiet network, or milliseconds',
    options: [
      ['--text <text>', 'Until the page shows the text.'],
      ['--url <pattern>', 'Until the address matches, with * for any characters.'],
      ['--idle', 'Until the network is quiet.'],
      ['--load <state>', 'networkidle is the same as --idle.'],
      ['--state <state>', 'visible, attached, hidden or detached.'],
      ['--fn <expression>', 'Until the expression is true, where the operator allows scripts.'],
      ...stepOptions,
    ],
    examples: ['berth wait "#results"', 'berth wait --text "Thank you" --timeout 60000', 'berth wait 500'],
    group: 'Pages',
    load: act('wait'),
  },

  {
    name: 'click',
    args: '<target>',
    summary: 'Click an element by its ref or locator',
    options: [
      ['--button <name>', 'left, right or middle.'],
      ['--double', 'Clicks twice.'],
      ['--modifier <key...>', 'Alt, Control, Meta or Shift.'],
      force,
      ...stepOptions,
    ],
    examples: ['berth click @e3', 'berth click "text/Add to basket"'],
    group: 'Input',
    load: act('click'),
  },
  {
    name: 'dblclick',
    args: '<target>',
    summary: 'Double-click an element',
    options: [force, ...stepOptions],
    examples: ['berth dblclick @e3'],
    group: 'Input',
    load: act('doubleClick'),
  },
  {
    name: 'fill',
    args: '<target> <text>',
    summary: 'Replace the text of a field',
    options: [force, ...stepOptions],
    examples: ['berth fill @e5 "me@example.com"'],
    group: 'Input',
    load: act('fill'),
  },
  {
    name: 'type',
    args: '<target> <text>',
    summary: 'Type text into a field, key by key',
    options: stepOptions,
    examples: ['berth type @e5 "lamp"'],
    group: 'Input',
    load: act('type'),
  },
  {
    name: 'press',
    args: '<keys...>',
    summary: 'Press keys, one after another',
    options: [['--on <target>', 'Element that gets them. Default: the one with the focus.'], ...stepOptions],
    examples: ['berth press Enter', 'berth press Control+A Delete --on @e5'],
    group: 'Input',
    load: act('press'),
  },
  {
    name: 'select',
    args: '<target> <value...>',
    summary: 'Select options of a list by value',
    options: [['--by-label', 'The values are what the options show.'], force, ...stepOptions],
    examples: ['berth select @e7 express', 'berth select @e7 --by-label "Express delivery"'],
    group: 'Input',
    load: act('select'),
  },
  {
    name: 'check',
    args: '<target>',
    summary: 'Check a box',
    options: [force, ...stepOptions],
    examples: ['berth check @e8'],
    group: 'Input',
    load: act('check'),
  },
  {
    name: 'uncheck',
    args: '<target>',
    summary: 'Uncheck a box',
    options: [force, ...stepOptions],
    examples: ['berth uncheck @e8'],
    group: 'Input',
    load: act('uncheck'),
  },
  {
    name: 'hover',
    args: '<target>',
    summary: 'Move the mouse over an element',
    options: [force, ...stepOptions],
    examples: ['berth hover @e2'],
    group: 'Input',
    load: act('hover'),
  },
  {
    name: 'scroll',
    args: '<where> [pixels]',
    summary: 'Scroll up, down, left, right, to the top or bottom, or to an element',
    options: [['--in <locator>', 'Element that scrolls. Default: the page.'], ...stepOptions],
    examples: ['berth scroll down', 'berth scroll bottom', 'berth scroll @e9', 'berth scroll down 500 --in "#list"'],
    group: 'Input',
    load: act('scroll'),
  },
  {
    name: 'drag',
    args: '<from> <to>',
    summary: 'Drag one element to another',
    options: stepOptions,
    examples: ['berth drag @e4 @e6'],
    group: 'Input',
    load: act('drag'),
  },
  {
    name: 'upload',
    args: '<target> <files...>',
    summary: 'Give files to a file field',
    options: stepOptions,
    examples: ['berth upload @e9 photo.jpg'],
    group: 'Input',
    load: act('upload'),
  },
  {
    name: 'find',
    args: '<by> <value> [action] [input]',
    summary: 'Find an element by role, text, label, placeholder, testid, alt or title, and act on it',
    options: [['--name <text>', 'Accessible name, with `find role`.'], ...stepOptions],
    examples: [
      'berth find role button click --name "Add to basket"',
      'berth find label "Email" fill "me@example.com"',
      'berth find text "Sign in"',
    ],
    group: 'Input',
    load: act('find'),
  },

  {
    name: 'read',
    args: '[url]',
    summary: 'Read the page, or any URL without a session',
    options: [['--format <format>', 'markdown, text, html or links. Default: markdown.'], main, tab],
    examples: ['berth read', 'berth read shop.example --main'],
    group: 'Reading',
    load: read('read'),
  },
  {
    name: 'get',
    args: '<what> [target] [attribute]',
    summary: 'Read text, html, value or attr of an element, or url or title of the page',
    options: stepOptions,
    examples: ['berth get text @e1', 'berth get attr @e1 href', 'berth get url'],
    group: 'Reading',
    load: read('get'),
  },
  {
    name: 'is',
    args: '<state> <target>',
    summary: 'Tell whether an element is visible, enabled or checked',
    options: [tab],
    examples: ['berth is enabled @e3'],
    group: 'Reading',
    load: read('is'),
  },
  {
    name: 'screenshot',
    args: '[file]',
    summary: 'Take a screenshot; `-` writes it to standard output',
    options: [
      ['--full', 'The whole page.'],
      ['--annotate', 'Draws the refs of elements.'],
      ['--format <format>', 'png, jpeg or webp.'],
      ['--quality <percent>', 'Quality of jpeg and webp.'],
      tab,
    ],
    examples: ['berth screenshot page.png --full', 'berth screenshot - | feh -'],
    group: 'Reading',
    load: read('screenshot'),
  },
  {
    name: 'pdf',
    args: '[file]',
    summary: 'Print the page to a PDF; `-` writes it to standard output',
    options: [['--landscape', 'Turns the paper.'], ['--background', 'Prints backgrounds.'], tab],
    examples: ['berth pdf page.pdf --background'],
    group: 'Reading',
    load: read('pdf'),
  },
  {
    name: 'eval',
    args: '[expression...]',
    summary: 'Evaluate JavaScript in the page, where the operator allows it',
    options: [['--stdin', 'Reads the expression from standard input.'], ...stepOptions],
    examples: ["berth eval 'document.title'"],
    group: 'Reading',
    load: read('evaluate'),
  },
  {
    name: 'cookies',
    args: '[what] [name] [value]',
    summary: 'List cookies, `set NAME VALUE`, or `export FILE`',
    options: [
      ['--values', 'Shows the values, which are secrets.'],
      ['--url <url>', 'Page that the cookie is set for.'],
    ],
    examples: ['berth cookies', 'berth cookies set theme dark', 'berth cookies export state.json'],
    group: 'Reading',
    load: read('cookies'),
  },
  {
    name: 'har',
    args: '[file]',
    summary: 'Get the traffic as HAR',
    examples: ['berth har traffic.har'],
    group: 'Reading',
    load: read('har'),
  },
  {
    name: 'network',
    summary: 'List requests of the pages',
    options: [['--filter <text>', 'Only addresses with the text.']],
    examples: ['berth network --filter /api/'],
    group: 'Reading',
    load: read('network'),
  },
  {
    name: 'console',
    summary: 'Show the console and its errors',
    options: [['--errors', 'Only errors.']],
    examples: ['berth console --errors'],
    group: 'Reading',
    load: read('console'),
  },
  {
    name: 'downloads',
    args: '[id] [file]',
    summary: 'List downloads, or save one',
    examples: ['berth downloads', 'berth downloads dl_01 invoice.pdf'],
    group: 'Reading',
    load: read('downloads'),
  },

  {
    name: 'watch',
    summary: 'Print and open the live view',
    options: [['--control', 'Lets the viewer control the page.'], ttl, noOpen],
    examples: ['berth watch', 'berth watch --control --no-open'],
    group: 'Watching',
    load: watch('watch'),
  },
  {
    name: 'hand-over',
    args: '[reason...]',
    summary: 'Give the browser to a person, and wait until that is done',
    options: [
      ['--until-text <text>', 'It is done when the page shows the text.'],
      ['--until-url <pattern>', 'It is done when the address matches.'],
      timeout,
      ttl,
      noOpen,
    ],
    examples: ['berth hand-over "please sign in" --until-url "*/account*" --timeout 170000'],
    group: 'Watching',
    load: watch('handOver'),
  },
  {
    name: 'record',
    args: '[what] [file]',
    summary: 'List recordings, `link`, or `save [file]`',
    options: [['--asset <name>', 'File of the recording. Default: video.mp4.'], ttl, noOpen],
    examples: ['berth open --new --record shop.example', 'berth record', 'berth record save shop.mp4'],
    group: 'Watching',
    load: watch('record'),
  },
  {
    name: 'logs',
    summary: 'Show the events of the session, one a line',
    options: [['-f, --follow', 'Goes on until the session ends.']],
    examples: ['berth logs -f'],
    group: 'Watching',
    load: read('logs'),
  },

  {
    name: 'sessions',
    summary: 'List sessions',
    options: [['--all', 'Also those that have ended.']],
    examples: ['berth sessions'],
    group: 'Sessions',
    load: pages('listSessions'),
  },
  {
    name: 'end',
    aliases: ['close'],
    summary: 'End the session',
    examples: ['berth end', 'berth end -s checkout'],
    group: 'Sessions',
    load: pages('end'),
  },
  {
    name: 'batch',
    args: '[commands...]',
    summary: 'Run several commands in one process, from arguments or standard input',
    options: [['--bail', 'Stops at the first failure.']],
    examples: [
      'berth batch "open shop.example" "click text/Basket" "read --main"',
      `echo '[["open","shop.example"],["read"]]' | berth batch --bail`,
    ],
    group: 'Sessions',
    load: from(() => import('./commands/batch.ts'), 'batch'),
  },

  {
    name: 'fetch',
    args: '<url>',
    summary: 'Get the content of a URL in formats',
    options: [
      ['--format <format...>', 'markdown, text, html, links, metadata, json, tables and more.'],
      ['--mode <mode>', 'auto, browser or http.'],
      main,
      async,
      workTimeout,
    ],
    examples: ['berth fetch shop.example --format markdown links'],
    group: 'Work without a session',
    load: work('fetchPage'),
  },
  {
    name: 'inspect',
    args: '[url]',
    summary: 'Report on a site: API, sign-in, assets, third parties, security',
    options: [['--open', 'Opens the report.'], ['--har <file>', 'Reads a HAR in place of a site.'], async, workTimeout],
    examples: ['berth inspect shop.example --open'],
    group: 'Work without a session',
    load: work('inspect'),
  },
  {
    name: 'run',
    args: '[flow] [inputs...]',
    summary: 'Run a flow with inputs as name=value; without a name, list flows',
    options: [
      ['--inputs <file>', 'File of JSON with inputs; - is standard input.'],
      ['--here', 'Runs in the session of this folder.'],
      async,
      workTimeout,
    ],
    examples: ['berth run', 'berth run extract url=https://shop.example/ --inputs fields.json'],
    group: 'Work without a session',
    load: work('run'),
  },
  {
    name: 'job',
    args: '<id>',
    summary: 'Show a job',
    options: [['--wait', 'Waits until it has ended.']],
    examples: ['berth job job_01 --wait'],
    group: 'Work without a session',
    load: work('showJob'),
  },
  {
    name: 'cancel',
    args: '<id>',
    summary: 'Cancel a job',
    examples: ['berth cancel job_01'],
    group: 'Work without a session',
    load: work('cancelJob'),
  },

  { name: 'status', summary: 'Show service, key and session', examples: ['berth status'], group: 'Service', load: service('status') },
  {
    name: 'usage',
    summary: 'Show usage and limits of the plan',
    options: [['--days <number>', 'Also each of the last days.']],
    examples: ['berth usage --days 7'],
    group: 'Service',
    load: service('usage'),
  },
  {
    name: 'credits',
    args: '[what] [code]',
    summary: 'Show the wallet, its `ledger`, or `redeem CODE`',
    examples: ['berth credits', 'berth credits ledger'],
    group: 'Service',
    load: service('credits'),
  },
  {
    name: 'keys',
    args: '[what] [id]',
    summary: 'List API keys, or `create`, `rotate ID`, `revoke ID`',
    options: [
      ['--name <name>', 'Name of the new key.'],
      ['--owner <owner>', 'Owner of the new key, for operators.'],
      ['--expires-in-days <days>', 'Days until it expires.'],
      ['--grace-seconds <seconds>', 'How long a rotated key still works.'],
    ],
    examples: ['berth keys', 'berth keys create --name ci', 'berth keys rotate key_01 --grace-seconds 3600'],
    group: 'Service',
    load: service('keys'),
  },
  {
    name: 'pool',
    args: '[what] [number]',
    summary: 'Show the warm pool, or `resize NUMBER` (operators)',
    examples: ['berth pool', 'berth pool resize 4'],
    group: 'Service',
    load: service('pool'),
  },
  {
    name: 'workers',
    args: '[what] [id]',
    summary: 'List workers, or `cordon`, `uncordon`, `drain ID` (operators)',
    examples: ['berth workers', 'berth workers drain wrk_01'],
    group: 'Service',
    load: service('workers'),
  },
  {
    name: 'api',
    args: '<method> [path]',
    summary: 'Call any path of the API',
    options: [
      ['--data <json>', 'Body; - reads standard input.'],
      ['-F, --field <name=value...>', 'Fields of the query, or of the body.'],
      ['--admin', 'Uses the admin key.'],
    ],
    examples: ['berth api GET /v1/sessions -F limit=5', `berth api POST /v1/fetch --data '{"url":"https://shop.example/"}'`],
    group: 'Service',
    load: service('api'),
  },
  {
    name: 'up',
    args: '[options...]',
    summary: 'Start a service on this machine from a source tree',
    options: [['--source <folder>', 'The source tree. Default: the one around this folder.']],
    examples: ['berth up --source ~/berth'],
    group: 'Service',
    load: from(() => import('./commands/up.ts'), 'up'),
  },

  {
    name: 'login',
    summary: 'Store a key, which is asked for or read from standard input',
    options: [
      ['--url <url>', 'Address of the service.'],
      ['--key-file <file>', 'Reads the key from a file.'],
      ['--admin', 'It is an admin key.'],
      ['--as <profile>', 'Profile to store it in.'],
    ],
    examples: ['berth login --url https://berth.example', 'berth login --key-file data/api-key'],
    group: 'Setup',
    load: service('login'),
  },
  { name: 'logout', summary: 'Remove the key of the profile', examples: ['berth logout'], group: 'Setup', load: service('logout') },
  {
    name: 'config',
    args: '[what] [profile]',
    summary: 'Show the profiles, `use PROFILE`, or `path`',
    examples: ['berth config', 'berth config use staging'],
    group: 'Setup',
    load: service('config'),
  },
  {
    name: 'completion',
    args: '<shell>',
    summary: 'Print a completion script for bash, zsh, fish or powershell',
    examples: ['source <(berth completion bash)', 'berth completion zsh >~/.zsh/_berth'],
    group: 'Setup',
    load: from(() => import('./completion.ts'), 'completion'),
  },
  {
    name: 'doctor',
    summary: 'Say what is wrong between here and the service',
    examples: ['berth doctor'],
    group: 'Setup',
    load: from(() => import('./commands/doctor.ts'), 'doctor'),
  },
];
