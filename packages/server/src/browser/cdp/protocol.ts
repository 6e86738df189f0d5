import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface ProtocolDocument {
  version: { major: string; minor: string };
  domains: unknown[];
}

/**
 * The protocol's description, as `/json/protocol` of a browser gives it. Over
 * the pipe a browser does not tell it, so this is the published one of the
 * package that our own types are from.
 */
export async function protocolDocument(): Promise<ProtocolDocument> {
  const [browser, script] = await Promise.all(['browser_protocol', 'js_protocol'].map(read));
  if (!browser || !script) throw new Error('the protocol package has lost a file');
  return { version: browser.version, domains: [...browser.domains, ...script.domains] };
}

async function read(name: string): Promise<ProtocolDocument> {
  const path = fileURLToPath(import.meta.resolve(`devtools-protocol/json/${name}.json`));
  return JSON.parse(await readFile(path, 'utf8')) as ProtocolDocument;
}
