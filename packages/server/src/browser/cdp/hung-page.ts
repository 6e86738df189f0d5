/** A page whose script never returns lets no other of its site into its process. */
import { CommandTimeout, type Connection } from './connection.ts';
import type { Tab } from '../tabs/tab.ts';

/** The page that is left may be busy with its leave for this long; then its script is ended, for it would hold the tab for ever. */
const leaveLimitMs = 1000;
/** A page whose script was just ended answers within milliseconds, if it ever does. */
const lastAnswerMs = 500;
/** One that is given up is gone within a tenth of that. A navigation that is under way by then fails with it. */
const crashLimitMs = 2000;

/** Once a navigation is under way the browser holds back what is sent to the page, so this is asked before. `leftMs`: of the caller's time, which is for the navigation too. */
export async function endHungPage(connection: Connection, tab: Tab, leftMs: number): Promise<void> {
  const { patience } = connection;
  const leaveMs = patience.ms(leaveLimitMs, leftMs / 2);
  if (tab.status === 'crashed' || (await pageAnswers(connection, tab, leaveMs))) return;
  const to = { sessionId: tab.sessionId, timeoutMs: leaveMs };
  // Neither is waited for: what they come to is asked next, and all of it counts against the caller's time.
  void connection.send('Page.stopLoading', undefined, to).catch(() => {});
  void connection.send('Runtime.terminateExecution', undefined, to).catch(() => {});
  // One that only goes on with its next loop is given up with its process; the tab stays.
  if (!(await pageAnswers(connection, tab, patience.ms(lastAnswerMs, leftMs / 8))))
    await crashPage(connection, tab, patience.ms(crashLimitMs, leftMs / 4));
}

async function crashPage(connection: Connection, { sessionId }: Tab, withinMs: number): Promise<void> {
  const { promise: crashed, resolve } = Promise.withResolvers<void>();
  const ignore = connection.on('Inspector.targetCrashed', (_, from) => from === sessionId && resolve());
  // It never answers its own end.
  const asked = connection.send('Page.crash', undefined, { sessionId, timeoutMs: withinMs }).catch(() => {});
  await Promise.race([crashed, asked]).finally(ignore);
}

/** A page that moves on by itself lets nobody ask, and does not hang: its moves are answer enough. So is its crash, which may be told a while after. */
async function pageAnswers(connection: Connection, { sessionId }: Tab, withinMs: number): Promise<boolean> {
  const moved = Promise.withResolvers<true>();
  const ignored = [
    connection.on('Page.frameNavigated', ({ frame }, from) => from === sessionId && frame.parentId === undefined && moved.resolve(true)),
    connection.on('Inspector.targetCrashed', (_, from) => from === sessionId && moved.resolve(true)),
  ];
  const asked = connection.send('Runtime.evaluate', { expression: '0' }, { sessionId, timeoutMs: withinMs });
  const answered = asked.then(
    () => true,
    (error: unknown) => !(error instanceof CommandTimeout),
  );
  return Promise.race([answered, moved.promise]).finally(() => ignored.forEach((ignore) => ignore()));
}
