import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, configTable, readConfig, variables } from './config.ts';

describe('the configuration', () => {
  it('needs nothing to be set', () => {
    const config = readConfig({});
    assert.equal(config.host, '127.0.0.1');
    assert.equal(config.port, 8080);
    assert.equal(config.databaseUrl, null);
    assert.match(config.dataDir, /^\/.*\/data$/);
  });

  it('names every variable that is wrong, with what is valid', () => {
    assert.throws(
      () => readConfig({ BERTH_PORT: 'http', BERTH_POOL_TARGET: '-1', BERTH_ADMIN_KEY: 'short', BERTH_PUBLIC_URL: 'ftp://x' }),
      (error) => {
        assert.ok(error instanceof ConfigError);
        for (const name of ['BERTH_PORT: a whole number from 0 to 65535', 'BERTH_POOL_TARGET', 'BERTH_ADMIN_KEY: at least 32 characters', 'BERTH_PUBLIC_URL'])
          assert.ok(error.message.includes(name), `${name} is not in: ${error.message}`);
        return true;
      },
    );
  });

  it('refuses a variable that does not exist', () => {
    assert.throws(() => readConfig({ BERTH_PROT: '1' }), /BERTH_PROT: there is no such variable/);
  });

  it('takes an empty variable for one that is not set', () => {
    assert.equal(readConfig({ BERTH_PORT: '' }).port, 8080);
  });

  it('has a sentence for every variable in its table', () => {
    const table = configTable();
    for (const [name, { sentence }] of Object.entries(variables)) {
      assert.ok(table.includes(`\`${name}\``));
      assert.match(sentence, /^[A-Z].*\.$/);
    }
  });
});
