// The ladder. A folder of packages/server/src may import only folders that stand above it in this list.
// Reading it top to bottom is reading the service from its tools to its operators.
module.exports.ladder = [
  // code that runs inside a page, where nothing else of ours is
  'page-scripts',
  // tools: no word of the product
  'lib',
  'disk',
  'store',
  'objects',
  'rates',
  'http',
  // accounts: who may, and what it costs
  'audit',
  'owners',
  'login',
  'credits',
  'metering',
  'keys',
  'billing',
  // machines: where browsers run
  'egress',
  'regions',
  'runtime',
  // pages: what is read and made of one
  'content',
  'block-detection',
  'browser',
  'fleet',
  'forwarding',
  'placement',
  // browsing: what a caller does in a session
  'steps',
  'captcha',
  'profiles',
  'sessions',
  'drive',
  // people: who watches
  'view',
  'recordings',
  // work: what a caller hands over
  'jobs',
  'selfheal',
  'fetch',
  'inspect',
  'skills',
  'flows',
  // operators
  'ops',
  // readers: what the service says about itself
  'docs',
];

// Folders that are toolboxes: any of their files may be imported. Every other
// folder has one door, the file that bears the folder's name.
module.exports.toolboxes = ['lib', 'http', 'page-scripts'];

// Who alone may touch what. `modules` are matched after resolution, so packages
// are named as they lie in node_modules and Node's own modules by bare name.
// Tests and everything outside packages/ are free of these.
module.exports.keepers = [
  { what: 'the HTTP framework', modules: ['node_modules/(@fastify|fastify)/'], only: '^packages/server/src/http/' },
  { what: 'the database driver', modules: ['node_modules/(pg|kysely)/'], only: '^packages/server/src/(store/|[^/]+/store[.]ts$)' },
  {
    what: 'child processes',
    modules: ['^(node:)?child_process$'],
    only: '^packages/(guest/src/|server/src/(runtime|store|browser/testing)/)',
  },
  {
    what: 'raw sockets',
    modules: ['node_modules/ws/', '^(node:)?net$'],
    only: '^packages/(guest/src/|server/src/(http|egress|browser|runtime|forwarding|store)/)',
  },
  { what: 'the client of object storage', modules: ['node_modules/(@aws-sdk|@smithy)/'], only: '^packages/server/src/objects/s3[.]ts$' },
  { what: 'the environment', modules: ['^(node:)?process$'], only: '^packages/server/src/config[.]ts$' },
];

// Words in a file's text, for what an import does not show. Comments and tests are free of these.
module.exports.wordKeepers = [
  {
    what: 'process.env',
    words: /\bprocess\s*[.]\s*env\b/,
    // The dashboard's snippets are programs for other people.
    only: /^packages\/(server\/src\/(config|store\/test-store|browser\/testing\/launch|runtime\/qemu\/microvm[.]fixture)|web\/src\/dashboard\/pages\/sessions\/snippets)[.]ts$/,
  },
  {
    what: 'SQL text',
    words:
      /\b(SELECT\s[\s\S]{0,80}?\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|DATABASE|INDEX)|ALTER\s+TABLE)\b/i,
    only: /^packages\/server\/src\/(store\/|[^/]+\/store[.]ts$)/,
  },
];

// What tests, benchmarks and scripts may import of packages/server/src, beside the toolboxes: the entries, and what is there for tests.
module.exports.serverEntries = [
  '(app|config|testing)',
  '[^/]+/testing',
  'browser/testing/images',
  'runtime/(fake/fake|runtime)',
  'runtime/qemu/qemu',
  'store/(store|test-store)',
  'keys/keys',
  'content/content',
];
