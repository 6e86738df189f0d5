import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ServiceError, type ErrorCode, type SessionStatus, type ViewScope } from '@berth/contract';
import type { Credentials, Principal } from '../../accounts/principals/principals.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { silentLog } from '@berth/lib/log.ts';
import { sealToken } from '@berth/lib/secrets/sealed-token.ts';
import type { SessionRecord, SessionView } from '../../sessions/sessions/sessions.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { Tokens, type TokensDeps } from './tokens.ts';

const secret = Buffer.alloc(32, 7);
const origin = 'http://berth.test';
const minuteMs = 60_000;

/** Stub sessions, recordings and keys. */
class TokensFixture {
  readonly clock = new ManualClock();
  readonly sessions = new Map<string, { owner: string; status: SessionStatus; kind: 'headless' | 'full_browser' }>();
  readonly recordings = new Map<string, { owner: string; recId: string }>();
  readonly deadKeys = new Set<string>();
  readonly lines: string[] = [];
  #ended: ((record: SessionRecord) => void)[] = [];
  #revoked: ((keyId: string) => void)[] = [];

  add(owner = 'anna', kind: 'headless' | 'full_browser' = 'headless'): string {
    const id = newId('ses');
    this.sessions.set(id, { owner, status: 'ready', kind });
    return id;
  }

  record(sessionId: string, owner = 'anna'): string {
    const recId = newId('rec');
    this.recordings.set(sessionId, { owner, recId });
    return recId;
  }

