/** Who may speak on the internal listener, and for whom. */
import assert from 'node:assert/strict';
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { ForwardedCall } from '../../http/call.ts';
import { ManualClock, systemClock, type Clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { silentLog } from '@berth/lib/log.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { Authority } from './authority.ts';
import { Connections, type PeerReply, type PeerRequest } from './connections.ts';
import { Credentials, type CredentialFiles } from './credentials.ts';
import { Directory, type Peer } from './directory.ts';
import { identityHeader, requestHeaders } from './headers.ts';
import { Identities } from './identity.ts';
import { Listener } from './listener.ts';
import { workersOf, type TlsCredentials } from './tls.ts';

const dayMs = 86_400_000;
const secret = randomBytes(32);
const caller: Omit<ForwardedCall, 'from'> = {
  principal: { owner: 'anna', keyId: null, requestsPerMinute: null, scope: 'owner:anna' },
  requestId: 'req.1',
  origin: 'http://berth.test',
  sessionId: null,
};

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());
const opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

const credentialsOf = (workerId: string, clock: Clock = systemClock, files: CredentialFiles | null = null): Credentials =>
  new Credentials({ store: database.store, clock, workerId, files });

/** A worker that says who called. */
async function listening(
  workerId: string,
  answer = (_request: IncomingMessage, response: ServerResponse): void => void response.end('hello'),
  credentials = credentialsOf(workerId),
): Promise<{ port: number; credentials: Credentials; calls: ForwardedCall[]; close: () => Promise<void> }> {
  await credentials.open();
  const calls: ForwardedCall[] = [];
  const listener = new Listener({
    workerId,
    credentials,
    identities: new Identities(secret),
    clock: systemClock,
    log: silentLog,
    viewAgeMs: () => 0,
  });
  const receive = (request: IncomingMessage, response: ServerResponse, call: ForwardedCall): void => {
    calls.push(call);
    answer(request, response);
  };
  const port = await listener.open({ host: '127.0.0.1', port: 0 }, { receive, receiveUpgrade: () => assert.fail('no upgrade was sent') });
  opened.push(() => listener.close());
  return { port, credentials, calls, close: () => listener.close() };
}

async function connectionsTo(
  from: string,
  peers: Peer[],
  readPeers = () => Promise.resolve(peers),
): Promise<Connections & { credentials: Credentials }> {
  const credentials = credentialsOf(from);
  await credentials.open();
  const connections = new Connections({
    credentials,
    directory: new Directory({ readPeers }),
    log: silentLog,
  });
  opened.push(() => connections.close());
  return Object.assign(connections, { credentials });
}

/** Sends a request as the holder of this certificate. Resolves with its status. */
async function ask(
  port: number,
  credentials: Partial<TlsCredentials>,
  headers: Record<string, string> = {},
  path = '/v1/sessions',
): Promise<number> {
  const sent = httpsRequest({ host: '127.0.0.1', port, path, headers, ...credentials, checkServerIdentity: () => undefined, agent: false });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode ?? 0;
}

const identity = (from: string, to: string, target = '/v1/sessions', method = 'GET', key = secret, at = new Date()): string =>
  new Identities(key).sign(caller, { from, to, method, target }, at);

