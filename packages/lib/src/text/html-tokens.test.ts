import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readTokens, type SourceText, type StartTag, type TokenOptions } from './html-tokens.ts';

function tokensOf(source: string, options: TokenOptions = {}) {
  const tags: StartTag[] = [];
  const texts: SourceText[] = [];
  const ends: string[] = [];
  readTokens(source, { start: (tag) => tags.push(tag), end: (name) => ends.push(name), text: (text) => texts.push(text) }, options);
  const attributes = tags.map(({ attributes: of }) => [...of].map(([name, { value }]) => `${name}=${value}`).join(' '));
  return { tags, texts, ends, attributes, values: texts.map(({ value }) => value) };
}

describe('readTokens', () => {
  it('readTokens decodes texts and attributes, and says where they stand', () => {
    const source = '<p title="M&uuml;ller &amp; Co">R&amp;D &#x1f600;</p>';
    const { tags, texts } = tokensOf(source);
    const title = tags[0]?.attributes.get('title') ?? assert.fail();
    assert.deepEqual([title.value, source.slice(title.start, title.end)], ['Müller & Co', 'M&uuml;ller &amp; Co']);
    const [text = assert.fail()] = texts;
    assert.deepEqual([text.value, source.slice(text.start, text.end)], ['R&D 😀', 'R&amp;D &#x1f600;']);
  });

  it('readTokens reads an attribute in any quotes or none, and the first of several with a value', () => {
    const { attributes } = tokensOf(`<a A="1" b='2' c=3 d e = "5" b=9 d=4 e></a><br/>`);
    assert.deepEqual(attributes, ['a=1 b=2 c=3 d=4 e=5', '']);
    assert.deepEqual(tokensOf('<a b=1 c=2 d=3 b=4>', { attributesMax: 2 }).attributes, ['b=1 c=2']);
  });

  it('readTokens takes scripts, styles, titles and text areas as text up to their end', () => {
    const { values, ends } = tokensOf('<script>if (a < b) "<b>"</script><title><b>x</b></title><textarea><i></textarea><style><p></style>');
    assert.deepEqual(values, ['if (a < b) "<b>"', '<b>x</b>', '<i>', '<p>']);
    assert.deepEqual(ends, ['script', 'title', 'textarea', 'style']);
  });

  it('readTokens separates texts at tags and comments', () => {
    assert.deepEqual(tokensOf('a<!-- x -->b<br>c<?php d ?>e').values, ['a', 'b', 'c', 'e']);
  });

  it('readTokens keeps the case of names and reads CDATA in XML', () => {
    const { tags, values } = tokensOf('<s:Key A="1"/><Value><![CDATA[a<b]]></Value>', { isXml: true });
    assert.deepEqual(
      tags.map(({ name, isClosed }) => [name, isClosed]),
      [
        ['s:Key', true],
        ['Value', false],
      ],
    );
    assert.deepEqual(values, ['a<b']);
  });

  it('readTokens reads what is cut or broken without an error', () => {
    for (const source of ['<', '<a', '<a b', '<a b="', '<!--', '&', '&#', '</', '</a', '<a b="x', '<![CDATA[', '\ud800<a \ud800>'])
      tokensOf(source);
  });

  it('readTokens bounds a text of many pieces, and its work by the length of the source', () => {
    const { values } = tokensOf(`<p>${'a&amp;'.repeat(400_000)}</p>`);
    assert.ok(values.every(({ length }) => length < 210_000));
    assert.equal(tokensOf('<a '.repeat(200_000)).tags.length <= 200_000, true);
  });
});
