import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { find, idCommands, pageCommands, sessionCommands, shownMax, snippetsFor } from './commands.ts';

const visited: string[] = [];
const go = (path: string): void => void visited.push(path);

describe('commands', () => {
  it('palette commands lead to pages, but not to those whose address has a parameter', () => {
    const commands = pageCommands(
      [
        { path: '/usage', title: 'Usage', icon: 'chart' },
        { path: '/sessions/:session_id', title: 'Session', icon: 'window' },
      ],
      go,
    );
    assert.deepEqual(
      commands.map(({ title }) => title),
      ['Usage'],
    );
    void commands[0]?.run();
    assert.deepEqual(visited, ['/usage']);
  });

  it('palette commands find a session by its name, its title and its id', () => {
    const sessions = [
      { session_id: 'ses_aaaaaaaaaaaaaaaaaaaaaaaa', name: 'checkout', title: 'Shop', status: 'ready' as const },
      { session_id: 'ses_bbbbbbbbbbbbbbbbbbbbbbbb', name: null, title: 'Example Domain', status: 'ended' as const },
    ];
    const commands = sessionCommands(sessions, go);
    const first = (query: string): string | undefined => find(commands, query)[0]?.command.id;
    assert.equal(first('check'), 'session:ses_aaaaaaaaaaaaaaaaaaaaaaaa');
    assert.equal(first('example'), 'session:ses_bbbbbbbbbbbbbbbbbbbbbbbb');
    assert.equal(first('ses_bbbb'), 'session:ses_bbbbbbbbbbbbbbbbbbbbbbbb');
  });

  it('palette commands lead to a session whose id was pasted, and to nothing else that was pasted', () => {
    assert.equal(idCommands(' ses_aaaaaaaaaaaaaaaaaaaaaaaa ', go).length, 1);
    for (const query of ['ses_', 'job_aaaaaaaaaaaaaaaaaaaaaaaa', '../admin', 'ses_aaaaaaaaaaaaaaaaaaaaaaa/'])
      assert.deepEqual(idCommands(query, go), []);
  });

  it('palette commands are at most a screenful', () => {
    const many = Array.from({ length: 500 }, (_, n) => ({ id: String(n), title: `Command ${n}`, icon: 'list' as const, run: () => {} }));
    assert.equal(find(many, 'command').length, shownMax);
  });
});

describe('snippets', () => {
  it('palette snippets have this service’s address, also behind TLS, and no key', () => {
    const texts = snippetsFor('https://berth.example').map(({ text }) => text);
    assert.ok(texts.some((text) => text.includes(`'wss://berth.example/v1/connect'`)));
    assert.ok(texts.every((text) => text.includes('berth.example') && !text.includes('brt_')));
  });
});
