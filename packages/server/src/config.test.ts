import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, readConfig, variableGroups } from './config.ts';

describe('the configuration', () => {
  it('the configuration needs nothing to be set', () => {
    const config = readConfig({});
    assert.equal(config.host, '127.0.0.1');
    assert.equal(config.port, 8080);
    assert.equal(config.databaseUrl, null);
    assert.match(config.dataDir, /^\/.*\/data$/);
  });

  it('the configuration names every variable that is wrong, with what is valid', () => {
    assert.throws(
      () => readConfig({ BERTH_PORT: 'http', BERTH_POOL_TARGET: '-1', BERTH_ADMIN_KEY: 'shorter', BERTH_PUBLIC_URL: 'ftp://x' }),
      (error) => {
        assert.ok(error instanceof ConfigError);
        for (const name of [
          'BERTH_PORT: must be an integer from 0 to 65535',
          'BERTH_POOL_TARGET',
          'BERTH_ADMIN_KEY: must have at least 8 characters',
          'BERTH_PUBLIC_URL',
        ])
          assert.ok(error.message.includes(name), `${name} is not in: ${error.message}`);
        return true;
      },
    );
  });

  it('the configuration names a variable that should be a URL and is none', () => {
    for (const name of ['BERTH_CAPTCHA_HTTP_URL', 'BERTH_LLM_URL', 'BERTH_PUBLIC_URL'])
      assert.throws(
        () => readConfig({ [name]: 'nowhere' }),
        (error) => error instanceof ConfigError && error.message.startsWith(`${name}: must be an http or https URL`),
      );
  });

  it('the configuration takes 1 and 0 for yes and no', () => {
    const flags = ['1', 'true', '0', 'false'].map((text) => readConfig({ BERTH_CREDITS_ENFORCED: text }).creditsEnforced);
    assert.deepEqual(flags, [true, true, false, false]);
    assert.throws(() => readConfig({ BERTH_CREDITS_ENFORCED: 'yes' }), /BERTH_CREDITS_ENFORCED/);
  });

  it('the configuration requires sign-in, payment or a metrics token only where it is configured', () => {
    const { oidcIssuer, devIdp, stripeSecretKey, stripeWebhookSecret, metricsToken, creditsEnforced, allowUnsignedWebhooks } = readConfig(
      {},
    );
    assert.deepEqual([oidcIssuer, stripeSecretKey, stripeWebhookSecret, metricsToken], [null, null, null, null]);
    assert.deepEqual([devIdp, creditsEnforced, allowUnsignedWebhooks], [false, false, false]);
  });

  it('the configuration takes the issuer to the letter, because tokens name it so', () => {
    assert.equal(readConfig({ BERTH_OIDC_ISSUER: 'https://id.example.com/' }).oidcIssuer, 'https://id.example.com/');
    assert.throws(() => readConfig({ BERTH_OIDC_ISSUER: 'id.example.com' }), /BERTH_OIDC_ISSUER: must be an http or https URL/);
  });

  it('the configuration takes login tokens of asymmetric algorithms alone', () => {
    assert.deepEqual(readConfig({}).oidcAlgorithms, ['RS256', 'ES256', 'EdDSA']);
    assert.deepEqual(readConfig({ BERTH_OIDC_ALGORITHMS: 'PS256, ES256' }).oidcAlgorithms, ['PS256', 'ES256']);
    for (const text of ['HS256', 'RS256,HS512', 'none', 'rs256', ','])
      assert.throws(() => readConfig({ BERTH_OIDC_ALGORITHMS: text }), /BERTH_OIDC_ALGORITHMS/, text);
  });

  it('the configuration never repeats a secret that is wrong', () => {
    const wrong = {
      BERTH_ADMIN_KEY: 'hush-ad',
      BERTH_CAPTCHA_HTTP_SECRET: 'hush-captcha',
      BERTH_STRIPE_SECRET_KEY: 'hush stripe',
      BERTH_STRIPE_WEBHOOK_SECRET: 'hush-webhook\n',
      BERTH_METRICS_TOKEN: 'hush-me',
      BERTH_DATABASE_URL: 'mysql://hush@localhost',
      BERTH_STRIPE_API_URL: 'hush://stripe',
    };
    assert.throws(
      () => readConfig(wrong),
      (error) => {
        assert.ok(error instanceof ConfigError);
        for (const name of Object.keys(wrong)) assert.ok(error.message.includes(name), name);
        assert.ok(!error.message.includes('hush'), error.message);
        return true;
      },
    );
  });

  it('the configuration takes a token for metrics that a header can hold', () => {
    assert.equal(readConfig({ BERTH_METRICS_TOKEN: 'm'.repeat(32) }).metricsToken, 'm'.repeat(32));
    for (const text of ['m'.repeat(7), `two words ${'m'.repeat(32)}`, 'ü'.repeat(40)])
      assert.throws(() => readConfig({ BERTH_METRICS_TOKEN: text }), /BERTH_METRICS_TOKEN/, text);
  });

  it('the configuration refuses a variable that does not exist', () => {
    assert.throws(() => readConfig({ BERTH_PROT: '1' }), /BERTH_PROT: unknown variable/);
  });

  it('the configuration ignores the variables of clients on the same machine', () => {
    assert.equal(readConfig({ BERTH_API_KEY: 'brt_live_x', BERTH_URL: 'http://127.0.0.1:8080' }).port, 8080);
  });

  it('the configuration prefers what the command line says', () => {
    assert.equal(readConfig({ BERTH_PORT: '8081' }, { BERTH_PORT: '9090' }).port, 9090);
    assert.throws(() => readConfig({}, { BERTH_PORT: 'http' }), /BERTH_PORT: must be an integer/);
  });

  it('the configuration takes an empty variable for one that is not set', () => {
    assert.equal(readConfig({ BERTH_PORT: '' }).port, 8080);
  });

  it('the configuration describes every variable once, in full sentences', () => {
    const described = Object.values(variableGroups).flatMap((group) => Object.entries(group));
    for (const [name, { description }] of described) assert.match(description, /^[A-Z`].*\.$/, name);
    assert.equal(new Set(described.map(([name]) => name)).size, described.length);
  });
});

describe('the configuration of traces', () => {
  it('the configuration of traces has the names and the forms of OpenTelemetry, and is off by default', () => {
    assert.equal(readConfig({}).otelExporterOtlpEndpoint, null);
    const config = readConfig({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b=c, x-other = 1',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      // Of other signals and languages.
      OTEL_METRICS_EXPORTER: 'none',
    });
    assert.deepEqual(config.otelExporterOtlpHeaders, { 'x-key': 'a b=c', 'x-other': '1' });
    assert.deepEqual([config.otelServiceName, config.otelTracesSamplerArg], ['berth', 0.25]);
  });

  it('an invalid configuration of traces is refused with the name of the variable, without repeating a secret', () => {
    for (const wrong of ['hush-header', 'x-key=hush-%zz', '=hush', 'x y=hush'])
      assert.throws(
        () => readConfig({ OTEL_EXPORTER_OTLP_HEADERS: wrong }),
        (error) =>
          error instanceof ConfigError && /OTEL_EXPORTER_OTLP_HEADERS: must be/.test(error.message) && !error.message.includes('hush'),
        wrong,
      );
    for (const share of ['2', '-1', 'all']) assert.throws(() => readConfig({ OTEL_TRACES_SAMPLER_ARG: share }), /OTEL_TRACES_SAMPLER_ARG/);
  });
});
