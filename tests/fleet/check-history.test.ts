import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkHistory } from './check-history.ts';
import type { Action, BrowserAct, BrowserLife, Call, CallOf, FleetHistory, JobRead, JournalEntry, SessionRead } from './history.ts';

const owner = 'ada';
const quietMs = 1000;

/** A call that was sent at this time and answered 10 ms later. */
const callAt = (sentMs: number, id = `call-${sentMs}`) => ({
  id,
  owner,
  sentMs,
  answeredMs: sentMs + 10,
  outcome: 'done' as const,
  code: null,
  worker: 'wrk_1',
});

const creationAt = (sentMs: number, sessionId: string, name: string | null = null): CallOf<'creation'> => ({
  ...callAt(sentMs),
  kind: 'creation',
  sessionId,
  name,
});
const actionAt = (sentMs: number, fields: Partial<Action> = {}): Action => ({
  ...callAt(sentMs),
  kind: 'action',
  sessionId: 'ses_1',
  tab: 'TAB1',
  ...fields,
});
const readAt = (sentMs: number, fields: Partial<SessionRead> = {}): SessionRead => ({
  ...callAt(sentMs),
  kind: 'session read',
  sessionId: 'ses_1',
  state: 'live',
  runsOn: 'wrk_1',
  ...fields,
});
const jobReadAt = (sentMs: number, fields: Partial<JobRead> = {}): JobRead => ({
  ...callAt(sentMs),
  kind: 'job read',
  jobId: 'job_1',
  state: 'over',
  result: 'ok',
  ...fields,
});
const actAt = (atMs: number, callId: string, fields: Partial<BrowserAct> = {}): BrowserAct => ({
  callId,
  worker: 'wrk_1',
  browser: 'vm_1',
  atMs,
  ...fields,
});
const entry = (from: string, to: string, amount: number, meterId: string | null = null): JournalEntry => ({
  owner,
  from,
  to,
  amount,
  meterId,
});

const wallet = `wallet:${owner}`;
const grantEntry = entry('source:grants', wallet, 5_000_001);
const startEntry = entry(wallet, 'revenue:session', 1_000_000, 'ses_1');
const actionEntry = entry(wallet, 'revenue:action', 10_000, 'ses_1');

/** Nothing of it is wrong. */
function rightHistory(): FleetHistory & {
  calls: Call[];
  acts: BrowserAct[];
  browsers: BrowserLife[];
  ledger: NonNullable<FleetHistory['ledger']>;
} {
  const calls: Call[] = [
    { ...callAt(0), kind: 'grant', amount: 5_000_001 },
    creationAt(20, 'ses_1', 'first'),
    actionAt(100),
    actionAt(200),
    readAt(300),
    { ...callAt(400), kind: 'ending', sessionId: 'ses_1' },
    readAt(450, { state: 'over' }),
    { ...callAt(500), kind: 'key creation', keyId: 'key_1' },
    { ...callAt(520), kind: 'key call', keyId: 'key_1' },
    { ...callAt(540), kind: 'key revocation', keyId: 'key_1' },
    { ...callAt(9000), kind: 'key call', keyId: 'key_1', outcome: 'refused' },
    { ...callAt(600), kind: 'submission', jobId: 'job_1' },
    jobReadAt(620, { state: 'pending', result: null }),
    jobReadAt(640),
    jobReadAt(quietMs + 1),
  ];
  return {
    calls,
    acts: [actAt(105, 'call-100'), actAt(205, 'call-200')],
    browsers: [
      { worker: 'wrk_1', fromMs: 10, toMs: 2990 },
      { worker: 'wrk_1', fromMs: 2995, toMs: 5000 },
    ],
    takings: [{ worker: 'wrk_1', atMs: 3000 }],
    freezes: [],
    ledger: {
      journal: [grantEntry, startEntry, actionEntry, actionEntry],
      wallets: new Map([[owner, { balance: 3_980_001, held: 0 }]]),
      holds: [],
    },
    sessionsMax: 1,
    databaseFaults: [],
    quietMs,
  };
}
type RightHistory = ReturnType<typeof rightHistory>;

const without = (history: RightHistory, removed: JournalEntry): void => {
  const index = history.ledger.journal.indexOf(removed);
  history.ledger.journal.splice(index, 1);
  adjust(history, removed.to === wallet ? -removed.amount : removed.amount);
};
const withEntry = (history: RightHistory, added: JournalEntry): void => {
  history.ledger.journal.push(added);
  adjust(history, added.to === wallet ? added.amount : -added.amount);
};
const adjust = (history: RightHistory, change: number): void => {
  const balance = (history.ledger.wallets.get(owner)?.balance ?? 0) + change;
  history.ledger.wallets = new Map([[owner, { balance, held: 0 }]]);
};

