/** The first three commands with each client. They have the address of this service and a place for the key in them. */

export interface Step {
  title: string;
  /** What the command does. */
  text: string;
  command: string;
}

export interface Client {
  id: string;
  title: string;
  /** Guide of the client, which says how it is installed. */
  guide: string;
  steps: readonly [Step, Step, Step];
}

interface StepOptions {
  /** Address of the service, without a slash at its end. */
  origin: string;
  /** The key itself to copy, or what stands for it on the screen. */
  key: string;
  /** The page that is opened. */
  url: string;
}

const titles = ['Say who you are', 'Read a page', 'Start a browser to watch'] as const;
const readText = 'The page as Markdown, as a browser shows it.';
const startText = 'It appears below a moment later. Open it to see and use the page.';

const stepsOf = (commands: readonly [string, string, string], first: string): Client['steps'] => [
  { title: titles[0], text: first, command: commands[0] },
  { title: titles[1], text: readText, command: commands[1] },
  { title: titles[2], text: startText, command: commands[2] },
];

/** All clients, each with three commands for a shell. */
export function clientsOf({ origin, key, url }: StepOptions): readonly Client[] {
  const variables = `export BERTH_URL=${origin} BERTH_API_KEY=${key}`;
  // Without a name, so that it can be repeated, and followed with another client.
  const session = { start_url: url, record: true };
  return [
    {
      id: 'curl',
      title: 'curl',
      guide: '/docs/quickstart',
      steps: stepsOf(
        [
          variables,
          `curl -s $BERTH_URL/v1/fetch -H "Authorization: Bearer $BERTH_API_KEY" --json '${JSON.stringify({ url, formats: ['markdown'] })}'`,
          `curl -s $BERTH_URL/v1/session -H "Authorization: Bearer $BERTH_API_KEY" --json '${JSON.stringify(session)}'`,
        ],
        'The other commands read the address and the key from these variables.',
      ),
    },
    {
      id: 'typescript',
      title: 'TypeScript',
      guide: '/docs/typescript',
      steps: stepsOf(
        [
          variables,
          script(
            `import { Berth } from '@berth/sdk'; console.log((await new Berth().fetch('${url}', { formats: ['markdown'] })).markdown)`,
          ),
          script(
            `import { Berth } from '@berth/sdk'; console.log((await new Berth().sessions.create(${objectText(session)})).data.live_view_url)`,
          ),
        ],
        'The client reads the address and the key from these variables.',
      ),
    },
    {
      id: 'python',
      title: 'Python',
      guide: '/docs/python',
      steps: stepsOf(
        [
          variables,
          `python3 -c "from berth import Berth; print(Berth().fetch('${url}', formats=['markdown']).markdown)"`,
          `python3 -c "from berth import Berth; print(Berth().sessions.create(start_url='${url}', record=True).id)"`,
        ],
        'The client reads the address and the key from these variables.',
      ),
    },
    {
      id: 'cli',
      title: 'Command line',
      guide: '/docs/command-line',
      steps: stepsOf(
        [variables, `berth read ${url}`, `berth open --new --record ${url}`],
        'The program reads the address and the key from these variables; berth login stores them instead.',
      ),
    },
    {
      id: 'mcp',
      title: 'MCP',
      guide: '/docs/mcp',
      steps: stepsOf(
        [
          `claude mcp add --transport http berth ${origin}/mcp --header "Authorization: Bearer ${key}"`,
          `claude "Read ${url} with berth and summarise it"`,
          `claude "Open ${url} with berth, and leave the browser open"`,
        ],
        'Gives the tools to Claude Code. The guide has other agents.',
      ),
    },
  ];
}

const script = (text: string): string => `node --input-type=module -e "${text}"`;

/** An object as JavaScript in single quotes, as the shell has it in double ones. */
const objectText = (value: Record<string, unknown>): string =>
  `{ ${Object.entries(value)
    .map(([name, each]) => `${name}: ${typeof each === 'string' ? `'${each}'` : String(each)}`)
    .join(', ')} }`;
