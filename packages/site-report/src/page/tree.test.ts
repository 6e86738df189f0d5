import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { yardsticksOf } from '../../../../tests/yardstick.ts';
import { selectorOf } from './selector.ts';
import { PageTree, pageTreeLimits, sourceOf, textCharsOf, textOf } from './tree.ts';

const only = (tree: PageTree, name: string) => {
  const [element, ...others] = tree.named(name);
  assert.ok(element && others.length === 0, name);
  return element;
};

describe('the elements of a page', () => {
  it('the elements of a page have their attributes with entities decoded, their parent and their text', () => {
    const tree = new PageTree('<form action="/a?b=1&amp;c=2"><label>Your <b>name</b></label><input name=q disabled></form><p>x');
    const form = only(tree, 'form');
    assert.equal(form.attributes.get('action'), '/a?b=1&c=2');
    assert.equal(only(tree, 'input').parent, form);
    assert.equal(only(tree, 'input').attributes.get('disabled'), '');
    assert.equal(textOf(form), 'Your name');
    assert.equal(only(tree, 'p').parent, null);
  });

  it('the elements of a page have the words of their texts whole, whatever letters are entities', () => {
    const tree = new PageTree('<p>M&uuml;ller &amp; S&#246;hne<b>R&amp;D</b></p><h1>a<!-- b -->c</h1>');
    assert.equal(textOf(only(tree, 'p')), 'Müller & Söhne R&D');
    assert.equal(textOf(only(tree, 'h1')), 'a c');
  });

  it('the elements of a page are read from raw HTML without end tags', () => {
    const tree = new PageTree('<ul><li>a<li>b<li>c</ul></div></div><p>d<p>e');
    assert.deepEqual(
      tree.named('li').map(({ parent }) => parent?.name),
      ['ul', 'ul', 'ul'],
    );
    assert.equal(tree.named('p').length, 2);
  });

  it('the scripts of a page are kept as they stand, and their text is not visible', () => {
    const tree = new PageTree('<body>abc<script>if (a < b) "</div>"</script><style>p{}</style> def</body>');
    assert.equal(sourceOf(only(tree, 'script')), 'if (a < b) "</div>"');
    assert.equal(textCharsOf(tree), 6);
  });

  it('the elements of a page are bounded and read in linear time, whatever the page is', async () => {
    const hostile = {
      deep: '<div>'.repeat(100_000),
      'many attributes': `<a ${Array.from({ length: 100_000 }, (_, i) => `a${i}=1`).join(' ')}>`,
      'end tags without a start': '<b>'.repeat(60_000) + '</i>'.repeat(60_000),
      siblings: '<li>x'.repeat(100_000),
      'unfinished tag': `<a href="${'x'.repeat(1_000_000)}`,
      entities: '&lt;'.repeat(200_000),
    };
    for (const [name, html] of Object.entries(hostile)) {
      const yardsticks = await yardsticksOf(() => {
        const tree = new PageTree(html);
        for (const element of tree.elements.slice(0, 5)) selectorOf(element, tree);
        assert.ok(tree.elements.length <= pageTreeLimits.elements, name);
      });
      assert.ok(yardsticks < 500, `${name} took ${yardsticks} yardsticks`);
    }
  });
});

describe('a selector', () => {
  const selectors = (html: string, name: string): string[] => {
    const tree = new PageTree(html);
    return tree.named(name).map((element) => selectorOf(element, tree));
  };

  it('a selector is an id, a test id or a name where that is unique', () => {
    assert.deepEqual(selectors('<input id="email"><input data-testid="pass"><input name="otp">', 'input'), [
      '#email',
      'input[data-testid="pass"]',
      'input[name="otp"]',
    ]);
  });

  it('a selector is a short path where no id is unique, and no id that a framework made', () => {
    assert.deepEqual(selectors('<main id="app"><p><i></i></p><p><i id=":r1:"></i></p></main>', 'i'), [
      '#app > p:nth-of-type(1) > i',
      '#app > p:nth-of-type(2) > i',
    ]);
  });

  it('a selector quotes what a page writes into its attributes', () => {
    assert.deepEqual(selectors(`<input name='a"]{}\\'>`, 'input'), ['input[name="a\\"]{}\\\\"]']);
  });
});