describe('the internal listener', () => {
  const [here, other, third] = [newId('wrk'), newId('wrk'), newId('wrk')];

  it('the internal listener serves a request of another worker for the caller that it vouches for', async () => {
    const { port, calls } = await listening(here);
    const connections = await connectionsTo(other, [{ workerId: here, address: `127.0.0.1:${port}`, isSilent: false }]);
    const headers = [identityHeader, identity(other, here), 'host', 'berth'];
    const { response } = await connections.send({
      workerId: here,
      method: 'GET',
      target: '/v1/sessions',
      headers,
      signal: AbortSignal.timeout(30_000),
      isSafe: true,
      isRepeatable: true,
      write: (sent) => void sent.end(),
    });
    response.resume();
    assert.equal(response.statusCode, 200);
    assert.deepEqual(calls, [{ ...caller, from: other }]);
  });

  it('the internal listener speaks to nobody without a certificate of the fleet', async () => {
    const { port, calls, credentials } = await listening(here);
    const { ca } = credentials.current;
    await assert.rejects(ask(port, { ca }));
    const foreign = await testStore();
    opened.push(() => foreign.drop());
    const stranger = await new Authority({ store: foreign.store, clock: systemClock, workerId: other }).issue();
    await assert.rejects(ask(port, { ...stranger, ca }, { [identityHeader]: identity(other, here) }));
    assert.deepEqual(calls, []);
  });

  it('the internal listener refuses a request that its sender has not signed for it', async () => {
    const { port, calls } = await listening(here);
    const sender = await credentialsOf(other).open();
    for (const [what, token] of Object.entries({
      'no identity': '',
      'another worker’s': identity(third, here),
      'for another worker': identity(other, third),
      'for another target': identity(other, here, '/v1/keys'),
      'for another method': identity(other, here, '/v1/sessions', 'DELETE'),
      'of another fleet': identity(other, here, '/v1/sessions', 'GET', randomBytes(32)),
      'of yesterday': identity(other, here, '/v1/sessions', 'GET', secret, new Date(Date.now() - dayMs)),
      unsigned: 'eyJhbGciOiJub25lIn0.e30.',
    }))
      assert.equal(await ask(port, sender, token === '' ? {} : { [identityHeader]: token }), 400, what);
    assert.deepEqual(calls, []);
    // Clocks of workers may differ by minutes.
    for (const aheadMs of [-600_000, 600_000]) {
      const token = identity(other, here, '/v1/sessions', 'GET', secret, new Date(Date.now() + aheadMs));
      assert.equal(await ask(port, sender, { [identityHeader]: token }), 200);
    }
  });

  it('the internal listener refuses an identity that was sent before: to another worker’s certificate, for another request, and later', async () => {
    const { port, calls } = await listening(here);
    const [sender, thief] = [await credentialsOf(other).open(), await credentialsOf(third).open()];
    const captured = { [identityHeader]: identity(other, here) };
    assert.equal(await ask(port, sender, captured), 200);
    assert.equal(await ask(port, thief, captured), 400, 'it is bound to the certificate of its sender');
    for (const path of ['/v1/sessions?limit=1', '/v1/keys', '/v1/sessions/', '//v1/sessions'])
      assert.equal(await ask(port, sender, captured, path), 400, path);
    // Its life, and what the clocks of workers may differ by.
    const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);
    const old = { [identityHeader]: identity(other, here, '/v1/sessions', 'GET', secret, minutesAgo(17)) };
    assert.equal(await ask(port, sender, old), 400);
    assert.equal(calls.length, 1);
  });

  it('the internal listener closes though another worker is about to finish its handshake', async () => {
    const { port, credentials, close } = await listening(here);
    const early = connect(port, '127.0.0.1');
    await once(early, 'connect');
    // Accepted in order: when this one is answered, the early one has been accepted, too.
    assert.equal(await ask(port, credentials.current, {}, '/fleet/view'), 200);
    const closing = close();
    const late = connectTls({ socket: early, ...credentials.current, checkServerIdentity: () => undefined });
    late.on('error', () => undefined);
    await closing;
  });

  it('the internal listener presents a new certificate without a restart', async () => {
    const { port, credentials } = await listening(here);
    const sender = await credentialsOf(other).open();
    const serial = async (): Promise<string> => {
      const sent = httpsRequest({ host: '127.0.0.1', port, path: '/', ...sender, checkServerIdentity: () => undefined, agent: false });
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const { serialNumber } = (response.socket as unknown as { getPeerCertificate(): { serialNumber: string } }).getPeerCertificate();
      response.resume();
      await once(response, 'end');
      return serialNumber;
    };
    const first = await serial();
    const renewed = await new Authority({ store: database.store, clock: systemClock, workerId: here }).issue();
    credentials.replace(renewed);
    assert.notEqual(await serial(), first);
    assert.equal(await serial(), new X509Certificate(renewed.cert).serialNumber);
  });
});

