import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface ProtocolDocument {
  version: { major: string; minor: string };
  domains: unknown[];
}

/**
 * The protocol description for `/json/protocol`. A browser does not provide it
 * over the pipe, so it is read from the package that our types come from.
 */
export async function protocolDocument(): Promise<ProtocolDocument> {
  const [browser, script] = await Promise.all(['browser_protocol', 'js_protocol'].map(read));
  if (!browser || !script) throw new Error('a file of the devtools-protocol package is missing');
  return { version: browser.version, domains: [...browser.domains, ...script.domains] };
}

async function read(name: string): Promise<ProtocolDocument> {
  const path = fileURLToPath(import.meta.resolve(`devtools-protocol/json/${name}.json`));
  return JSON.parse(await readFile(path, 'utf8')) as ProtocolDocument;
}
