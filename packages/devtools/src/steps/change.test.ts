import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Steps } from '@berth/contract';
import { canChangePage } from './steps.ts';

const read = { type: 'extract', selectors: ['h1'] };
const click = { type: 'click', selectors: ['button'] };
const changes = (...steps: object[]): boolean => canChangePage(Steps.parse(steps));

it('steps that only load and read are known to change no page, and those that act to change one, wherever they are', () => {
  assert.equal(
    changes(
      { type: 'navigate', url: 'http://site.test/' },
      { type: 'wait', ms: 1 },
      { type: 'scroll', to: 'bottom' },
      { type: 'html' },
      read,
    ),
    false,
  );
  assert.equal(changes({ type: 'repeat', max: 2, steps: [read] }), false);
  assert.equal(changes(read, click), true);
  assert.equal(changes({ type: 'evaluate', expression: '1' }), true);
  assert.equal(changes({ type: 'repeat', max: 2, steps: [read, { type: 'for_each', over: '{{vars.x}}', as: 'y', steps: [click] }] }), true);
  assert.equal(changes({ type: 'if', if: { exists: ['h1'] }, steps: [read], else: [click] }), true);
});
