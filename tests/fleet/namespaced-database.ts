/** The database of namespaces.ts, in its own network. It ends with its parent. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { startTestServer } from '../../packages/server/testing/test-store.ts';
import { databaseAddress, databaseNetwork } from './cables.ts';

const rules = join(tmpdir(), 'pg_hba.conf');
writeFileSync(rules, `local all all trust\nhost all all ${databaseNetwork} trust\n`);
const { url } = await startTestServer({ listen_addresses: databaseAddress, hba_file: rules });
const { username, pathname } = new URL(url);
process.on('disconnect', () => process.exit());
process.send?.(`postgres://${username}@${databaseAddress}${pathname}`);
