/** A client of an MCP server that runs as a child process. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

/** Starts the server, calls `work` with a function that calls a tool and returns its text, and stops the server. */
export async function withServer(args, work) {
  const client = new Client({ name: 'example', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  const call = async (name, parameters = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: parameters });
    const text = content.map((part) => part.text ?? '').join('\n');
    if (isError) throw new Error(`${name}: ${text}`);
    return text;
  };
  try {
    await work(call);
  } finally {
    await client.close();
  }
}
