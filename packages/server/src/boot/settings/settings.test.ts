import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import { readConfig, variableGroups } from '../../config.ts';
import { readSettings } from './settings.ts';

const variables = Object.entries(
  Object.assign({}, ...Object.values(variableGroups)) as Record<string, { isSecret: boolean; schema: z.ZodType }>,
);
const marker = (name: string): string => `hush-${name.toLowerCase().replaceAll('_', '-')}=0123456789abcdef0123456789`;

describe('the settings', () => {
  it('the settings are all there, once each', () => {
    const names = readSettings(readConfig({})).map(({ name }) => name);
    assert.deepEqual(
      names,
      variables.map(([name]) => name),
    );
  });

  it('the settings call every variable a secret that is named like one', () => {
    // Those that take the key itself for a path refuse it: `pemPath`.
    const paths = ['BERTH_TLS_KEY'];
    const named = variables
      .filter(([name]) => /(KEY|KEY_ID|SECRET|TOKEN|PASSWORD|HEADERS)$/.test(name) && !paths.includes(name))
      .map(([name]) => name);
    assert.deepEqual(
      variables.filter(([, { isSecret }]) => isSecret).map(([name]) => name),
      named,
    );
    assert.ok(named.length >= 7);
  });

  it('the settings show only the free texts of this list, which were checked to hold no secret', () => {
    const texts = ['hush', '/hush', 'https://hush.example', 'postgres://hush.example/hush', 'hush=hush', 'hush.example:1'];
    const isFree = ({ schema }: { schema: z.ZodType }): boolean => texts.some((text) => schema.safeParse(text).success);
    assert.deepEqual(
      variables.filter(([name, variable]) => !variable.isSecret && isFree(variable) && !/(DIR|FILE|URL)$/.test(name)).map(([name]) => name),
      [
        'BERTH_HOST',
        'BERTH_TLS_CERT',
        'BERTH_TLS_KEY',
        'BERTH_TRUSTED_PROXIES',
        'BERTH_FLEET_LISTEN',
        'BERTH_FLEET_ADDRESS',
        'BERTH_OBJECTS_BUCKET',
        'BERTH_OBJECTS_ENDPOINT',
        'BERTH_OBJECTS_REGION',
        'BERTH_OBJECTS_PREFIX',
        'BERTH_OIDC_ISSUER',
        'BERTH_OIDC_AUDIENCE',
        'BERTH_OIDC_ORG_CLAIM',
        'BERTH_QEMU',
        'BERTH_CHROMIUM',
        'BERTH_FETCH_CHROMIUM',
        'BERTH_REGION',
        'BERTH_EGRESS_ALLOW',
        'BERTH_DNS_SERVERS',
        'BERTH_LLM_MODEL',
        'BERTH_FFMPEG',
        'OTEL_EXPORTER_OTLP_ENDPOINT',
        'OTEL_SERVICE_NAME',
      ],
    );
  });

  it('the settings hold no secret value, whatever is set', () => {
    const secrets = Object.fromEntries(variables.filter(([, { isSecret }]) => isSecret).map(([name]) => [name, marker(name)]));
    const settings = readSettings(readConfig(secrets));
    assert.ok(!JSON.stringify(settings).includes('hush-'));
    for (const name of Object.keys(secrets)) assert.equal(settings.find((setting) => setting.name === name)?.value, 'set');
  });

  it('the settings hold no part of a URL that can be a secret', () => {
    const addresses = {
      BERTH_DATABASE_URL: 'postgres://berth:hush-1@db.example:5432/berth?sslpassword=hush-2#hush-3',
      BERTH_OIDC_ISSUER: 'https://user:hush-4@id.example/realm',
      BERTH_OIDC_JWKS_URL: 'https://id.example/keys?token=hush-5',
      BERTH_PUBLIC_URL: 'https://hush-6@berth.example/',
      BERTH_STRIPE_API_URL: 'http://:hush-7@127.0.0.1:1/v1?key=hush-8',
    };
    const settings = readSettings(readConfig(addresses));
    const text = JSON.stringify(settings);
    assert.ok(!text.includes('hush-'), text.slice(text.indexOf('hush-') - 100));
    assert.equal(settings.find(({ name }) => name === 'BERTH_DATABASE_URL')?.value, 'postgres://db.example:5432/berth');
  });

  it('the settings say where each value comes from', () => {
    const settings = readSettings(readConfig({ BERTH_PORT: '1', BERTH_HOST: '::1', BERTH_REGION: '' }, { BERTH_PORT: '9090' }));
    const short = (wanted: string) => settings.filter(({ name }) => name === wanted).map(({ value, source }) => [value, source])[0];
    assert.deepEqual(short('BERTH_PORT'), ['9090', 'command_line']);
    assert.deepEqual(short('BERTH_HOST'), ['::1', 'environment']);
    assert.deepEqual(short('BERTH_REGION'), ['local', 'default']);
    assert.deepEqual(short('BERTH_OIDC_ALGORITHMS'), ['RS256,ES256,EdDSA', 'default']);
  });
});