  end(sessionId: string): void {
    const session = this.sessions.get(sessionId) ?? assert.fail();
    session.status = 'ending';
    for (const listener of this.#ended) listener({ sessionId } as SessionRecord);
  }

  revokeKey(keyId: string): void {
    this.deadKeys.add(keyId);
    for (const listener of this.#revoked) listener(keyId);
  }

  deps(store: TokensDeps['store']): TokensDeps {
    const recordLine = (fields: object, message: string): void => void this.lines.push(JSON.stringify([fields, message]));
    return {
      store,
      clock: this.clock,
      secret,
      hasPeers: false,
      log: { ...silentLog, info: recordLine, warn: recordLine, error: recordLine },
      keys: {
        authenticate: ({ authorization }) => ({ ...keyOf('anna'), scope: `by ${authorization}` }),
        findInactive: (keyIds) => Promise.resolve(keyIds.filter((keyId) => this.deadKeys.has(keyId))),
        onRevoked: (listener) => void this.#revoked.push(listener),
      },
      owners: { tierOf: () => Promise.resolve({ requests_per_minute: 600 }) },
      sessions: {
        get: (owner, sessionId) => {
          const session = this.sessions.get(sessionId);
          if (!session || session.owner !== owner) return Promise.reject(new ServiceError('session_not_found', 'Session not found.'));
          const record = { sessionId, owner, status: session.status, endedReason: null, settings: { kind: session.kind } };
          return Promise.resolve({ record } as SessionView);
        },
        onEnded: (listener) => void this.#ended.push(listener),
      },
      recordingOf: (owner, sessionId) => {
        const recording = this.recordings.get(sessionId);
        return Promise.resolve(recording?.owner === owner ? recording.recId : null);
      },
    };
  }
}

const keyOf = (owner: string, keyId: string | null = 'key_1'): Principal => ({
  owner,
  keyId,
  requestsPerMinute: 600,
  scope: `owner:${owner}`,
});
const credentialsFor = (sessionId: string, credentials: Partial<Credentials>): Credentials => ({
  authorization: undefined,
  adminKey: undefined,
  token: undefined,
  viewCookies: [],
  params: { session_id: sessionId },
  ...credentials,
});

let database: TestStore;
let fixture: TokensFixture;
let tokens: Tokens;
before(async () => {
  database = await testStore();
});
after(() => database.drop());
beforeEach(() => {
  fixture = new TokensFixture();
  tokens = new Tokens(fixture.deps(database.store));
});

const defaults = { ttl_seconds: 300 };
const tokenFor = async (sessionId: string, scope: ViewScope | 'vnc' = 'view', principal = keyOf('anna')): Promise<string> => {
  const { token } =
    scope === 'vnc'
      ? await tokens.issueVncToken(principal, sessionId, defaults, origin)
      : await tokens.issueViewToken(principal, sessionId, { scope, ...defaults }, origin);
  return token ?? assert.fail('there is no token');
};

type GuardName = 'view' | 'vnc' | 'recording';
const authenticate = async (guardName: GuardName, sessionId: string, credentials: Partial<Credentials>): Promise<Principal> => {
  const guard = { view: tokens.authenticateView, vnc: tokens.authenticateVnc, recording: tokens.authenticateRecording }[guardName];
  return await guard(credentialsFor(sessionId, credentials));
};
const isRefused = async (guardName: GuardName, sessionId: string, credentials: Partial<Credentials>, why?: string): Promise<void> =>
  assert.rejects(
    authenticate(guardName, sessionId, credentials),
    { code: 'invalid_view_token', message: tokens.invalidTokenError().message },
    why,
  );
const refusedWith = (work: Promise<unknown>, code: ErrorCode): Promise<void> => assert.rejects(work, { code });

const guardNames = { 'live-view': 'view', vnc: 'vnc', recordings: 'recording' } as const;
/** What the first load of an address sets: the whole header, and the value. */
async function firstLoad(
  guardName: keyof typeof guardNames,
  sessionId: string,
  token: string,
  from = origin,
): Promise<{ header: string; value: string }> {
  const headers: Record<string, string> = {};
  const principal = await authenticate(guardNames[guardName], sessionId, { token });
  await tokens.setViewCookie({
    principal,
    origin: from,
    target: `/v1/session/${sessionId}/${guardName}/page?token=${token}`,
    setHeader: (name, value) => (headers[name] = value),
  });
  const header = headers['set-cookie'] ?? assert.fail('no cookie was set');
  return { header, value: /=([\w-]+);/.exec(header)?.[1] ?? '' };
}

describe('a link', () => {
  it('a view link opens what it was issued for, with its owner and scope', async () => {
    const id = fixture.add('anna', 'full_browser');
    fixture.record(id);
    for (const [scope, guardName] of [
      ['view', 'view'],
      ['control', 'view'],
      ['vnc', 'vnc'],
      ['recording', 'recording'],
      ['view', 'recording'],
      ['control', 'recording'],
    ] as const) {
      const principal = await authenticate(guardName, id, { token: await tokenFor(id, scope) });
      assert.deepEqual([principal.owner, principal.keyId, principal.requestsPerMinute], ['anna', 'key_1', 600]);
      const { viewer } = principal;
      assert.match(viewer?.grantId ?? '', /^lnk_/);
      assert.equal(principal.scope, `link:${viewer?.grantId}`);
      assert.deepEqual([viewer?.sessionId, viewer?.scope, viewer?.isFirstLoad], [id, scope, true]);
    }
  });

  it('a view link opens no other kind of view', async () => {
    const id = fixture.add('anna', 'full_browser');
    fixture.record(id);
    for (const [scope, guardName] of [
      ['view', 'vnc'],
      ['control', 'vnc'],
      ['recording', 'view'],
      ['recording', 'vnc'],
      ['vnc', 'view'],
      ['vnc', 'recording'],
    ] as const)
      await isRefused(guardName, id, { token: await tokenFor(id, scope) }, `${scope} at ${guardName}`);
  });

  it('a view link opens no other session, of its owner or of anybody', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    for (const other of [fixture.add(), fixture.add('berta'), `${id}x`, id.slice(0, -1), newId('ses'), ''])
      await isRefused('view', other, { token });
  });

  it('a view link that is changed in any part opens nothing', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    const control = await tokenFor(id, 'control');
    const [header = '', , iv = '', sealed = '', tag = ''] = token.split('.');
    const claims = { expiresAt: fixture.clock.now().getTime() / 1000 + 300, scope: 'control', issuedAtMs: 0, grantId: 'lnk_1' };
    const stranger = await sealToken(Buffer.alloc(32, 8), { ...claims, purpose: 'view', owner: 'anna', session: id, keyId: null });
    const open = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const text of [
      `${header}..${iv}.${control.split('.')[3]}.${tag}`,
      `${open}..${iv}.${sealed}.${tag}`,
      `${open}.${Buffer.from(JSON.stringify({ ...claims, aud: 'view' })).toString('base64url')}.`,
      header,
      `${header}..${iv}.${sealed}.`,
      `.${tag}`,
      `${token}.${tag}`,
      stranger,
      '',
      '.',
      'brt_live_x',
    ])
      await isRefused('view', id, { token: text }, text);
  });

