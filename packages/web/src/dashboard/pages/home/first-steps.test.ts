import assert from 'node:assert/strict';
import { it } from 'node:test';
import { clientsOf } from './first-steps.ts';

const options = { origin: 'http://127.0.0.1:8080', url: 'https://example.com/' };

it('the first steps have one line for each step, and the key in the first alone', () => {
  for (const { title, steps } of clientsOf({ ...options, key: 'brt_live_secret' })) {
    const [first, ...others] = steps.map(({ command }) => command);
    assert.ok(first?.includes('brt_live_secret'), title);
    assert.ok(first?.includes(options.origin), title);
    for (const command of others) {
      assert.doesNotMatch(command, /secret|\n/, title);
      assert.ok(command.includes(options.url), title);
    }
  }
});
