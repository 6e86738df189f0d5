/** The conformance suite of the protocol's authors against `/mcp`: the scenarios of what this server offers. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createConnectToken } from '@berth/contract';
import { nightly } from '../../nightly.ts';
import { installing } from '../../services/python.ts';
import { Service, stopAll } from '../service.ts';

const version = '0.1.16';
/**
 * The two scenarios of streams check nothing here, as no stream is kept. The other scenarios call tools, prompts and resources of a model server that the suite describes, or what this server does not
 * declare: `logging/setLevel` and `completion/complete` are answered with -32601, as a method without its capability is, and the
 * revision of 2026-07-28 has no `logging/setLevel`.
 */
const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

describe('the conformance suite of MCP', nightly, () => {
  let suite: string;
  let address: string;
  before(async () => {
    suite = await installSuite();
    const service = await Service.start();
    const { body } = await service.client.call(createConnectToken, { body: {} });
    address = `${service.url}/mcp/${body.token}`;
  }, installing);
  after(stopAll);

  for (const scenario of scenarios)
    it(`passes in ${scenario}`, async () => {
      await promisify(execFile)(process.execPath, [suite, 'server', '--url', address, '--scenario', scenario], { timeout: 60_000 });
    });
});

/** Installs the suite, once. It brings some hundred packages, so it is no dependency. */
async function installSuite(): Promise<string> {
  const folder = join(import.meta.dirname, '../../../node_modules/.cache', `mcp-conformance-${version}`);
  const program = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const words = ['install', `@modelcontextprotocol/conformance@${version}`, '--ignore-scripts', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', words, { cwd: folder });
  return program;
}