/** One fault each, and the sentence that reports it. */
const wrong: Record<string, { change: (history: RightHistory) => void; issue: RegExp }> = {
  'two browsers answer for a session': {
    change: ({ calls }) => calls.push(actionAt(250, { tab: 'TAB2', outcome: 'done' })),
    issue: /2 tabs answered for ses_1: TAB1, TAB2/,
  },
  'two workers answer for a session': {
    change: ({ calls }) => calls.push(actionAt(250, { worker: 'wrk_2' })),
    issue: /2 workers answered for ses_1/,
  },
  'a worker has browsers when its lease is taken': {
    change: ({ browsers }) => browsers.push({ worker: 'wrk_1', fromMs: 20, toMs: 3010 }),
    issue: /wrk_1 ran 1 browsers when its lease was taken/,
  },
  'a worker drives its sessions after its lease was taken': {
    change: ({ calls }) => calls.push(actionAt(3020)),
    issue: /call-3020 was done in ses_1, whose worker lost its lease 20 ms before/,
  },
  'a session moves to another worker': {
    change: ({ calls }) => calls.push(readAt(310, { runsOn: 'wrk_2' })),
    issue: /2 workers are named as the owner of ses_1/,
  },
  'two workers drive a session': {
    change: ({ calls, acts }) => {
      calls.push(actionAt(210, { outcome: 'unknown' }));
      acts.push(actAt(215, 'call-210', { worker: 'wrk_2' }));
    },
    issue: /2 workers acted for ses_1/,
  },
  'two browsers of one worker are driven for a session': {
    change: ({ calls, acts }) => {
      calls.push(actionAt(210, { outcome: 'unknown' }));
      acts.push(actAt(215, 'call-210', { browser: 'vm_2' }));
    },
    issue: /2 browsers acted for ses_1/,
  },
  'a call is done twice': {
    change: ({ acts }) => acts.push(actAt(206, 'call-200')),
    issue: /call-200 was done 2 times/,
  },
  'an ended session answers': {
    change: ({ calls }) => calls.push(actionAt(500, { id: 'late' })),
    issue: /late was done in ses_1, which was over 90 ms before/,
  },
  'a frozen worker drives a session that was reported as over': {
    change: ({ calls, acts }) => {
      calls.push(actionAt(350, { id: 'frozen', outcome: 'unknown', answeredMs: Number.POSITIVE_INFINITY }));
      acts.push(actAt(480, 'frozen'));
    },
    issue: /wrk_1 acted for frozen in ses_1, which was over 70 ms before/,
  },
  'an action answers that the session has ended, and a later one is done': {
    change: ({ calls }) =>
      calls.push(
        actionAt(220, { id: 'refused', outcome: 'refused', code: 'session_ended' }),
        actionAt(240, { id: 'later', outcome: 'unknown' }),
        readAt(245, { id: 'later read' }),
      ),
    issue: /later read read ses_1 as live, which was over/,
  },
  'a session that was over is live again': {
    change: ({ calls }) => calls.push(readAt(480, { id: 'again' })),
    issue: /again read ses_1 as live/,
  },
  'an acknowledged session is unknown': {
    change: ({ calls }) => calls.push(readAt(310, { id: 'lost', state: 'missing' })),
    issue: /lost does not know ses_1/,
  },
  'a name is given twice': {
    change: ({ calls }) => calls.push(creationAt(150, 'ses_2', 'first'), readAt(290, { sessionId: 'ses_2' })),
    issue: /ses_1 and ses_2 of ada had the name first at once/,
  },
  'a limit is passed': {
    change: ({ calls }) => calls.push(creationAt(150, 'ses_2'), readAt(290, { sessionId: 'ses_2' })),
    issue: /ada had 2 sessions at once, of 1/,
  },
  'an acknowledged key is refused': {
    change: ({ calls }) => calls.push({ ...callAt(525, 'early'), kind: 'key call', keyId: 'key_1', outcome: 'refused' }),
    issue: /early: the key key_1 was acknowledged, and refused/,
  },
  'a revoked key is accepted': {
    change: ({ calls }) => calls.push({ ...callAt(9100, 'old'), kind: 'key call', keyId: 'key_1' }),
    issue: /old: the key key_1 was accepted long after/,
  },
  'a job has two results': {
    change: ({ calls }) => calls.push(jobReadAt(700, { result: 'worker_lost' })),
    issue: /job_1 has 2 results: ok and worker_lost/,
  },
  'a job that was over is pending again': {
    change: ({ calls }) => calls.push(jobReadAt(700, { id: 'back', state: 'pending', result: null })),
    issue: /back read the job job_1 as pending again/,
  },
  'an acknowledged job is unknown': {
    change: ({ calls }) => calls.push(jobReadAt(630, { id: 'none', state: 'missing', result: null })),
    issue: /none does not know the job job_1/,
  },
  'a job never ends': {
    change: ({ calls }) =>
      calls.push(
        { ...callAt(700), kind: 'submission', jobId: 'job_2' },
        jobReadAt(quietMs + 2, { jobId: 'job_2', state: 'pending', result: null }),
      ),
    issue: /the job job_2 has not ended/,
  },
  'an acknowledged grant is lost': { change: (history) => without(history, grantEntry), issue: /5000001 was acknowledged, and is not/ },
  'a grant is entered twice': { change: (history) => withEntry(history, grantEntry), issue: /5000001 was entered 2 times/ },
  'a grant goes to another owner': {
    change: ({ ledger }) => ledger.journal.splice(0, 1, { ...grantEntry, owner: 'eve' }),
    issue: /to ada went to eve/,
  },
  'credits come from nowhere': {
    change: (history) => withEntry(history, { ...grantEntry, amount: 7 }),
    issue: /nobody granted 7/,
  },
  'a start is charged twice': { change: (history) => withEntry(history, startEntry), issue: /start of ses_1 was charged 2 times/ },
  'a start is free': { change: (history) => without(history, startEntry), issue: /start of ses_1 was acknowledged, and not charged/ },
  'another owner pays': {
    change: ({ ledger }) => ledger.journal.splice(1, 1, { ...startEntry, owner: 'eve' }),
    issue: /eve paid for ses_1 of ada/,
  },
  'an action is charged twice': { change: (history) => withEntry(history, actionEntry), issue: /paid 30000 for at most 2/ },
  'an action is free': { change: (history) => without(history, actionEntry), issue: /paid 10000 for at least 2/ },
  'a wallet is not its journal': { change: (history) => adjust(history, 1), issue: /has 3980002, and its journal sums to 3980001/ },
  'a wallet is below zero': {
    change: (history) => withEntry(history, entry(wallet, 'revenue:captcha', 4_000_000)),
    issue: /wallet of ada has -19999/,
  },
  'a hold remains': {
    change: ({ ledger }) => ledger.holds.push({ owner, opId: 'op_1', amount: 5 }),
    issue: /5 of ada are still held for op_1/,
  },
};

