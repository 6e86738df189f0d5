/** The form of a tool. */
import type { Berth, RequestOptions } from '@berth/sdk';
import type { z } from 'zod';
import type { Answer } from './answer.ts';

/** Groups of tools that can be left out: each costs its description in every conversation. */
export const families = ['browse', 'people', 'network', 'files', 'web', 'flows'] as const;
export type Family = (typeof families)[number];

/** What a tool runs with: the API as its caller, until the caller gives up. */
export interface ToolContext {
  berth: Berth;
  options: Pick<RequestOptions, 'signal'>;
  settings: ToolSettings;
}

export interface ToolSettings {
  /** Seconds after which a session that no call uses ends: of a client that was killed nothing else is left. */
  idleSeconds: number;
}

export interface Tool {
  name: string;
  family: Family;
  description: string;
  input: z.ZodObject;
  /** Whether it changes nothing. */
  isReadOnly?: boolean;
  run(input: Record<string, unknown>, context: ToolContext): Promise<Answer>;
}

/** A tool whose function sees what its schema has checked. */
export function tool<S extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'run'> & { input: S; run(input: z.infer<S>, context: ToolContext): Promise<Answer> },
): Tool {
  return { ...definition, run: (input, context) => definition.run(definition.input.parse(input), context) };
}
