/** The flow `llm_task` with a real browser, and a stand-in of a language model that follows a script. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readBody } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { listTasks, runAgent, type AgentResponse } from '@berth/contract';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const apiKey = 'sk-stand-in-0123456789';
const secret = 'correct horse battery';

interface Question {
  authorization: string | undefined;
  model: string;
  prompt: string;
}

describe('llm_task', () => {
  /** What the model replies next, by what it sees. */
  let answer: (prompt: string, turn: number) => unknown = () => ({ failed: 'no script' });
  let questions: Question[] = [];
  let status = 200;
  let site: Site;
  let service: Service;
  const model = createServer((request, response) => void reply(request, response));
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { model: name, messages } = JSON.parse(await readBody(request)) as { model: string; messages: { content: string }[] };
    const prompt = messages.at(-1)?.content ?? '';
    questions.push({ authorization: request.headers.authorization, model: name, prompt });
    const content = JSON.stringify(answer(prompt, questions.length));
    const body = { choices: [{ message: { role: 'assistant', content } }], usage: { total_tokens: 600 } };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(status === 200 ? body : { error: apiKey }));
  };
  before(async () => {
    const form = page(
      'Greeting',
      `<label>Name <input id="name"></label><button onclick="document.querySelector('output').textContent = 'Hello, ' + document.querySelector('#name').value.length + ' letters'">Greet</button><output></output>`,
    );
    site = await startSite({ pages: { '/greet': form } });
    await new Promise<void>((resolve) => void model.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1/`;
    const environment = { BERTH_LLM_URL: url, BERTH_LLM_MODEL: 'stand-in', BERTH_LLM_API_KEY: apiKey, BERTH_EGRESS_ALLOW: site.host };
    service = await Service.start({ environment });
  });
  after(async () => {
    await service.close();
    await site.close();
    model.closeAllConnections();
    await new Promise((resolve) => model.close(resolve));
  });

  const run = async (script: typeof answer, inputs: object = {}): Promise<AgentResponse> => {
    [answer, questions] = [script, []];
    const body = { task: 'llm_task', inputs: { url: `${site.url}/greet`, goal: 'Greet, and return the greeting.', ...inputs } };
    const { status: code, body: result, text } = await service.client.call(runAgent, { body });
    assert.equal(code, 200, text);
    assert.ok(!text.includes(apiKey) && !service.errors.includes(apiKey) && !service.output.includes(apiKey), 'no key');
    return result;
  };
  const refOf = (prompt: string, line: RegExp): string => new RegExp(`${line.source}.*\\[ref=(\\w+)\\]`).exec(prompt)?.[1] ?? '';

  it('llm_task is listed, and works step by step until the goal is reached', async () => {
    assert.ok((await service.client.call(listTasks)).body.some(({ name }) => name === 'llm_task'));
    const script = (prompt: string, turn: number): unknown => {
      if (turn === 1) return { step: { type: 'fill', ref: refOf(prompt, /textbox "Name"/), value: '{{secret.name}}' } };
      if (turn === 2) return { step: { type: 'click', ref: refOf(prompt, /button "Greet"/) } };
      return { done: { greeting: /Hello, \d+ letters/.exec(prompt)?.[0] } };
    };
    const { status: result, output, steps, error } = await run(script, { secrets: { name: secret } });
    assert.deepEqual(
      [result, output, error],
      ['ok', { result: { greeting: `Hello, ${secret.length} letters` }, turns: 3, tokens: 1800, final_url: `${site.url}/greet` }, null],
    );
    assert.deepEqual(
      steps.map(({ type }) => type),
      ['navigate', 'ask_model', 'fill', 'ask_model', 'click', 'ask_model'],
    );
    for (const { authorization, model: name, prompt } of questions) {
      assert.deepEqual([authorization, name], [`Bearer ${apiKey}`, 'stand-in']);
      assert.ok(!prompt.includes(secret), prompt);
    }
  });

  it('llm_task runs nothing that a visitor could not do, and says so to the model', async () => {
    const refused = [
      { step: { type: 'evaluate', expression: '1' } },
      { step: { type: 'click', ref: 'e999' } },
      { step: { type: 'fill', selectors: ['#name'], value: '{{secret.name}}' } },
      'nonsense',
    ];
    const script = (prompt: string, turn: number): unknown =>
      refused[turn - 1] ??
      (turn === refused.length + 1
        ? { step: { type: 'click', ref: refOf(prompt, /button "Greet"/) } }
        : { done: /Hello, \d+ letters/.exec(prompt)?.[0] });
    const { status: result, steps, output } = await run(script, { secrets: { name: secret } });
    assert.equal(result, 'ok');
    assert.deepEqual([...new Set(steps.map(({ type }) => type))], ['navigate', 'ask_model', 'fill', 'click']);
    assert.match(questions.at(-1)?.prompt ?? '', /There is no element e999/);
    // Without a reference the secret stays a text.
    assert.equal((output as { result: string }).result, `Hello, ${'{{secret.name}}'.length} letters`);
  });

  it('llm_task ends within its budget, and when the model gives up or fails', async () => {
    const again = () => ({ step: { type: 'scroll' } });
    assert.equal((await run(again, { max_turns: 2 })).error?.code, 'limit_reached');
    assert.equal(questions.length, 2);
    assert.equal((await run(again, { max_tokens: 1000 })).error?.code, 'limit_reached');
    assert.equal((await run(() => ({ failed: 'no such form' }))).error?.code, 'goal_not_reached');
    status = 500;
    const { error } = await run(again);
    assert.deepEqual([error?.code, error?.retryable], ['llm_failed', true]);
  });
});
