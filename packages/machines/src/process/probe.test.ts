import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newUid } from '../host/users.ts';
import { probeHost } from './probe.ts';

test('the process runtime offers full_browser only where the programs of a display are installed', async () => {
  const probe = (programs: string[]) =>
    probeHost({ jail: 'none', dataDigest: 'probe', uid: newUid(), chromiumPath: process.execPath, programs });
  const [complete, lacking] = [await probe([process.execPath]), await probe([process.execPath, '/nonexistent/Xtigervnc'])];
  assert.deepEqual(complete.kinds, ['headless', 'full_browser', 'shell']);
  assert.deepEqual(lacking.kinds, ['headless', 'shell']);
  assert.match(lacking.warnings.join(), /full_browser cannot be started: \/nonexistent\/Xtigervnc is missing/);
});
