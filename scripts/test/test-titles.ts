/** What a test file declares, read from its syntax and not by running it. */
import ts from 'typescript';

export interface TestTitles {
  /** The titles of its outermost suites. */
  suites: string[];
  /** The titles of its tests, as far as they are literals. */
  tests: string[];
  /** The texts of all its string literals, and of the parts of its templates. */
  literals: string[];
}

export function readTestTitles(text: string): TestTitles {
  const titles: TestTitles = { suites: [], tests: [], literals: [] };
  const visit = (node: ts.Node, isInSuite: boolean): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) titles.literals.push(node.text);
    const call = ts.isCallExpression(node) && ts.isIdentifier(node.expression) ? node : undefined;
    const name = call?.expression.getText(file);
    const title = call?.arguments[0];
    if (title && ts.isStringLiteralLike(title)) {
      if (name === 'describe' && !isInSuite) titles.suites.push(title.text);
      if (name === 'it' || name === 'test') titles.tests.push(title.text);
    }
    ts.forEachChild(node, (child) => visit(child, isInSuite || name === 'describe'));
  };
  const file = ts.createSourceFile('a.test.ts', text, ts.ScriptTarget.Latest);
  visit(file, false);
  return titles;
}
