// The packages of the service. One may import only those above it, and of each only what its `exports` name.
// Reading the list top to bottom is reading from what everything shares to what is started.
module.exports.packages = [
  'contract',
  'lib',
  'page-scripts',
  'guest',
  'egress',
  'machines',
  'reading',
  'devtools',
  'flows',
  'site-report',
  'server',
];

// Folders of packages/server/src that hold several folders of the ladder.
module.exports.groups = ['accounts', 'fleet', 'sessions', 'watch', 'work'];

// The ladder. A folder of packages/server/src may import only folders that stand above it in this list.
// `boot/` and `doctor/` stand below all of them: they put the service together, and examine it.
module.exports.ladder = [
  // what the worker keeps and counts
  'disk',
  'store',
  'objects',
  'rates',
  'accounts/principals',
  'http',
  // accounts: who may, and what it costs
  'accounts/audit',
  'accounts/owners',
  'accounts/login',
  'accounts/credits',
  'accounts/metering',
  'accounts/keys',
  'accounts/billing',
  // fleet: where browsers run
  'fleet/regions',
  'fleet/pool',
  'fleet/forwarding',
  'fleet/placement',
  // sessions: what a caller does in a browser
  'sessions/captcha',
  'sessions/profiles',
  'sessions/sessions',
  'sessions/drive',
  // watch: people who look on
  'watch/view',
  'watch/recordings',
  // work: what a caller hands over
  'work/jobs',
  'work/selfheal',
  'work/engine',
  'work/fetch',
  'work/inspect',
  'work/skills',
  'work/flows',
  // agents: the API by the protocol of their hosts
  'mcp',
  // operators
  'ops',
  // readers: what the service says about itself
  'docs',
];

// Folders that are toolboxes: any of their files may be imported. Every other
// folder has one door, the file that bears the folder's name.
module.exports.toolboxes = ['http'];

// Who alone may touch what. `modules` are matched after resolution, so packages
// are named as they lie in node_modules and Node's own modules by bare name.
// Tests and everything outside packages/*/src are free of these.
module.exports.keepers = [
  { what: 'the router', modules: ['node_modules/(@fastify|find-my-way)/'], only: '^packages/server/src/http/' },
  { what: 'the database driver', modules: ['node_modules/(pg|kysely)/'], only: '^packages/server/src/(store/|.+/store[.]ts$)' },
  {
    what: 'child processes',
    modules: ['^(node:)?child_process$'],
    only: '^packages/((guest|machines)/src/|server/src/store/|cli/src/(open-in-browser|commands/installation/up)[.]ts$)',
  },
  {
    what: 'raw sockets',
    modules: ['node_modules/ws/', '^(node:)?net$'],
    only: '^packages/((guest|egress|machines)/src/|lib/src/socket-pair[.]ts$|cli/src/tunnel/tunnel-end[.]ts$|devtools/src/browser/|server/src/(http|fleet/forwarding|store)/)',
  },
  { what: 'the client of object storage', modules: ['node_modules/(@aws-sdk|@smithy)/'], only: '^packages/server/src/objects/s3[.]ts$' },
  { what: 'the tokenizer of HTML', modules: ['node_modules/htmlparser2/'], only: '^packages/lib/src/text/html-tokens[.]ts$' },
  {
    what: 'trees of HTML',
    modules: ['node_modules/(cheerio|parse5|parse5-htmlparser2-tree-adapter)/'],
    // The other file has the parser of selectors alone, in the worker's thread.
    only: '^packages/reading/src/content/(dom|content)[.]ts$',
  },
  { what: 'the environment', modules: ['^(node:)?process$'], only: '^packages/server/src/config[.]ts$' },
];

// Words in a file's text, for what an import does not show. Comments and tests are free of these.
module.exports.wordKeepers = [
  {
    what: 'process.env',
    words: /\bprocess\s*[.]\s*env\b/,
    // The dashboard's snippets are programs for other people.
    only: /^packages\/(server\/src\/config|cli\/src\/main|web\/src\/dashboard\/pages\/sessions\/snippets)[.]ts$/,
  },
  {
    what: 'SQL text',
    words:
      /\b(SELECT\s[\s\S]{0,80}?\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|DATABASE|INDEX)|ALTER\s+TABLE)\b/i,
    only: /^packages\/server\/src\/(store\/|.+\/store[.]ts$)/,
  },
];

// What tests, benchmarks and scripts may import of packages/server/src, beside the toolboxes and packages/server/testing.
module.exports.serverEntries = ['boot/app', 'config', 'store/store', 'accounts/keys/keys'];