  it('a token that was sealed for something else is no view link', async () => {
    const id = fixture.add();
    const claims = { owner: 'anna', session: id, keyId: null, expiresAt: fixture.clock.now().getTime() / 1000 + 300 };
    for (const purpose of ['connect', 'view']) await isRefused('view', id, { token: await sealToken(secret, { ...claims, purpose }) });
  });

  it('a view link can be opened again and again until its time is over, and then no more', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    fixture.clock.advance(299_999);
    for (const _ of [1, 2, 3]) await authenticate('view', id, { token });
    fixture.clock.advance(1);
    await isRefused('view', id, { token });
  });

  it('a view link becomes invalid when its session ends, in every end state', async () => {
    for (const status of ['ending', 'ended', 'failed'] as const) {
      const id = fixture.add();
      fixture.record(id);
      const token = await tokenFor(id, 'control');
      const session = fixture.sessions.get(id) ?? assert.fail();
      session.status = status;
      await isRefused('view', id, { token }, status);
      await isRefused('recording', id, { token }, `${status}, recording`);
      fixture.sessions.delete(id);
      await isRefused('view', id, { token }, 'forgotten');
    }
  });

  it('a link to a recording outlives the session, and ends with the recording', async () => {
    const id = fixture.add();
    fixture.record(id);
    const token = await tokenFor(id, 'recording');
    fixture.sessions.delete(id);
    await authenticate('recording', id, { token });
    fixture.recordings.delete(id);
    await isRefused('recording', id, { token });
  });

  it('a view link is refused at the next request after its key was revoked', async () => {
    const id = fixture.add();
    const [token, other] = [await tokenFor(id), await tokenFor(id, 'view', keyOf('anna', 'key_2'))];
    fixture.revokeKey('key_1');
    await isRefused('view', id, { token });
    await authenticate('view', id, { token: other });
  });

  it('a view link can be watched while its session is still starting', async () => {
    const id = fixture.add();
    const session = fixture.sessions.get(id) ?? assert.fail();
    session.status = 'starting';
    await authenticate('view', id, { token: await tokenFor(id) });
  });

  it('a view link reports that the store is unavailable instead of an invalid link', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    const unavailable = new Tokens({
      ...fixture.deps(database.store),
      keys: { ...fixture.deps(database.store).keys, findInactive: () => Promise.reject(unreachable) },
    });
    await assert.rejects(async () => unavailable.authenticateView(credentialsFor(id, { token })), unreachable);
    await assert.rejects(
      async () => unavailable.authenticateRecording(credentialsFor(id, { token, authorization: 'Bearer x' })),
      unreachable,
    );
  });
});
const unreachable = new ServiceError('store_unavailable', 'The database is unavailable.');

