import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { yardsticksOf } from '../../../../../tests/yardstick.ts';
import { readScript, textOfLiteral } from './script.ts';

const read = (text: string) => {
  const { literals, json } = readScript(text);
  const texts = (of: typeof json): string[] => of.map(({ start, end }) => text.slice(start, end));
  return { literals: texts(literals), json: texts(json) };
};
const literalsOf = (text: string): string[] => read(text).literals;

describe('the literals of a script', () => {
  it('the literals of a script are its strings and templates, without their quotes', () => {
    assert.deepEqual(literalsOf(`a = 'one'; b = "t'wo"; c = \`three\`; d = ""`), ['one', `t'wo`, 'three']);
    assert.deepEqual(literalsOf(String.raw`a = "x\"y" + 'it\'s'`), [String.raw`x\"y`, String.raw`it\'s`]);
  });

  it('the literals of a script are the parts of a template between its expressions, which may have literals', () => {
    assert.deepEqual(literalsOf('f(`/a?b=${c({ d: "e" })}&g=${`h`}.`)'), ['/a?b=', 'e', '&g=', 'h', '.']);
  });

  it('the literals of a script are not confused by quotes in comments and in regular expressions', () => {
    assert.deepEqual(literalsOf(`// don't\na = /["'/]/g; b = "x" /* " */; return /'/.test('y')`), ['x', 'y']);
    assert.deepEqual(literalsOf(`a = b / c; d = "x"; e = f(1) / 2 + '/'`), ['x', '/']);
  });

  it('the literals of a script go on after a stray quote, at the next line', () => {
    assert.deepEqual(literalsOf(`it's broken\na = "x"`).at(-1), 'x');
  });

  it('the literals of a script are decoded as a script reads them', () => {
    assert.equal(textOfLiteral(String.raw`a\x3d1\u0026b\u{3D}\n\'\q`), "a=1&b=\n'q");
  });
});

describe('the JSON of a script', () => {
  it('the JSON of a script is the outermost object or list that holds nothing else, and its strings are no literals', () => {
    const text = `window.state = {"user": {"name": "ann", "age": -1.5e3}, "tags": ["a", null, true]}; f('x')`;
    assert.deepEqual(read(text), {
      json: [`{"user": {"name": "ann", "age": -1.5e3}, "tags": ["a", null, true]}`],
      literals: ['x'],
    });
  });

  it('the JSON of a script is found inside an object of a program', () => {
    const text = `send({method: "POST", headers: {"a": "some text"}, list: ["b", "more"], f() { return {"c": "the rest"} }, last: x})`;
    assert.deepEqual(read(text), { json: ['{"a": "some text"}', '["b", "more"]', '{"c": "the rest"}'], literals: ['POST'] });
  });

  it('an object or list of a script that only begins like JSON is not JSON', () => {
    assert.deepEqual(read(`x = {"a": "one text", b}; y = ["some", "text" + z]`), { json: [], literals: ['a', 'one text', 'some', 'text'] });
  });
});

describe('readScript, of a script that is made to be slow', () => {
  const chars = 400_000;
  const hostile = [`"`, `'\\`, '`${', '`', '/[', '(/[', '/*', '{"a":', '[[', ']}', '{"a":[', `return /`, `a\n/`, `{"a":1,"b":x}`, '\\'];
  for (const part of hostile)
    it(`readScript takes time in proportion to the length of a hostile script: ${JSON.stringify(part)}`, async () => {
      const text = part.repeat(Math.ceil(chars / part.length));
      assert.ok((await yardsticksOf(() => void readScript(text), { tries: 3 })) < 20, part);
    });
});
