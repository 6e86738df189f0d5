/** Texts of robots.txt, each as long as one may be, and paths that make their rules work. */
import { fill, kilobytes } from './fill.ts';

const rulesFor = (agent: string, text: string): string => `User-agent: ${agent}\n${text}`;

const texts: Record<string, string> = {
  'one rule of wildcards': rulesFor('*', `Disallow: /${fill('*', 510 * kilobytes)}x`),
  'many agents, many rules': `${Array.from({ length: 14_000 }, (_, i) => `User-agent: a${i}`).join('\n')}\nUser-agent: *\n${fill('Disallow: /a\n', 300 * kilobytes)}`,
  'wildcard rules that nearly match': rulesFor('*', fill(`Disallow: /*${'a'.repeat(500)}b\n`, 500 * kilobytes)),
  'long wildcard rules that nearly match': rulesFor('*', fill(`Disallow: /*${'a'.repeat(2000)}b\n`, 500 * kilobytes)),
  'words that nearly match from behind': rulesFor('*', fill(`Disallow: /*b${'a'.repeat(300)}\n`, 500 * kilobytes)),
  'alternating wildcards': rulesFor('*', fill(`Disallow: /${'*a'.repeat(1000)}b\n`, 500 * kilobytes)),
  'short rules': rulesFor('*', fill('Allow:/*b\n', 500 * kilobytes)),
  'short prefixes': rulesFor('*', fill('Allow:/b\n', 500 * kilobytes)),
  escapes: rulesFor('*', fill(`Disallow: /${'%41'.repeat(600)}\n`, 500 * kilobytes)),
  'letters of other scripts': rulesFor('*', fill(`Disallow: /${'é'.repeat(1000)}\n`, 500 * kilobytes)),
  'line ends': fill('\r\n', 500 * kilobytes),
  colons: fill(':', 500 * kilobytes),
  'white space': fill(`${' '.repeat(2000)}:\n`, 500 * kilobytes),
  groups: fill('User-agent: *\nAllow: /\n', 500 * kilobytes),
};
const paths: readonly string[] = [`/${'a'.repeat(8000)}`, `/${'%41'.repeat(2600)}`, `/${'é'.repeat(1300)}`];

export const hostileRobots = { texts, paths };