describe('making a link', () => {
  it('creating a view link gives its address, for as long as was asked', async () => {
    const id = fixture.add('anna', 'full_browser');
    const recId = fixture.record(id);
    for (const [scope, page] of [
      ['view', 'live-view'],
      ['control', 'live-view'],
      ['recording', `recordings/${recId}/index.html`],
    ] as const) {
      const { token, ...grant } = await tokens.issueViewToken(keyOf('anna'), id, { scope, ttl_seconds: 30 }, origin);
      assert.deepEqual(grant, {
        token_type: 'view',
        scope,
        session_id: id,
        url: `${origin}/v1/session/${id}/${page}?token=${token}`,
        expires_at: new Date(fixture.clock.now().getTime() + 30_000).toISOString(),
        expires_in: 30,
      });
    }
    const { token, url } = await tokens.issueVncToken(keyOf('anna'), id, defaults, origin);
    assert.equal(url, `${origin}/v1/session/${id}/vnc/vnc.html?token=${token}`);
  });

  it('a view link reveals neither owner nor key nor session, and fits what addresses may hold', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    const readable = token + token.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    for (const text of [id, 'anna', keyOf('anna').keyId ?? assert.fail(), 'lnk_', 'view']) assert.ok(!readable.includes(text), text);
    assert.ok(token.length < 600, `${token.length} characters`);
  });

  it('creating a view link needs a session of one’s own that is not over', async () => {
    const [foreign, over] = [fixture.add('berta', 'full_browser'), fixture.add('anna', 'full_browser')];
    fixture.record(foreign, 'berta');
    fixture.end(over);
    for (const scope of ['view', 'control', 'vnc'] as const) {
      for (const id of [foreign, newId('ses'), 'x\0y', '']) await refusedWith(tokenFor(id, scope), 'session_not_found');
      await refusedWith(tokenFor(over, scope), 'session_ended');
    }
    for (const id of [foreign, newId('ses'), 'x\0y', '']) await refusedWith(tokenFor(id, 'recording'), 'session_not_found');
  });

  it('creating a link to a recording needs one, whatever has become of its session', async () => {
    const [id, over] = [fixture.add(), fixture.add()];
    fixture.end(over);
    await refusedWith(tokenFor(id, 'recording'), 'recording_not_found');
    await refusedWith(tokenFor(over, 'recording'), 'recording_not_found');
    const recId = fixture.record(over);
    fixture.sessions.delete(over);
    const { url } = await tokens.issueViewToken(keyOf('anna'), over, { scope: 'recording', ...defaults }, origin);
    assert.ok(url?.includes(`/recordings/${recId}/index.html?token=`), String(url));
  });

  it('creating a link to a window needs a session that has one', async () => {
    const [id, over] = [fixture.add(), fixture.add()];
    fixture.end(over);
    await refusedWith(tokenFor(id, 'vnc'), 'vnc_unavailable');
    await refusedWith(tokenFor(over, 'vnc'), 'vnc_unavailable');
  });
});

