import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commands } from './commands.ts';
import { readSkill, skillFolders } from './commands/installation/skills.ts';

const skill = readSkill();
/** Each command line of the skill, in a block or in a sentence. */
const lines = [
  ...Array.from(skill.matchAll(/^```sh\n([^]*?)^```/gm), ([, block = '']) => block.trimEnd().split('\n')).flat(),
  ...Array.from(skill.matchAll(/`(berth [^`]+)`/g), ([, line = '']) => line),
].filter((line) => !line.includes('COMMAND'));
const everywhere = ['--session', '--json', '--plain', '--help'];

describe('the skill for coding agents', () => {
  it('names itself and says when it is of use, as agents read it', () => {
    const [, head = ''] = /^---\n([^]*?)\n---\n/.exec(skill) ?? [];
    assert.match(head, /^name: berth$/m);
    const [, description = ''] = /^description: (.+)$/m.exec(head) ?? [];
    assert.ok(description.length > 80 && description.length <= 1024, description);
    // It is read whole into the conversation.
    assert.ok(skill.length < 6000, `${skill.length} characters`);
  });

  it('has command lines', () => assert.ok(lines.length > 20, String(lines.length)));

  for (const line of lines)
    it(`has a command that the program knows: ${line}`, () => {
      // A command within quotes is one of `batch`.
      const [, name = '', rest = ''] = /^berth ([a-z-]+)(.*)$/.exec(line) ?? [];
      const command = commands.find((each) => each.name === name || each.aliases?.includes(name)) ?? assert.fail(name);
      const known = [...everywhere, ...(command.options ?? []).flatMap(([flags]) => flags.match(/--[a-z-]+/g) ?? [])];
      for (const [flag] of rest.replaceAll(/"[^"]*"/g, '').matchAll(/--[a-z-]+/g)) assert.ok(known.includes(flag), flag);
      for (const [, word = ''] of name === 'batch' ? rest.matchAll(/"([a-z]+)/g) : [])
        assert.ok(
          commands.some((each) => each.name === word),
          word,
        );
    });

  it('is installed for the agents that the help names', () => {
    const { options = [] } = commands.find(({ name }) => name === 'skills') ?? assert.fail('there is no such command');
    const [, text = ''] = options.find(([flags]) => flags.startsWith('--target')) ?? [];
    assert.deepEqual(text.slice(0, -1).split(/, | or /), Object.keys(skillFolders));
  });
});
