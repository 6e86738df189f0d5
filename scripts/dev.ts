/** Serves from the sources, and starts again after a change: `npm run dev -- OPTIONS` with the options of `npm start`. */
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { runDev } from './dev-runner.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

const root = resolve(import.meta.dirname, '..');

await runDev(
  {
    root,
    serve: ['env', 'SERVICE_MAIN=packages/server/src/main.ts', 'sh', 'scripts/serve.sh', ...process.argv.slice(2)],
    // Builds what has changed: a change of the contract need not be one of the pages.
    build: ['sh', 'scripts/setup.sh', 'dev'],
    serviceDirs: [...globSync('packages/*/src', { cwd: root, exclude: ['packages/web/src'] }), 'docs'],
    pageDirs: ['packages/web', 'packages/contract/src', 'packages/sdk/src'],
    print: (line) => console.error(`[dev] ${line}`),
  },
  stop.signal,
);