describe('a cookie', () => {
  it('a view cookie is set by a first load, with a value of its own and for the one place', async () => {
    const id = fixture.add('anna', 'full_browser');
    fixture.record(id);
    for (const [guardName, scope] of [
      ['live-view', 'view'],
      ['vnc', 'vnc'],
      ['recordings', 'recording'],
      ['recordings', 'view'],
    ] as const) {
      const token = await tokenFor(id, scope);
      const { header, value } = await firstLoad(guardName, id, token);
      assert.equal(header, `berth-view=${value}; Path=/v1/session/${id}/${guardName}; HttpOnly; SameSite=Lax`);
      assert.ok(value.length === 43 && !token.includes(value));
      assert.notEqual((await firstLoad(guardName, id, token)).value, value, 'a second first load has its own');
      const { viewer } = await authenticate(guardNames[guardName], id, { viewCookies: [value] });
      assert.deepEqual([viewer?.scope, viewer?.isFirstLoad], [scope, false]);
    }
  });

  it('a view cookie is for TLS alone where the service is reached by it', async () => {
    const id = fixture.add();
    const { header, value } = await firstLoad('live-view', id, await tokenFor(id), 'https://berth.test');
    assert.equal(header, `__Secure-berth-view=${value}; Path=/v1/session/${id}/live-view; HttpOnly; SameSite=Lax; Secure`);
  });

  it('a view cookie is below the path that the service has in its public address', async () => {
    const id = fixture.add();
    const { header } = await firstLoad('live-view', id, await tokenFor(id), 'https://berth.test/browsers');
    assert.ok(header.includes(`; Path=/browsers/v1/session/${id}/live-view;`), header);
  });

  it('a view cookie is not set again by a request that has it, nor anywhere else', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    const { value } = await firstLoad('live-view', id, token);
    const first = await authenticate('view', id, { token });
    const set: string[] = [];
    const welcome = (principal: Principal, target: string): Promise<void> =>
      tokens.setViewCookie({ principal, origin, target, setHeader: (_, header) => void set.push(header) });
    await welcome(await authenticate('view', id, { viewCookies: [value] }), `/v1/session/${id}/live-view`);
    await welcome(keyOf('anna'), `/v1/session/${id}/live-view`);
    for (const target of [`/v1/session/${id}/cdp?x=/live-view`, `/v1/session/${id}/live-viewer?`, `/x/v1/session/${id}/live-view?`])
      await welcome(first, target);
    assert.deepEqual(set, []);
  });

  it('a view cookie outlives the token that it was set for, for an hour since its last use', async () => {
    const id = fixture.add();
    const { value } = await firstLoad('live-view', id, await tokenFor(id));
    for (const _ of [1, 2, 3]) {
      fixture.clock.advance(59 * minuteMs);
      await authenticate('view', id, { viewCookies: [value] });
    }
    fixture.clock.advance(61 * minuteMs);
    await isRefused('view', id, { viewCookies: [value] });
  });

  it('a view cookie is worth no more than its link, wherever it is sent', async () => {
    const [id, other] = [fixture.add('anna', 'full_browser'), fixture.add('anna', 'full_browser')];
    fixture.record(id);
    const { value: view } = await firstLoad('live-view', id, await tokenFor(id));
    const { value: vnc } = await firstLoad('vnc', id, await tokenFor(id, 'vnc'));
    const { value: recording } = await firstLoad('recordings', id, await tokenFor(id, 'recording'));
    await isRefused('vnc', id, { viewCookies: [view, recording] });
    await isRefused('view', id, { viewCookies: [vnc, recording] });
    await isRefused('recording', id, { viewCookies: [vnc] });
    for (const guardName of ['view', 'vnc', 'recording'] as const)
      await isRefused(guardName, other, { viewCookies: [view, vnc, recording] });
    await isRefused('view', `${id}d`, { viewCookies: [view] });
    await isRefused('view', id, { token: view }, 'a cookie is no token');
  });

  it('a view cookie is no token, and a token is no view cookie', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    await isRefused('view', id, { viewCookies: [token] });
  });

  it('a view cookie of a stranger, planted beside one’s own, gives nothing of the stranger and takes nothing away', async () => {
    const [mine, theirs] = [fixture.add('anna'), fixture.add('mallory')];
    const { value: own } = await firstLoad('live-view', mine, await tokenFor(mine));
    const { value: planted } = await firstLoad('live-view', theirs, await tokenFor(theirs, 'control', keyOf('mallory', 'key_9')));
    for (const viewCookies of [
      [planted, own],
      [own, planted],
    ]) {
      const principal = await authenticate('view', mine, { viewCookies });
      assert.deepEqual([principal.owner, principal.viewer?.scope], ['anna', 'view']);
    }
    await isRefused('view', mine, { viewCookies: [planted] });
  });

  it('a view cookie becomes invalid with its session, its key and when links are revoked', async () => {
    const invalidations = [
      async (id: string) => fixture.end(id),
      async () => fixture.revokeKey('key_1'),
      async (id: string) => tokens.revoke(keyOf('anna'), id),
    ];
    for (const invalidate of invalidations) {
      fixture.deadKeys.clear();
      const id = fixture.add();
      const { value } = await firstLoad('live-view', id, await tokenFor(id));
      await authenticate('view', id, { viewCookies: [value] });
      await invalidate(id);
      await isRefused('view', id, { viewCookies: [value] });
    }
  });

  it('an invalid view cookie does not stand in the way of a key at a recording', async () => {
    const id = fixture.add();
    const { scope } = await authenticate('recording', id, { viewCookies: ['old'], authorization: 'Bearer k' });
    assert.equal(scope, 'by Bearer k');
    assert.equal((await authenticate('recording', id, { authorization: 'Bearer k' })).scope, 'by Bearer k');
    await isRefused('recording', id, { viewCookies: ['old'] });
  });
});

