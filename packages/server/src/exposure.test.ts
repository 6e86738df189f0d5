import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, readConfig } from './config.ts';
import { assertIsolated } from './exposure.ts';

const check = (environment: Record<string, string>, isJailed: boolean): void => assertIsolated(readConfig(environment), { isJailed });

describe('a service whose browsers run without a jail', () => {
  it('starts where only this host can reach it', () => {
    check({}, false);
    check({ BERTH_HOST: '::1', BERTH_PUBLIC_URL: 'http://localhost:1' }, false);
  });

  for (const environment of [
    { BERTH_HOST: '0.0.0.0' },
    { BERTH_PUBLIC_URL: 'https://berth.example' },
    { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
  ] satisfies Record<string, string>[])
    it(`is refused with ${Object.entries(environment).flat().join(' ')}, unless the operator allows it`, () => {
      assert.throws(
        () => check(environment, false),
        (error) => error instanceof ConfigError && /without a jail.*BERTH_ALLOW_UNJAILED=1/s.test(error.message),
      );
      check({ ...environment, BERTH_ALLOW_UNJAILED: '1' }, false);
      check(environment, true);
    });
});
