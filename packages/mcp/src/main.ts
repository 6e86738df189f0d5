#!/usr/bin/env node
/** MCP server on standard input and output. */
import { parseArgs } from 'node:util';
import { Berth } from '@berth/sdk';
import { serveStandardInput } from './stdio.ts';
import { families } from './tool.ts';

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
  const berth = new Berth(values.url === undefined ? {} : { baseUrl: values.url });
  serveStandardInput(berth, { tools: values.tools, idleSeconds: values['idle-seconds'] });
}

try {
  main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
