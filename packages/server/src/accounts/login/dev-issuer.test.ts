import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { type DevIssuer, createDevIssuer } from './login.ts';
import { audience, openLogins, refusalOf } from '../../../testing/accounts/login.ts';

const ada = { email: 'ada@example.com', organisation: 'acme' };
const origin = 'http://127.0.0.1:8080';

describe('the development issuer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-dev-idp-'));
  after(() => rmSync(folder, { recursive: true }));
  const fileOf = (name: string): string => join(folder, name, 'key');
  const clock = new ManualClock();
  const issuerOf = (name: string, options: { audience?: string } = {}): DevIssuer =>
    createDevIssuer({ secretFile: fileOf(name), clock, audience, ...options });

  it('the development issuer issues tokens that are accepted without asking anybody', async () => {
    const issuer = issuerOf('one');
    const { token } = await issuer.issue(ada, origin);
    const { owner, subject, scope } = await openLogins(issuer.login, { clock }).authenticate(token);
    assert.deepEqual([owner, subject, scope], ['acme', 'ada@example.com', 'login:acme']);
  });

  it('the development issuer issues tokens that outlive a restart on another port, for an hour', async () => {
    const time = new ManualClock();
    const before = createDevIssuer({ secretFile: fileOf('restart'), clock: time, audience });
    const { token, expiresAt } = await before.issue(ada, origin);
    assert.equal(expiresAt.getTime() - time.now().getTime(), 3_600_000);
    const { authenticate } = openLogins(createDevIssuer({ secretFile: fileOf('restart'), clock: time, audience }).login, { clock: time });
    assert.equal((await authenticate(token)).owner, 'acme');
    time.advance(3_600_000 + 31_000);
    assert.match((await refusalOf(authenticate(token))).publicMessage, /has expired/);
  });

  it('the development issuer keeps its key where nobody else can read it', () => {
    issuerOf('mode');
    assert.equal(statSync(fileOf('mode')).mode & 0o777, 0o600);
    assert.equal(JSON.stringify(issuerOf('mode').keys).includes('"d"'), false);
  });

  it('tokens of the development issuer are accepted under every name of this machine, and under no other', async () => {
    const issuer = issuerOf('names');
    const { authenticate } = openLogins(issuer.login, { clock });
    for (const name of ['http://127.0.0.1:1', 'http://localhost:8080', 'http://[::1]:8080', 'https://localhost'])
      assert.equal((await authenticate((await issuer.issue(ada, name)).token)).owner, 'acme', name);
    for (const name of [
      'http://berth.example',
      'http://127.0.0.1.evil.example',
      'http://u:p@localhost',
      'http://localhost/a',
      'ftp://localhost',
      'localhost',
    ])
      assert.match((await refusalOf(authenticate((await issuer.issue(ada, name)).token))).publicMessage, /another issuer/, name);
  });

  it('tokens of the development issuer are refused by another installation, and for another audience', async () => {
    const { authenticate } = openLogins(issuerOf('ours').login, { clock });
    const foreign = await issuerOf('theirs').issue(ada, origin);
    assert.match((await refusalOf(authenticate(foreign.token))).publicMessage, /not signed with a key of the identity provider/);
    const other = await issuerOf('ours', { audience: 'other' }).issue(ada, origin);
    assert.match((await refusalOf(authenticate(other.token))).publicMessage, /another audience/);
  });

  it('the development issuer refuses to start with a key file that is not its own, and names the file', () => {
    for (const [name, text] of Object.entries({ broken: '{', other: '{"kty":"oct","k":"AA"}', words: 'hello' })) {
      const file = join(folder, `${name}-key`);
      writeFileSync(file, text);
      assert.throws(() => createDevIssuer({ secretFile: file, clock, audience }), new RegExp(`${name}-key is invalid. Delete the file`));
    }
  });
});
