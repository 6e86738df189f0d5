import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CreateSessionRequest } from '@berth/contract';
import { frequentOptions, optionGroups } from './create-groups.ts';

it('the form of a session has every option, each once', () => {
  const shown = [...frequentOptions, ...optionGroups.flatMap(({ fields }) => [...fields])];
  assert.deepEqual(shown.toSorted(), Object.keys(CreateSessionRequest.shape).toSorted());
});
