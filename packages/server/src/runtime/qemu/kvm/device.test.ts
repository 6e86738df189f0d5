import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usersRefusal } from './device.ts';

test('KVM can be used by machines where everybody may open it, or a group that is not root', () => {
  assert.equal(usersRefusal({ mode: 0o20666, gid: 0 }), null);
  assert.equal(usersRefusal({ mode: 0o20660, gid: 108 }), null);
});

test('KVM that belongs to root alone is refused, with what to do about it', () => {
  for (const permissions of [
    { mode: 0o20600, gid: 0 },
    { mode: 0o20660, gid: 0 },
    { mode: 0o20640, gid: 108 },
  ])
    assert.match(usersRefusal(permissions) ?? '', /chgrp kvm .*chmod 660/);
});