describe('the history of clients', () => {
  it('the check of a history finds no violation when nothing is wrong', () => assert.deepEqual(checkHistory(rightHistory()), []));

  for (const [what, { change, issue }] of Object.entries(wrong))
    it(`the check of a history finds a violation when ${what}`, () => {
      const history = rightHistory();
      change(history);
      assert.match(checkHistory(history).join('\n'), issue);
    });

  it('the check of a history allows a call without an answer to have happened or not', () => {
    const unknown = actionAt(220, { outcome: 'unknown', answeredMs: Number.POSITIVE_INFINITY, worker: null, tab: null });
    const notDone = rightHistory();
    notDone.calls.push(unknown);
    assert.deepEqual(checkHistory(notDone), []);
    const done = rightHistory();
    done.calls.push(unknown);
    done.acts.push(actAt(222, unknown.id));
    withEntry(done, actionEntry);
    assert.deepEqual(checkHistory(done), []);
  });

  it('the check of a history allows a frozen worker to have browsers when its lease is taken', () => {
    const history = { ...rightHistory(), freezes: [{ worker: 'wrk_1', fromMs: 2000, toMs: 3500 }] };
    history.browsers.push({ worker: 'wrk_1', fromMs: 20, toMs: 3010 });
    assert.deepEqual(checkHistory(history), []);
  });

  it('the check of a history allows an action to be free while the database was out of reach', () => {
    const history = { ...rightHistory(), databaseFaults: [{ fromMs: 195, toMs: 400 }] };
    without(history, actionEntry);
    assert.deepEqual(checkHistory(history), []);
  });

  it('the check of a history allows a name and a place to be taken again by the next session', () => {
    const history = rightHistory();
    history.calls.push(creationAt(420, 'ses_2', 'first'), readAt(460, { sessionId: 'ses_2' }));
    history.ledger.journal.push({ ...startEntry, meterId: 'ses_2' });
    adjust(history, -startEntry.amount);
    assert.deepEqual(checkHistory(history), []);
  });
});
