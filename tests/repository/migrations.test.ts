import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loadModule } from 'libpg-query';
import { findProblems, problemsOfMigration } from '../../scripts/checks/migrations.ts';

const problems = (text: string, name = '0020-some.sql'): string[] => problemsOfMigration(name, text, ['0001', '0019']);

describe('a migration', () => {
  before(() => loadModule());

  const breaking: Readonly<Record<string, RegExp>> = {
    'ALTER TABLE sessions DROP COLUMN name': /reads the column/,
    'ALTER TABLE sessions ADD COLUMN a int, DROP COLUMN name': /reads the column/,
    'ALTER TABLE sessions RENAME COLUMN name TO title': /former name/,
    'ALTER TABLE sessions RENAME TO visits': /former name/,
    'ALTER TABLE sessions ADD COLUMN note text NOT NULL': /no default/,
    'ALTER TABLE sessions ALTER COLUMN note SET NOT NULL': /write null/,
    'ALTER TABLE sessions ALTER COLUMN note TYPE int USING note::int': /former type/,
    'ALTER TABLE sessions ALTER COLUMN note DROP DEFAULT': /rely on the default/,
    'ALTER TABLE sessions ADD CONSTRAINT short CHECK (length(note) < 5)': /constraint refuses/,
    'CREATE UNIQUE INDEX notes ON sessions (note)': /index refuses/,
    'DROP TABLE sessions': /what is dropped/,
    'DROP INDEX sessions_name': /what is dropped/,
    'TRUNCATE sessions': /reads the rows/,
    'DO $$ BEGIN EXECUTE $q$ DROP TABLE sessions $q$; END $$': /block/,
  };
  for (const [text, expected] of Object.entries(breaking))
    it(`a migration is refused with ${text}`, () => {
      assert.match(problems(`CREATE TABLE other (id int);\n${text};`).join('\n'), expected);
      assert.deepEqual(problems(`-- compatible: nothing has used it since 0003\n${text};`), []);
      assert.equal(problems(`-- compatible: nothing has used it\nSELECT 1;\n${text};`).length, 1, 'the excuse of another statement');
      assert.deepEqual(problems(`${text};`, '0020-contract-of-0019-rest.sql'), []);
    });

  it('a migration may add tables, columns and indexes', () => {
    const added = `-- A comment; DROP TABLE sessions;
      CREATE TABLE notes (id text PRIMARY KEY, text text NOT NULL);
      ALTER TABLE notes ADD CONSTRAINT short CHECK (length(text) < 5);
      CREATE UNIQUE INDEX notes_text ON notes (text);
      ALTER TABLE sessions ADD COLUMN note text, ADD COLUMN count int NOT NULL DEFAULT 0, ALTER COLUMN name DROP NOT NULL;
      CREATE INDEX sessions_note ON sessions (note);
      INSERT INTO notes VALUES ('a', 'DROP TABLE sessions;');
      UPDATE sessions SET note = 'x';`;
    assert.deepEqual(problems(added), []);
  });

  it('a migration has a number of its own, and a contract step the number of the migration whose past it removes', () => {
    assert.match(problems('SELECT 1', '0019-again.sql').join(), /this number/);
    assert.match(problems('SELECT 1', '20-some.sql').join(), /not NNNN/);
    assert.match(problems('DROP TABLE sessions', '0020-contract-of-0018-rest.sql').join(), /no migration 0018/);
  });
});

it('all migrations let the version before run beside them', async () => {
  assert.deepEqual(await findProblems(new URL('../..', import.meta.url).pathname), []);
});
