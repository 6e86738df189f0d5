/** Which test files there are, what each needs of the process and the machine that it runs in, and in which run it stands. */
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const filesOf = (...patterns: string[]): string[] => globSync(patterns, { cwd: root }).toSorted();
const notIn =
  (...lists: readonly (readonly string[])[]) =>
  (file: string): boolean =>
    !lists.some((list) => list.includes(file));

/** An end-to-end test of each capability. A file that is not named here runs for a merge. */
export const everydayBrowserTests = [
  'sessions/actions',
  'fetch/block-detection',
  'sessions/capture',
  'sessions/connect',
  'work/crawl',
  'dashboard/dashboard-sessions',
  'dashboard/dashboard-shell',
  'sessions/drive',
  'network/egress',
  'sessions/events',
  'fetch/fetch',
  'fetch/fetch-visible',
  'sessions/files',
  'work/flows',
  'work/healing',
  'work/inspect',
  'work/jobs',
  'watch/live-view',
  'watch/live-view-control',
  'mcp/mcp',
  'fleet/metering',
  'sessions/profiles',
  'sessions/reconnect',
  'watch/recordings',
  'network/request-headers',
  'dashboard/sign-in',
  'work/templates',
].map((name) => `tests/e2e/${name}.test.ts`);
/** Other files that run for a merge, and not in `npm test`. */
const mergeTests = filesOf(
  // Faults, and hostile texts in whole: unit tests have each of the texts with the reader that it is meant for.
  'tests/{fuzz,hostile-text,ledger}/*.test.ts',
  'tests/fleet/{leases,lost-answers,schedules}.test.ts',
  'packages/server/src/boot/hostile-{text,values}.test.ts',
  // What operators do.
  'tests/operations/{autoscaling,backup,doctor,proxy,rotation,tls,upgrade}.test.ts',
  // Displays, encoders, limits of the kernel, and machines behind an agent: `process.test.ts` proves machines.
  'packages/machines/src/{encoder/*,host/cgroup,process/display,qemu/{qemu-vm,guest/link-attacks}}.test.ts',
  // Captchas of each maker, and exported tests that Playwright runs.
  'packages/{server/src/sessions/captcha/{captcha,detect},flows/src/export/playwright-run}.test.ts',
  // Generated pages: `markdown.test.ts` has those that were written.
  'packages/reading/src/content/markdown/read-back.test.ts',
);

