import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { listTemplates } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/templates lists the templates with their steps, and examples that match their schemas', async () => {
    const { body: templates } = await served.call(listTemplates);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, steps, inputs, output, example, recording, playwright } of templates) {
      assert.ok(
        steps.length > 0 && steps.every(({ type, description }) => typeof type === 'string' && typeof description === 'string'),
        name,
      );
      const validate = ajv.compile(inputs);
      assert.ok(validate(example), `${name}: ${ajv.errorsText(validate.errors)}`);
      ajv.compile(output);
      assert.deepEqual([recording, playwright], [null, null]);
    }
  });

  it('GET /v1/templates exports the steps as recordings', async () => {
    const { body: recorded } = await served.call(listTemplates, { query: { format: 'recorder' } });
    for (const { recording, name, steps } of recorded)
      if (steps.some(({ type }) => type === 'call')) assert.equal(recording, null, name);
      else assert.ok(JSON.stringify(recording).includes('"navigate"'), name);
  });
});

describe('422', () => {
  it('GET /v1/templates refuses an unknown format with 422', async () => {
    const issues = await served.issues(listTemplates, { query: { format: 'selenium' } });
    assert.deepEqual(
      issues.map(({ loc, type }) => [loc, type]),
      [[['query', 'format'], 'literal_error']],
    );
  });
});
