import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endedReasons } from '@berth/contract';
import { reasonLabel, reasonText } from './reasons.ts';

it('each reason for the end of a session has words of its own, and a newer one stands as it is', () => {
  const labels = endedReasons.map(reasonLabel);
  assert.equal(new Set(labels).size, endedReasons.length);
  for (const [index, label] of labels.entries()) assert.doesNotMatch(label, /_/, endedReasons[index]);
  assert.equal(reasonLabel('cdp_closed'), 'Client disconnected');
  assert.equal(reasonLabel('moved_away'), 'moved away');
  assert.equal(reasonText('moved_away'), 'The session has ended.');
});
