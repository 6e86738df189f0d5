/** The MCP server on standard input and output, for the programs that start it. */
import type { Berth } from '@berth/sdk';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServer } from './server.ts';
import { families, type Family } from './tool.ts';

/** Options as they are given on a command line. */
export interface StdioOptions {
  /** Names of families, separated by commas. Default: all. */
  tools?: string | undefined;
  idleSeconds?: string | undefined;
}

/** Serves until standard input ends. Throws a RangeError for options that make no sense. */
export function serveStandardInput(berth: Berth, { tools, idleSeconds = '300' }: StdioOptions): void {
  const options = { idleSeconds: readSeconds(idleSeconds), ...(tools === undefined ? {} : { families: readFamilies(tools) }) };
  // Standard output belongs to the protocol.
  serveStdio(() => createServer(berth, options), { onerror: ({ message }) => console.error(message) });
}

function readFamilies(text: string): Family[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !families.some((family) => family === name));
  if (unknown !== undefined) throw new RangeError(`Unknown family of tools "${unknown}": use ${families.join(', ')}.`);
  return names as Family[];
}

function readSeconds(text: string): number {
  if (/^\d{2,5}$/.test(text)) return Number(text);
  throw new RangeError('--idle-seconds is a whole number, at least 10.');
}
