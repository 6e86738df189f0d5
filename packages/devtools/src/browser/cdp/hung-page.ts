/** Ends a page whose script never returns: it blocks every other page of its site, which shares its process. */
import { CommandTimeoutError, type Connection } from './connection.ts';
import type { Tab } from '../tabs/tab.ts';

/** How long the old page may run its unload work; then its script is terminated, or it would hold the tab for ever. */
const leaveTimeoutMs = 1000;
/** A page whose script was just terminated replies within milliseconds, if at all. */
const lastAnswerTimeoutMs = 500;
/** A crashed page closes within a tenth of this. A navigation that is running by then fails with it. */
const crashTimeoutMs = 2000;

/**
 * Call before a navigation: once one is running the browser holds back what is sent to the page.
 * `leftMs`: what is left of the caller's time, which the navigation shares.
 */
export async function endHungPage(connection: Connection, tab: Tab, leftMs: number): Promise<void> {
  const { timeoutScale } = connection;
  const leaveMs = timeoutScale.ms(leaveTimeoutMs, leftMs / 2);
  if (tab.status === 'crashed' || (await isPageAnswering(connection, tab, leaveMs))) return;
  const target = { sessionId: tab.sessionId, timeoutMs: leaveMs };
  // Neither is awaited: the next check shows their effect, and all of it counts against the caller's time.
  void connection.send('Page.stopLoading', undefined, target).catch(() => {});
  void connection.send('Runtime.terminateExecution', undefined, target).catch(() => {});
  // A page that continues with its next loop is ended with its process; the tab stays.
  if (!(await isPageAnswering(connection, tab, timeoutScale.ms(lastAnswerTimeoutMs, leftMs / 8))))
    await crashPage(connection, tab, timeoutScale.ms(crashTimeoutMs, leftMs / 4));
}

async function crashPage(connection: Connection, { sessionId }: Tab, withinMs: number): Promise<void> {
  const { promise: crashed, resolve } = Promise.withResolvers<void>();
  const ignore = connection.on('Inspector.targetCrashed', (_, from) => from === sessionId && resolve());
  // `Page.crash` never gets a reply.
  const reply = connection.send('Page.crash', undefined, { sessionId, timeoutMs: withinMs }).catch(() => {});
  await Promise.race([crashed, reply]).finally(ignore);
}

/** A page that navigates by itself cannot reply but does not hang, so a navigation counts as a reply. So does a late crash event. */
async function isPageAnswering(connection: Connection, { sessionId }: Tab, withinMs: number): Promise<boolean> {
  const moved = Promise.withResolvers<true>();
  const ignored = [
    connection.on('Page.frameNavigated', ({ frame }, from) => from === sessionId && frame.parentId === undefined && moved.resolve(true)),
    connection.on('Inspector.targetCrashed', (_, from) => from === sessionId && moved.resolve(true)),
  ];
  const reply = connection.send('Runtime.evaluate', { expression: '0' }, { sessionId, timeoutMs: withinMs });
  const answered = reply.then(
    () => true,
    (error: unknown) => !(error instanceof CommandTimeoutError),
  );
  return Promise.race([answered, moved.promise]).finally(() => ignored.forEach((ignore) => ignore()));
}
