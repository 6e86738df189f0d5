import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { StandIn, type ScriptedReply } from '../testing/stand-in.ts';
import { sessionTools, toAnthropic, toOpenAI, type AnthropicComputerInput, type OpenAIComputerAction } from './ai.ts';
import { Berth, type Session } from './sdk.ts';

let service: StandIn;
before(async () => (service = await StandIn.start()));
after(() => service.stop());

function session(...replies: ScriptedReply[]): Session {
  service.script(replies);
  return new Berth({ baseUrl: service.url, apiKey: 'test-key' }).session('ses_1');
}
const screenshot = { content_type: 'image/png', width: 1024, height: 576, data_base64: 'UE5H' };
const done = (fields: object = {}): ScriptedReply => ({
  body: { status: 'ok', results: [], events: [], warnings: [], screenshot, ...fields },
});
/** The last action that was sent. */
const sent = (): unknown => {
  const { actions } = JSON.parse(service.requests.at(-1)?.body.toString() ?? '') as { actions: unknown[] };
  return actions.at(-1);
};

const anthropicActions: [AnthropicComputerInput, object][] = [
  [
    { action: 'right_click', coordinate: [3, 4], text: 'ctrl+shift' },
    { type: 'click', x: 3, y: 4, button: 'right', modifiers: ['Control', 'Shift'] },
  ],
  [
    { action: 'triple_click', coordinate: [3, 4] },
    { type: 'triple_click', x: 3, y: 4, modifiers: [] },
  ],
  [
    { action: 'left_click_drag', start_coordinate: [1, 2], coordinate: [3, 4] },
    {
      type: 'drag',
      path: [
        { x: 1, y: 2 },
        { x: 3, y: 4 },
      ],
      modifiers: [],
    },
  ],
  [
    { action: 'scroll', coordinate: [1, 2], scroll_direction: 'up', scroll_amount: 3 },
    { type: 'scroll', x: 1, y: 2, dx: 0, dy: -300, modifiers: [] },
  ],
  [
    { action: 'hold_key', text: 'space', duration: 2 },
    { type: 'key', keys: 'space', hold_ms: 2000 },
  ],
  [
    { action: 'wait', duration: 2 },
    { type: 'wait', ms: 2000 },
  ],
];
for (const [input, expected] of anthropicActions)
  test(`Anthropic’s ${input.action} is done`, async () => {
    const computer = await toAnthropic(session(done(), done()));
    const content = await computer.run(input);
    assert.deepEqual(sent(), expected);
    assert.deepEqual(content, [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'UE5H' } }]);
  });

const openaiActions: [OpenAIComputerAction, object][] = [
  [
    { type: 'click', x: 3, y: 4, button: 'wheel' },
    { type: 'click', x: 3, y: 4, button: 'middle', modifiers: [] },
  ],
  [
    { type: 'scroll', x: 3, y: 4, scroll_x: 5, scroll_y: -6, keys: null },
    { type: 'scroll', x: 3, y: 4, dx: 5, dy: -6, modifiers: [] },
  ],
  [
    { type: 'keypress', keys: ['CTRL', 'A'] },
    { type: 'key', keys: 'CTRL+A' },
  ],
  [
    {
      type: 'drag',
      path: [
        { x: 1, y: 2 },
        { x: 3, y: 4 },
      ],
    },
    {
      type: 'drag',
      path: [
        { x: 1, y: 2 },
        { x: 3, y: 4 },
      ],
      modifiers: [],
    },
  ],
];
for (const [action, expected] of openaiActions)
  test(`OpenAI’s ${action.type} is done`, async () => {
    const computer = await toOpenAI(session(done(), done()));
    assert.deepEqual(await computer.run(action), { type: 'computer_screenshot', image_url: 'data:image/png;base64,UE5H' });
    assert.deepEqual(sent(), expected);
  });

test('the size of the display is that of the screenshots', async () => {
  const { tool } = await toAnthropic(session(done()));
  assert.deepEqual([tool.display_width_px, tool.display_height_px], [1024, 576]);
});

test('an action that failed is told to the model, and rejects where only a picture can be told', async () => {
  const failed = done({ status: 'error', results: [{ error: { code: 'out_of_bounds', message: 'Outside.' }, cursor: null }] });
  const [text] = await (await toAnthropic(session(done(), failed))).run({ action: 'left_click', coordinate: [9999, 1] });
  assert.deepEqual(text, { type: 'text', text: 'out_of_bounds: Outside.' });
  await assert.rejects((await toOpenAI(session(done(), failed))).run({ type: 'click', x: 9999, y: 1 }), /out_of_bounds/);
});

test('an action that the computer does not have is refused before anything is sent', async () => {
  const computer = await toAnthropic(session(done()));
  await assert.rejects(computer.run({ action: 'zoom' }), /no action zoom/);
  assert.equal(service.requests.length, 1);
});

test('a tool tells the model what went wrong, and a long page in parts', async () => {
  const reply = {
    status: 404,
    headers: { 'x-should-retry': 'false' },
    body: { error: { code: 'session_not_found', message: 'No such session.' } },
  };
  assert.equal(await sessionTools(session(reply)).open.execute({ url: 'https://example.com/' }), 'error: No such session.');
  const long = { body: { content: 'a'.repeat(12_005) } };
  assert.match(await sessionTools(session(long)).read.execute({}), /a\n\[5 characters follow: read with offset 12000\]$/);
  assert.equal(await sessionTools(session(long)).read.execute({ offset: 12_000 }), 'aaaaa');
});
