import assert from 'node:assert/strict';
import { it } from 'node:test';
import { kindOfSecret } from './credential-kind.ts';

it('a pasted secret is known by its beginning or form', () => {
  const kinds = ['brt_live_abc', 'brt_admin_abc', 'brt_connect_abc', 'eyJhbGci.eyJzdWIi.c2ln', 'chosen-by-the-operator', 'a.b'].map(
    kindOfSecret,
  );
  assert.deepEqual(kinds, ['key', 'admin', 'connect', 'login', 'admin', 'admin']);
});