describe('revoking links', () => {
  it('revoking links ends all that were made before, of every kind, and none that are made after', async () => {
    const [id, other] = [fixture.add('anna', 'full_browser'), fixture.add()];
    fixture.record(id);
    const scopes = [
      ['view', 'view'],
      ['control', 'view'],
      ['vnc', 'vnc'],
      ['recording', 'recording'],
    ] as const;
    const before = await Promise.all(scopes.map(([scope]) => tokenFor(id, scope)));
    const elsewhere = await tokenFor(other);
    // The clock stands still: what is made now and what was made before have the same time.
    await tokens.revoke(keyOf('anna'), id);
    for (const [at, [scope, guardName]] of scopes.entries()) {
      await isRefused(guardName, id, { token: before[at] }, scope);
      await authenticate(guardName, id, { token: await tokenFor(id, scope) });
    }
    await authenticate('view', other, { token: elsewhere });
    await tokens.revoke(keyOf('anna'), id);
    await tokens.revoke(keyOf('anna'), id);
    await authenticate('view', id, { token: await tokenFor(id) });
  });

  it('revoking links holds also when the clock is set back, and for another worker', async () => {
    const id = fixture.add();
    const early = await tokenFor(id);
    fixture.clock.advance(-30 * minuteMs);
    await tokens.revoke(keyOf('anna'), id);
    await isRefused('view', id, { token: early });
    const late = await tokenFor(id);
    await authenticate('view', id, { token: late });
    const another = new Tokens(fixture.deps(database.store));
    await assert.rejects(async () => another.authenticateView(credentialsFor(id, { token: early })), { code: 'invalid_view_token' });
    await another.authenticateView(credentialsFor(id, { token: late }));
    const { token } = await another.issueViewToken(keyOf('anna'), id, { scope: 'view', ...defaults }, origin);
    await authenticate('view', id, { token: token ?? '' });
  });

  it('revoking links is for the owner alone, also where only a recording is left of a session', async () => {
    const [foreign, forgotten] = [fixture.add('berta'), newId('ses')];
    for (const id of [foreign, forgotten, 'x\0y']) await refusedWith(tokens.revoke(keyOf('anna'), id), 'session_not_found');
    fixture.record(forgotten);
    const token = await tokenFor(forgotten, 'recording');
    await tokens.revoke(keyOf('anna'), forgotten);
    await isRefused('recording', forgotten, { token });
  });

  it('revoking links is remembered for longer than a year, and not for ever', async () => {
    const rows = async (): Promise<string[]> => {
      const table = database.store.tables<{ view_revocations: { session_id: string } }>().selectFrom('view_revocations');
      return (await table.selectAll().execute()).map((row) => row.session_id);
    };
    const id = fixture.add();
    await tokens.revoke(keyOf('anna'), id);
    const pruning = tokens.loops.find(({ name }) => name === 'view-pruning') ?? assert.fail();
    const prune = async (): Promise<void> => {
      pruning.nudge();
      await pruning.idle();
    };
    fixture.clock.advance(399 * 86_400_000);
    await prune();
    assert.ok((await rows()).includes(id));
    fixture.clock.advance(2 * 86_400_000);
    await prune();
    assert.ok(!(await rows()).includes(id));
  });

  it('revoking links is logged, and no token is', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    await tokens.revoke(keyOf('anna'), id);
    await isRefused('view', id, { token });
    assert.equal(fixture.lines.length, 1);
    assert.ok(fixture.lines[0]?.includes(id) && !fixture.lines[0].includes(token.split('.')[3] ?? assert.fail()));
  });
});

