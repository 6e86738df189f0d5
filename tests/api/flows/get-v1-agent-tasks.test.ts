import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { listTasks } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/agent/tasks lists the flows, whose examples match their own schemas', async () => {
    const { body: tasks } = await served.call(listTasks);
    assert.ok(tasks.length >= 10);
    assert.ok(!tasks.some(({ name }) => name === 'llm_task'), 'no language model is configured');
    assert.equal(new Set(tasks.map(({ name }) => name)).size, tasks.length);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, title, description, version, inputs, output, example } of tasks) {
      assert.match(name, /^[a-z]+(_[a-z]+)*$/);
      assert.ok(title.length > 3 && description.endsWith('.') && /^\d+$/.test(version), name);
      const validate = ajv.compile(inputs);
      assert.ok(validate(example), `${name}: ${ajv.errorsText(validate.errors)}`);
      assert.equal(validate({ ...example, no_such_input: 1 }), false, name);
      ajv.compile(output);
    }
  });

  it('GET /v1/agent/tasks marks secrets as write-only', async () => {
    const { body: tasks } = await served.call(listTasks);
    const custom = tasks.find(({ name }) => name === 'custom');
    assert.match(JSON.stringify(custom?.inputs), /"writeOnly":true/);
  });
});
