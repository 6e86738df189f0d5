/** A page whose script never returns lets no other of its site into its process. */
import { CommandTimeout, type Connection } from './connection.ts';
import type { Tab } from './tab.ts';

/** The page that is left may be busy with its leave for this long; then its script is ended, for it would hold the tab for ever. */
const leaveLimitMs = 1000;
/** A page whose script was just ended answers within milliseconds, if it ever does. */
const lastAnswerMs = 500;

/** Once a navigation is under way the browser holds back what is sent to the page, so this is asked before. */
export async function endHungPage(connection: Connection, tab: Tab): Promise<void> {
  if (tab.status === 'crashed' || (await pageAnswers(connection, tab, leaveLimitMs))) return;
  const to = { sessionId: tab.sessionId, timeoutMs: leaveLimitMs };
  // Neither is waited for: what they come to is asked next, and all of it counts against the caller's time.
  void connection.send('Page.stopLoading', undefined, to).catch(() => {});
  void connection.send('Runtime.terminateExecution', undefined, to).catch(() => {});
  // One that only goes on with its next loop is given up with its process; the tab stays.
  if (!(await pageAnswers(connection, tab, lastAnswerMs))) await crashPage(connection, tab);
}

async function crashPage(connection: Connection, { sessionId }: Tab): Promise<void> {
  const { promise: crashed, resolve } = Promise.withResolvers<void>();
  const ignore = connection.on('Inspector.targetCrashed', (_, from) => from === sessionId && resolve());
  // It never answers its own end.
  const asked = connection.send('Page.crash', undefined, { sessionId, timeoutMs: lastAnswerMs }).catch(() => {});
  await Promise.race([crashed, asked]).finally(ignore);
}

/** A page that moves on by itself lets nobody ask, and does not hang: its moves are answer enough. */
async function pageAnswers(connection: Connection, { sessionId }: Tab, withinMs: number): Promise<boolean> {
  const moved = Promise.withResolvers<true>();
  const ignore = connection.on('Page.frameNavigated', ({ frame }, from) => from === sessionId && frame.parentId === undefined && moved.resolve(true));
  const asked = connection.send('Runtime.evaluate', { expression: '0' }, { sessionId, timeoutMs: withinMs });
  const answered = asked.then(
    () => true,
    (error: unknown) => !(error instanceof CommandTimeout),
  );
  return Promise.race([answered, moved.promise]).finally(ignore);
}