describe('a connection to another worker', () => {
  const [here, other, elsewhere] = [newId('wrk'), newId('wrk'), newId('wrk')];
  const postTo = (workerId: string): PeerRequest => ({
    workerId,
    method: 'POST',
    target: '/',
    headers: [identityHeader, identity(other, workerId, '/', 'POST'), 'host', 'berth'],
    signal: AbortSignal.timeout(30_000),
    isSafe: false,
    isRepeatable: true,
    write: (sent) => void sent.end(),
  });
  const send = async (peers: Peer[], workerId: string): Promise<unknown> => (await connectionsTo(other, peers)).send(postTo(workerId));
  const unreachable = { code: 'worker_unreachable', retryable: true, retryAfterSeconds: 1 };

  it('a connection to another worker is not used where a different worker answers at its address', async () => {
    const { port, calls } = await listening(here);
    await assert.rejects(send([{ workerId: elsewhere, address: `127.0.0.1:${port}`, isSilent: false }], elsewhere), unreachable);
    assert.deepEqual(calls, []);
  });

  it('a request that was sent to another worker and not answered fails as not retryable', async () => {
    const { port } = await listening(here, (request) => void request.socket.destroy());
    const peers = [{ workerId: here, address: `127.0.0.1:${port}`, isSilent: false }];
    await assert.rejects(send(peers, here), { code: 'worker_unreachable', retryable: false });
  });

  it('a connection to another worker follows it to the address that it has restarted at', async () => {
    const { port, calls } = await listening(here);
    const ports = [9, 9, port];
    const connections = await connectionsTo(other, [], () =>
      Promise.resolve([{ workerId: here, address: `127.0.0.1:${ports.shift() ?? port}`, isSilent: false }]),
    );
    const ask = async (isRepeatable: boolean): Promise<number | undefined> => {
      const { response } = await connections.send({ ...postTo(here), isRepeatable });
      response.resume();
      return response.statusCode;
    };
    await assert.rejects(ask(false), unreachable);
    await assert.rejects(ask(true), unreachable, 'its row has the old address');
    assert.equal(await ask(true), 200);
    assert.equal(calls.length, 1);
  });

  it('a request that broke off at the address that a worker has restarted at fails as not retryable', async () => {
    const { port } = await listening(here, (request) => {
      request.resume().once('end', () => request.socket.destroy());
    });
    const ports = [9, port];
    const connections = await connectionsTo(other, [], () =>
      Promise.resolve([{ workerId: here, address: `127.0.0.1:${ports.shift() ?? port}`, isSilent: false }]),
    );
    await assert.rejects(connections.send(postTo(here)), { code: 'worker_unreachable', retryable: false });
    assert.deepEqual(ports, [], 'it was sent to the new address');
  });

  describe('to a worker that is lost', () => {
    const arrivals = async () => {
      const received = Promise.withResolvers<void>();
      const { port } = await listening(here, (_, response) => {
        response.write('the first event');
        received.resolve();
      });
      return { port, received: received.promise };
    };
    const breaksOff = async ({ response }: PeerReply): Promise<void> => {
      response.on('data', () => undefined);
      await assert.rejects(once(response, 'end'), { code: 'ECONNRESET' });
    };

    it('a request to a worker that is lost ends at once, also to one that presented an older certificate', async () => {
      const { port, received } = await arrivals();
      const connections = await connectionsTo(other, [{ workerId: here, address: `127.0.0.1:${port}`, isSilent: false }]);
      const sent = connections.send(postTo(here));
      await received;
      connections.credentials.replace(await new Authority({ store: database.store, clock: systemClock, workerId: other }).issue());
      const ended = breaksOff(await sent);
      connections.drop(here);
      await ended;
    });

    it('a request to a worker that is lost ends at once, also one to the address that it had restarted at', async () => {
      const { port, received } = await arrivals();
      const ports = [9, port];
      const connections = await connectionsTo(other, [], () =>
        Promise.resolve([{ workerId: here, address: `127.0.0.1:${ports.shift() ?? port}`, isSilent: false }]),
      );
      const sent = connections.send(postTo(here));
      await received;
      const ended = breaksOff(await sent);
      connections.drop(here);
      await ended;
    });

    it('a request to a worker that is lost ends at once, also one that waits for its answer', async () => {
      const received = Promise.withResolvers<void>();
      const { port } = await listening(here, () => received.resolve());
      const connections = await connectionsTo(other, [{ workerId: here, address: `127.0.0.1:${port}`, isSilent: false }]);
      const sent = connections.send(postTo(here));
      await received.promise;
      connections.credentials.replace(await new Authority({ store: database.store, clock: systemClock, workerId: other }).issue());
      connections.drop(here);
      await assert.rejects(sent, { code: 'worker_unreachable', retryable: false });
    });
  });

  it('a request to another worker is refused where nobody listens, and where the worker has no row or no recent heartbeat', async () => {
    const { port } = await listening(here);
    await assert.rejects(send([{ workerId: here, address: '127.0.0.1:9', isSilent: false }], here), unreachable);
    await assert.rejects(send([], here), unreachable);
    await assert.rejects(send([{ workerId: here, address: `127.0.0.1:${port}`, isSilent: true }], here), unreachable);
  });
});

