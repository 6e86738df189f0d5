import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, readConfig } from '../../config.ts';
import { settingsProblems, storageOptions } from './setting-rules.ts';

const bucket = { BERTH_OBJECTS_BUCKET: 'berth-recordings' };
const optionsOf = (environment: Record<string, string>) => storageOptions(readConfig(environment));

describe('the settings of object storage', () => {
  it('object storage is off by default', () => {
    assert.equal(optionsOf({}), null);
  });

  it('the settings of object storage are those of AWS, unless there is an endpoint', () => {
    assert.deepEqual(optionsOf(bucket), {
      ...{
        kind: 'bucket',
        bucket: 'berth-recordings',
        endpoint: null,
        region: 'us-east-1',
        prefix: '',
        isPathStyle: false,
        credentials: null,
      },
    });
    const minio = { ...bucket, BERTH_OBJECTS_ENDPOINT: 'http://minio:9000', BERTH_OBJECTS_PREFIX: 'berth/one/' };
    const options = optionsOf({ ...minio, BERTH_OBJECTS_CREDENTIALS_FILE: '/run/s3' });
    assert.deepEqual(options, {
      ...{ kind: 'bucket', bucket: 'berth-recordings', endpoint: 'http://minio:9000', region: 'us-east-1', prefix: 'berth/one/' },
      ...{ isPathStyle: true, credentials: { file: '/run/s3' } },
    });
    const hosted = optionsOf({ ...minio, BERTH_OBJECTS_PATH_STYLE: 'false', BERTH_OBJECTS_PREFIX: 'berth' });
    assert.ok(hosted?.kind === 'bucket');
    assert.deepEqual([hosted.isPathStyle, hosted.prefix], [false, 'berth/']);
    assert.deepEqual(optionsOf({ BERTH_OBJECTS_DIR: '/srv/shared' }), { kind: 'folder', path: '/srv/shared' });
  });

  for (const [what, environment, expected] of [
    ['a bucket and a directory', { ...bucket, BERTH_OBJECTS_DIR: '/srv/shared' }, /BERTH_OBJECTS_BUCKET and BERTH_OBJECTS_DIR exclude/],
    ['credentials without a bucket', { BERTH_OBJECTS_ACCESS_KEY_ID: 'a' }, /Set BERTH_OBJECTS_BUCKET/],
    ['half of the credentials', { ...bucket, BERTH_OBJECTS_ACCESS_KEY_ID: 'a' }, /require each other/],
    [
      'credentials twice',
      { ...bucket, BERTH_OBJECTS_ACCESS_KEY_ID: 'a', BERTH_OBJECTS_SECRET_ACCESS_KEY: 'b', BERTH_OBJECTS_CREDENTIALS_FILE: '/run/s3' },
      /BERTH_OBJECTS_ACCESS_KEY_ID and BERTH_OBJECTS_CREDENTIALS_FILE exclude/,
    ],
    ['credentials in the endpoint', { ...bucket, BERTH_OBJECTS_ENDPOINT: 'https://a:b@minio' }, /must not contain credentials/],
    ['a prefix that leaves its place', { ...bucket, BERTH_OBJECTS_PREFIX: 'a/../b' }, /BERTH_OBJECTS_PREFIX/],
  ] as const)
    it(`the settings of object storage refuse ${what}`, () => {
      assert.throws(
        () => optionsOf(environment),
        (error) => error instanceof ConfigError && expected.test(error.message),
      );
    });
});

describe('what a start refuses', () => {
  for (const [what, environment, expected] of [
    ['a listener of the fleet without a shared database', { BERTH_FLEET_LISTEN: '127.0.0.1:9000' }, /BERTH_FLEET_LISTEN requires/],
    ['files of the fleet without a listener', { BERTH_FLEET_CA_FILE: '/run/ca.pem' }, /no effect without BERTH_FLEET_LISTEN/],
    ['a bootstrap key that is malformed', { BERTH_BOOTSTRAP_API_KEY: 'secret-key' }, /BERTH_BOOTSTRAP_API_KEY is malformed.*api-key/],
    ['a short admin key where others reach it', { BERTH_ADMIN_KEY: 'operator', BERTH_HOST: '0.0.0.0' }, /^BERTH_ADMIN_KEY must have/],
  ] as const)
    it(`a start is refused with ${what}`, () => {
      const [problem, ...others] = settingsProblems(readConfig(environment));
      assert.match(problem ?? '', expected);
      assert.deepEqual(others, []);
    });

  it('a start with the default settings has no problem', () => assert.deepEqual(settingsProblems(readConfig({})), []));
});
