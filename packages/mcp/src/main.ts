#!/usr/bin/env node
/** MCP server on standard input and output. */
import { parseArgs } from 'node:util';
import { Berth } from '@berth/sdk';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServer } from './server.ts';
import { families, type Family } from './tool.ts';

const help = `MCP server of Berth: browsers for agents, over standard input and output.

Usage: npx @berth/mcp [--url URL] [--tools FAMILIES] [--idle-seconds N]

  --url URL           Address of the service. Default: BERTH_URL, or that of the command line's profile.
  --tools FAMILIES    Families of tools, separated by commas: ${families.join(', ')}. Default: all.
  --idle-seconds N    Seconds after which a session that is not used ends, at least 10. Default: 300.

The API key is read from BERTH_API_KEY, or from the command line's profile.`;

function main(): void {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      tools: { type: 'string' },
      'idle-seconds': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    console.log(help);
    return;
  }
  const chosen = values.tools === undefined ? undefined : readFamilies(values.tools);
  const idleSeconds = readSeconds(values['idle-seconds'] ?? '300');
  const berth = new Berth(values.url === undefined ? {} : { baseUrl: values.url });
  // Standard output belongs to the protocol.
  serveStdio(() => createServer(berth, { idleSeconds, ...(chosen ? { families: chosen } : {}) }), {
    onerror: ({ message }) => console.error(message),
  });
}

export function readFamilies(text: string): Family[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !families.some((family) => family === name));
  if (unknown !== undefined) throw new RangeError(`Unknown family of tools "${unknown}": use ${families.join(', ')}.`);
  return names as Family[];
}

function readSeconds(text: string): number {
  if (/^\d{2,5}$/.test(text)) return Number(text);
  throw new RangeError('--idle-seconds is a whole number, at least 10.');
}

try {
  main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
