import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, readConfig } from '../../config.ts';
import { assertIsolated, assertStrongSecrets, exposureWarnings, secretWarnings } from './exposure.ts';

const check = (environment: Record<string, string>, isJailed: boolean): void => assertIsolated(readConfig(environment), { isJailed });

describe('a service whose browsers run without a jail', () => {
  it('a service whose browsers run without a jail starts where only this host can reach it', () => {
    check({}, false);
    check({ BERTH_HOST: '::1', BERTH_PUBLIC_URL: 'http://localhost:1' }, false);
  });

  for (const environment of [
    { BERTH_HOST: '0.0.0.0' },
    { BERTH_PUBLIC_URL: 'https://berth.example' },
    { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
  ] satisfies Record<string, string>[])
    it(`a service whose browsers run without a jail is refused with ${Object.entries(environment).flat().join(' ')}, unless the operator allows it`, () => {
      assert.throws(
        () => check(environment, false),
        (error) => error instanceof ConfigError && /without a jail.*BERTH_ALLOW_UNJAILED=1/s.test(error.message),
      );
      check({ ...environment, BERTH_ALLOW_UNJAILED: '1' }, false);
      check(environment, true);
    });
});

describe('a short secret of the operator', () => {
  for (const [name, secret] of [
    ['BERTH_ADMIN_KEY', 'operator'],
    ['BERTH_METRICS_TOKEN', 'm'.repeat(31)],
  ] as const) {
    it(`a short secret of the operator is accepted as ${name} with a warning where only this host can reach the service`, () => {
      const config = readConfig({ [name]: secret });
      assertStrongSecrets(config);
      assert.match(secretWarnings(config).join('\n'), new RegExp(`^${name} has fewer than 32 characters[^\n]*$`));
      assert.deepEqual(exposureWarnings(config), secretWarnings(config));
      assert.ok(!secretWarnings(config).join().includes(secret));
    });

    it(`a short secret of the operator is refused as ${name} where others can reach the service, and a long one is not`, () => {
      for (const exposed of [
        { BERTH_HOST: '0.0.0.0' },
        { BERTH_PUBLIC_URL: 'https://berth.example' },
        { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
      ]) {
        assert.throws(
          () => assertStrongSecrets(readConfig({ ...exposed, [name]: secret })),
          (error) => error instanceof ConfigError && new RegExp(`^${name} .*32`).test(error.message) && !error.message.includes(secret),
        );
        assertStrongSecrets(readConfig({ ...exposed, [name]: 'a'.repeat(32) }));
      }
    });
  }
});
