/** Serves from the sources, and starts again after a change: `npm run dev -- OPTIONS` with the options of `npm start`. */
import { resolve } from 'node:path';
import { runDev } from './dev-runner.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

await runDev(
  {
    root: resolve(import.meta.dirname, '..'),
    serve: ['env', 'SERVICE_MAIN=packages/server/src/main.ts', 'sh', 'scripts/serve.sh', ...process.argv.slice(2)],
    // Builds what has changed: a change of the contract need not be one of the pages.
    build: ['sh', 'scripts/setup.sh', 'dev'],
    serviceDirs: ['packages/server/src', 'packages/contract/src', 'packages/guest/src', 'docs'],
    pageDirs: ['packages/web', 'packages/contract/src'],
    print: (line) => console.error(`[dev] ${line}`),
  },
  stop.signal,
);
