/** MCP server of Berth. Entry point of this package. */
export { createServer, serverVersion, type ServerOptions } from './server.ts';
export { families, type Family } from './tool.ts';
