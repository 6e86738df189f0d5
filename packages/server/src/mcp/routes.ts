import type { Routes } from '../http/call.ts';
import { callMcp, callMcpByToken } from './endpoints.ts';
import type { Mcp } from './mcp.ts';

export function mountMcp(routes: Routes, mcp: Mcp): void {
  routes.onResponse(callMcp, (call) => mcp.answer(call, call.query));
  routes.onResponse(callMcpByToken, (call) => mcp.answer(call, call.query));
}