describe('what a link has opened', () => {
  const openConnection = async (id: string, scope: ViewScope | 'vnc' = 'view', key = 'key_1') => {
    const guardName = scope === 'vnc' ? 'vnc' : scope === 'recording' ? 'recording' : 'view';
    const principal = await authenticate(guardName, id, { token: await tokenFor(id, scope, keyOf('anna', key)) });
    const reasons: string[] = [];
    const undo = tokens.registerConnection(principal, (reason) => void reasons.push(reason));
    return { reasons, undo };
  };
  const runRevocationCheck = async (): Promise<void> => {
    tokens.loops[0]?.nudge();
    await tokens.loops[0]?.idle();
  };

  it('an opened view stays open while its link is valid, also when the token’s time is over', async () => {
    const { reasons } = await openConnection(fixture.add());
    fixture.clock.advance(2 * 3_600_000);
    await runRevocationCheck();
    assert.deepEqual(reasons, []);
  });

  it('an opened view is closed once, when its links are revoked', async () => {
    const [id, other] = [fixture.add(), fixture.add()];
    const [first, second, elsewhere] = [await openConnection(id), await openConnection(id, 'control'), await openConnection(other)];
    await tokens.revoke(keyOf('anna'), id);
    await runRevocationCheck();
    await runRevocationCheck();
    assert.deepEqual([first.reasons, second.reasons, elsewhere.reasons], [['unauthorized'], ['unauthorized'], []]);
  });

  it('an opened view is closed by the revocation of another worker at the next check, which runs every second', async () => {
    const id = fixture.add();
    const { reasons } = await openConnection(id);
    await new Tokens(fixture.deps(database.store)).revoke(keyOf('anna'), id);
    assert.deepEqual(reasons, []);
    assert.deepEqual([tokens.loops[0]?.name, tokens.loops[0]?.intervalMs], ['view-revocations', 1000]);
    await runRevocationCheck();
    // Both workers have the same standing clock here; a real one is later by then.
    assert.deepEqual(reasons, ['unauthorized']);
  });

  it('an opened view is closed when its key is revoked, without waiting for the next check', async () => {
    const id = fixture.add();
    const [mine, other] = [await openConnection(id), await openConnection(id, 'view', 'key_2')];
    fixture.revokeKey('key_1');
    await tokens.loops[0]?.idle();
    assert.deepEqual([mine.reasons, other.reasons], [['unauthorized'], []]);
  });

  it('an opened view is closed at the very end of its session, but for a recording', async () => {
    const [id, other] = [fixture.add('anna', 'full_browser'), fixture.add()];
    fixture.record(id);
    const open = [
      await openConnection(id),
      await openConnection(id, 'vnc'),
      await openConnection(id, 'recording'),
      await openConnection(other),
    ];
    fixture.end(id);
    assert.deepEqual(
      open.map(({ reasons }) => reasons),
      [['session_ended'], ['session_ended'], [], []],
    );
    await runRevocationCheck();
    assert.deepEqual(open[2]?.reasons, []);
  });

  it('an opened view is closed at the next check where the session ended before it was registered', async () => {
    const id = fixture.add();
    const token = await tokenFor(id);
    const principal = await authenticate('view', id, { token });
    fixture.end(id);
    const reasons: string[] = [];
    tokens.registerConnection(principal, (reason) => void reasons.push(reason));
    await runRevocationCheck();
    assert.deepEqual(reasons, ['session_ended']);
  });

  it('an opened view is not closed after it was unregistered', async () => {
    const id = fixture.add();
    const { reasons, undo } = await openConnection(id);
    undo();
    undo();
    fixture.end(id);
    await runRevocationCheck();
    assert.deepEqual(reasons, []);
  });

  it('views do not query the store while none is open', async () => {
    const idle = new Tokens({
      ...fixture.deps(database.store),
      keys: { ...fixture.deps(database.store).keys, findInactive: () => assert.fail('the store was queried') },
    });
    const [loop] = idle.loops;
    loop?.nudge();
    await loop?.idle();
    assert.equal(loop?.status.lastError, null);
  });
});