describe('the headers of a request to another worker', () => {
  it('a request to another worker has the headers of the client, without credentials, the connection’s own, and what only the fleet may set', () => {
    const passed = ['Content-Type', 'text/plain', 'Idempotency-Key', '7', 'Accept', '*/*'];
    const credentials = ['Authorization', 'Bearer key', 'Cookie', 'berth_view=1', 'X-Admin-Key', 'key'];
    const origin = [
      'X-Forwarded-For',
      '192.0.2.1',
      'X-Forwarded-Host',
      'other.test',
      'X-Forwarded-Proto',
      'https',
      'Forwarded',
      'for=192.0.2.1',
    ];
    const ofFleet = ['X-Berth-Identity', 'forged', 'x-berth-worker', 'wrk_1', 'X-Request-Id', 'req_1'];
    const ofConnection = ['Connection', 'close, X-Own, Idempotency-Key', 'X-Own', '1', 'Transfer-Encoding', 'chunked', 'Upgrade', 'h2c'];
    assert.deepEqual(requestHeaders([...passed, ...credentials, ...origin, ...ofFleet, ...ofConnection]), passed);
  });
});

describe('certificates of an operator', () => {
  /** What an operator's own authority has signed, as files. */
  async function filesOf(issue: (workerId: string) => Promise<TlsCredentials>, workerId: string, folder: string): Promise<CredentialFiles> {
    const { cert, key, ca } = await issue(workerId);
    const files = { cert: join(folder, `${workerId}.pem`), key: join(folder, `${workerId}-key.pem`), ca: join(folder, 'ca.pem') };
    for (const [file, text] of [
      [files.cert, cert],
      [files.key, key],
      [files.ca, ca.join('')],
    ] as const)
      writeFileSync(file, text);
    return files;
  }

  it('certificates of an operator are read from files and used by two workers, again after they were replaced, and no others are trusted', async () => {
    const [here, other] = [newId('wrk'), newId('wrk')];
    const folder = mkdtempSync(join(tmpdir(), 'berth-certificates-'));
    opened.push(() => rmSync(folder, { recursive: true }));
    const operators = await Promise.all([testStore(), testStore()]);
    for (const each of operators) opened.push(() => each.drop());
    const [issue, reissue] = operators.map(
      ({ store }) =>
        (workerId: string) =>
          new Authority({ store, clock: systemClock, workerId }).issue(),
    ) as [(workerId: string) => Promise<TlsCredentials>, (workerId: string) => Promise<TlsCredentials>];
    const credentials: Credentials[] = [];
    for (const workerId of [here, other]) credentials.push(credentialsOf(workerId, systemClock, await filesOf(issue, workerId, folder)));
    const [own, sender] = credentials as [Credentials, Credentials];
    const { port } = await listening(here, undefined, own);
    await sender.open();
    const asks = (from: Partial<TlsCredentials>): Promise<number> => ask(port, from, { [identityHeader]: identity(other, here) });
    assert.equal(await asks(sender.current), 200);
    const ofTheFleet = await credentialsOf(other).open();
    await assert.rejects(asks({ ...ofTheFleet, ca: sender.current.ca }));
    const before = sender.current;
    for (const workerId of [here, other]) await filesOf(reissue, workerId, folder);
    for (const each of credentials) {
      each.renewal.nudge();
      await each.renewal.idle();
    }
    assert.notEqual(sender.current.cert, before.cert);
    assert.equal(await asks(sender.current), 200);
    await assert.rejects(asks({ ...before, ca: sender.current.ca }));
  });
});

describe('the authority of a fleet', () => {
  const clock = new ManualClock(new Date());
  const signerOf = ({ cert, ca }: TlsCredentials): number =>
    ca.findIndex((each) => new X509Certificate(cert).verify(new X509Certificate(each).publicKey));
  const issue = (workerId: string): Promise<TlsCredentials> => new Authority({ store: database.store, clock, workerId }).issue();

  it('the authority of a fleet is one, whoever made it, and signs certificates that name their worker', async () => {
    const ids = [newId('wrk'), newId('wrk'), newId('wrk')];
    const all = await Promise.all(ids.map(issue));
    assert.equal(new Set(all.map(({ ca }) => ca.join(''))).size, 1);
    assert.deepEqual(
      all.map(({ cert }) => workersOf({ subjectaltname: new X509Certificate(cert).subjectAltName ?? '' })),
      ids.map((id) => [id]),
    );
    assert.deepEqual(all.map(signerOf), [0, 0, 0]);
  });

  it('the authority of a fleet is followed by another one, which all trust before it signs', async () => {
    const workerId = newId('wrk');
    const before = await issue(workerId);
    clock.advance(91 * dayMs);
    const during = await issue(workerId);
    assert.deepEqual([before.ca.length, during.ca.length, signerOf(during)], [1, 2, 0]);
    clock.advance(2 * 3_600_000);
    const next = await issue(workerId);
    assert.deepEqual([next.ca, signerOf(next)], [during.ca, 1]);
    clock.advance(400 * dayMs);
    assert.ok(!(await issue(workerId)).ca.includes(before.ca[0] ?? ''), 'the first is not trusted for ever');
  });
});