/** Unit tests that compare times or shares of the processor: they have the machine to themselves. */
export const serialUnitTests = filesOf(
  'packages/machines/src/encoder/*.test.ts',
  'packages/machines/src/host/cgroup.test.ts',
  'packages/devtools/src/browser/{cdp/messages/large-message,screencast/*}.test.ts',
  'packages/server/src/ops/stall-watch.test.ts',
);
/** Tests that compare the processor time of turns with a yardstick: they run beside what waits, not beside what computes. */
export const turnTests = filesOf('packages/server/src/boot/hostile-{text,values}.test.ts');
/** Unit tests that only calculate, from folders whose other tests start browsers, processes, threads or database servers. */
const plainUnitTests = filesOf(
  'packages/devtools/src/browser/cdp/{clients/{client-rules,hidden-frames,resumption},messages/message-head,gate-traces,net-errors,turns}.test.ts',
  'packages/devtools/src/browser/input/{input-lane,remote-keys}.test.ts',
  'packages/devtools/src/steps/{recorder,schema,run/*}.test.ts',
  'packages/machines/src/host/{cgroup-tree,pressure}.test.ts',
  'packages/machines/src/qemu/{breaker,image,qmp}.test.ts',
  'packages/reading/src/content/{convert,extract,unsafe-links,encoding/*,main-content/*,markdown/markdown}.test.ts',
  'packages/server/src/sessions/captcha/watch.test.ts',
  'packages/server/src/watch/recordings/{har-file,network,video/playlist,poster,recorder,redact,timeline}.test.ts',
  'images/{packages/{apt-sources,packages},files/digest,command,imports}.test.ts',
);
/** Unit tests that start browsers, and share nothing with others of their process. */
export const browserUnitTests = filesOf(
  'packages/devtools/src/browser/{input/*,page/**/*,storage/*,tabs/*,timeout-scale}.test.ts',
  'packages/devtools/src/steps/{*,acts/*,locators/*}.test.ts',
  'packages/reading/src/content/snapshot.test.ts',
  'packages/server/src/sessions/captcha/detect.test.ts',
).filter(notIn(plainUnitTests));
/** Unit tests that read memory, handles or turns of their own process, change its settings, or take it for half a minute. */
export const isolatedUnitTests = filesOf(
  'packages/devtools/src/browser/{browser,retained-text,cdp/clients/clients}.test.ts',
  'packages/machines/src/{process/{display,process},qemu/{qemu-vm,guest/{egress,link-attacks},templates/*}}.test.ts',
  'packages/reading/src/content/{content,robots-rules,markdown/read-back}.test.ts',
  'packages/server/src/{boot/data-dir,http/body/large-bodies,sessions/captcha/{captcha,http-provider}}.test.ts',
  'packages/server/src/{store/embedded/{embedded,postgres-files},watch/recordings/assets}.test.ts',
  'packages/flows/src/export/playwright-run.test.ts',
  'tests/{hostile-text/service,operations/{backup,doctor,proxy,rotation,tls,upgrade}}.test.ts',
);
/** Unit tests that start processes, threads or database servers: few share a process. */
export const startingUnitTests = filesOf(
  'packages/{devtools,machines,page-scripts}/**/*.test.ts',
  'packages/reading/src/content/**/*.test.ts',
  'packages/server/src/{objects,store,watch/recordings}/**/*.test.ts',
  'packages/server/src/sessions/captcha/**/*.test.ts',
  'packages/site-report/src/{redact/redact,api/api,api/export/client}.test.ts',
  'packages/guest/src/**/*.test.ts',
  'tests/{healing,operations}/*.test.ts',
  'tests/{dev,openapi-types,serve,setup}.test.ts',
  'images/**/*.test.ts',
).filter(notIn(serialUnitTests, turnTests, plainUnitTests, browserUnitTests, isolatedUnitTests));
export const unitTests = filesOf(
  'packages/*/{src,testing}/**/*.test.ts',
  'tests/{,corpus/,repository/}*.test.ts',
  'images/**/*.test.ts',
).filter(notIn(isolatedUnitTests, startingUnitTests, serialUnitTests, turnTests, browserUnitTests));
/** API tests that read the memory, handles or timers of their own process, or start or end processes. */
export const isolatedApiTests = filesOf('tests/{api/{documents,tracing,faults/{crashes,leaks,store-down,timers}},fleet/tracing}.test.ts');
/** Kill services of their own, for a minute and more. */
export const faultTests = filesOf('tests/ledger/*.test.ts');
/** Workers that lose their lease where a busy machine is slow. They wait for leases most of the time. */
export const fleetFaultTests = filesOf('tests/fleet/{leases,schedules}.test.ts');
/** Whole fleets for a minute. In `npm test` one worker of several drains (`drain.test.ts`) or is cut off (`leases.test.ts`). */
export const nightlyFleetTests = filesOf('tests/fleet/{region-cut,rolling}.test.ts');
export const apiTests = filesOf('tests/{api,fleet}/**/*.test.ts').filter(
  notIn(isolatedApiTests, faultTests, fleetFaultTests, nightlyFleetTests),
);
/** The same promise in many languages, and what takes all of a machine for a minute. */
export const nightlyBrowserTests = filesOf('tests/e2e/{fetch/cookie-banners,fleet/{full-disk,random-kills},sessions/many-frames}.test.ts');
export const browserTests = filesOf('tests/e2e/**/*.test.ts').filter(notIn(nightlyBrowserTests));
/** Counts the processes that its own has started. */
export const countingBrowserTests = filesOf('tests/e2e/dashboard/dashboard-safety.test.ts');
/** Seeded requests, connections and messages: each file is capped at a few seconds and reads its own memory. */
export const fuzzTests = filesOf('tests/fuzz/*.test.ts');
export const fixtureTests = filesOf('tests/shop/*.test.ts');

export type Picked = (files: readonly string[]) => string[];
export const all: Picked = (files) => [...files];
/** The files of a run that is not for a merge. */
export const everyday: Picked = (files) =>
  files.filter((file) => (file.startsWith('tests/e2e/') ? everydayBrowserTests.includes(file) : !mergeTests.includes(file)));

/** Tests that boot machines of their own, without templates. */
export const imageTests = filesOf('{images,packages/machines/src/qemu/kvm}/*.microvm.ts');
export const machineTests = [
  'tests/microvm/story.microvm.ts',
  'packages/machines/src/qemu/attacks.microvm.ts',
  ...filesOf('{packages/*/src/**,tests/microvm}/*.microvm.ts').filter((file) => !imageTests.includes(file)),
  // All end-to-end tests run on processes. Of this one a sample runs here once more: it is what two processors emulate in time.
  'tests/e2e/sessions/connect.test.ts',
];
/** The other runs take a sample of these: `tests/nightly.ts`. */
export const sampledFiles = filesOf('packages/*/src/**/*.test.ts', 'tests/**/*.test.ts').filter((file) =>
  /from '[^']*\/nightly\.ts'/.test(readFileSync(resolve(root, file), 'utf8')),
);
/** Tests of promises that are proven on processes, and of machines in `attacks.microvm.ts` and `story.microvm.ts`. */
export const nightlyMachineTests = ['tests/e2e/network/egress.test.ts', 'tests/e2e/watch/vnc.test.ts'];
