import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { liveViewBounds, type LiveViewCommand } from '@berth/contract/live-view';
import { clampPageSize, parseCommand } from './live-view-commands.ts';

const mouse: LiveViewCommand = { type: 'mouse', action: 'down', x: 10.5, y: -3, button: 'left', buttons: 1, clicks: 1, modifiers: 8 };
const key: LiveViewCommand = { type: 'key', action: 'down', key: 'a', code: 'KeyA', modifiers: 0, repeat: false, location: 0 };
const commands: LiveViewCommand[] = [
  { type: 'ack', seq: 4_294_967_295 },
  { type: 'fit', width: 390.5, height: 700 },
  mouse,
  { type: 'wheel', x: 1, y: 2, dx: 0, dy: -120.5, modifiers: 0 },
  key,
  { ...key, key: 'Dead', code: '' },
  { type: 'text', text: '日本語 🙂' },
  { type: 'compose', text: '', start: 0, end: 0 },
  { type: 'copy' },
  { type: 'tab', action: 'open' },
  { type: 'tab', action: 'activate', tab_id: 'T1' },
  { type: 'tab', action: 'close', tab_id: 'T1' },
  { type: 'navigate', to: 'url', url: 'http://site.test/' },
  { type: 'navigate', to: 'back' },
  { type: 'resize', width: 800, height: 600 },
];

const read = (value: unknown, isBinary = false) =>
  parseCommand(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), isBinary);

describe('a command of a viewer', () => {
  for (const command of commands)
    it(`a command of a viewer is read as it was sent: ${JSON.stringify(command)}`, () => assert.deepEqual(read(command), command));

  const wrong: [why: string, value: unknown][] = [
    ['no JSON', '{"type":"copy"'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', []],
    ['an unknown type', { type: 'evaluate', text: '1' }],
    ['a word too many', { type: 'copy', tab_id: 'T1' }],
    ['a word too few', { type: 'tab', action: 'close' }],
    ['an address where none belongs', { type: 'navigate', to: 'back', url: 'http://site.test/' }],
    ['no address where one belongs', { type: 'navigate', to: 'url' }],
    ['an acknowledgement of no number', { type: 'ack', seq: -1 }],
    ['half an acknowledgement', { type: 'ack', seq: 1.5 }],
    ['no room at all', { type: 'fit', width: 0, height: 100 }],
    ['a place that is none', '{"type":"wheel","x":1e999,"y":0,"dx":0,"dy":0,"modifiers":0}'],
    ['a button that is none', { ...mouse, button: 'fourth' }],
    ['modifiers that are none', { ...mouse, modifiers: 16 }],
    ['a key that is longer than any', { ...key, key: 'x'.repeat(liveViewBounds.keyChars + 1) }],
    ['a text that is too long', { type: 'text', text: 'x'.repeat(liveViewBounds.textChars + 1) }],
    ['an address that is too long', { type: 'navigate', to: 'url', url: 'x'.repeat(liveViewBounds.urlChars + 1) }],
    ['more than a command may be', JSON.stringify({ type: 'copy' }) + ' '.repeat(liveViewBounds.commandBytes)],
    ['a prototype', '{"type":"copy","__proto__":{"x":1}}'],
  ];
  for (const [why, value] of wrong) it(`a command of a viewer is refused for ${why}`, () => assert.equal(read(value), null));

  it('a command of a viewer is refused as a binary message', () => assert.equal(read({ type: 'copy' }, true), null));
});

describe('the size that a page is given', () => {
  it('the size that a viewer gives a page is a whole one, within the limits of a page', () => {
    assert.deepEqual(clampPageSize({ width: 800.4, height: 600.6 }), { width: 800, height: 601 });
    assert.deepEqual(clampPageSize({ width: 1, height: 1 }), { width: 320, height: 240 });
    assert.deepEqual(clampPageSize({ width: 100_000, height: 100_000 }), { width: 3840, height: 2160 });
  });
});
