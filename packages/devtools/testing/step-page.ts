/** A browser and the site that it shows, in which steps run, for all tests of a file. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { StepResult } from '@berth/contract';
import { silentLog } from '@berth/lib/log.ts';
import { Content } from '@berth/reading';
import type { StepContext } from '../src/steps/context.ts';
import type { StepRunOptions, StepRunResult } from '../src/steps/steps.ts';
import { launch, settings, type Launched } from './launch.ts';
import { createContext, openPages, run, summarize, type Reply, type TestContextOptions, type TestSite } from './steps.ts';

type RunOptions = NonNullable<Parameters<typeof run>[2]>;

export interface StepPage {
  readonly launched: Launched;
  readonly site: TestSite;
  /** Creates the context of steps that run in the tab that is active now. */
  context(options?: Pick<TestContextOptions, 'files'>): StepContext;
  /** Runs steps as written in a request, which may evaluate. */
  run(steps: object[], options?: RunOptions): Promise<StepRunResult>;
  /** Serves this at `/`, opens it and runs the steps there. The results are those of the steps alone. */
  inPage(html: Reply, steps: object[], options?: PageOptions): Promise<StepRunResult & { outputs: unknown[] }>;
}

/** `context` is used in place of the one of the page. */
type PageOptions = Partial<StepRunOptions> & { context?: StepContext };

const noContent: TestContextOptions['content'] = { for: () => ({ convert: () => Promise.reject(new Error('not needed')) }) };

/** Opens them before the tests of the file, and closes them after. With `reads`, steps can convert pages. */
export function stepPage({ reads = false, flags = [] }: { reads?: boolean; flags?: string[] } = {}): StepPage {
  let opened: { launched: Launched; site: TestSite; content: Content | null };
  before(async () => {
    const [launched, site] = await Promise.all([launch({ flags }), openPages()]);
    opened = { launched, site, content: reads ? new Content({ threadsMax: 1, log: silentLog }) : null };
    await launched.browser.prepare(settings());
  });
  after(async () => {
    await opened.launched.end();
    await opened.content?.close();
    await opened.site.close();
  });
  const page: StepPage = {
    get launched() {
      return opened.launched;
    },
    get site() {
      return opened.site;
    },
    context: (options) => createContext({ browser: opened.launched.browser, content: opened.content ?? noContent, ...options }),
    run: (steps, options) => run(page.context(), steps, { allowEvaluate: true, ...options }),
    async inPage(html, steps, { context = page.context(), ...options } = {}) {
      page.site.pages.set('/', html);
      const open = { type: 'navigate', url: `${page.site.url}/` };
      const result = await run(context, [open, ...steps], { allowEvaluate: true, ...options });
      const results = result.results.slice(1);
      return { ...result, results, outputs: results.map(({ output }) => output) };
    },
  };
  return page;
}

/** Fails unless every step succeeded. */
export const assertAllOk = (results: readonly StepResult[]): void =>
  assert.deepEqual(
    summarize(results).filter((line) => !line.endsWith(' ok')),
    [],
    JSON.stringify(results),
  );
