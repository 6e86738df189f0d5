import assert from 'node:assert/strict';
import { it } from 'node:test';
import { maskedSecret } from './masked-secret.ts';

it('a masked secret has its prefix and its end alone', () => {
  assert.equal(maskedSecret(`brt_live_${'a'.repeat(40)}wxyz`), 'brt_live_…wxyz');
  assert.equal(maskedSecret('short'), '…');
});
