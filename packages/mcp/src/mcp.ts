/** MCP server of Berth. Entry point of this package. */
export { createHttpHandler, type HttpCaller, type HttpHandler } from './http.ts';
export { createServer, serverVersion, type ServerOptions } from './server.ts';
export { families, type Family } from './tool.ts';
