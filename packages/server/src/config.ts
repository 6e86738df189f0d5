/** The only reader of the environment. A wrong value is refused at start. */
import type { z } from 'zod';
import { variables, type Variable } from './config-variables.ts';

export { variableGroups } from './config-variables.ts';

type Variables = typeof variables;
type ValueOf<V> = V extends { schema: infer S extends z.ZodType; default: infer D } ? z.output<S> | (D extends null ? null : never) : never;
/** `BERTH_DATA_DIR` is `dataDir`, `OTEL_SERVICE_NAME` is `otelServiceName`. */
type FieldName<K extends string> = CamelCase<Lowercase<K extends `BERTH_${infer Rest}` ? Rest : K>>;
type CamelCase<T extends string> = T extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : T;
export type Config = { -readonly [K in keyof Variables as FieldName<K>]: ValueOf<Variables[K]> } & {
  /** Where the value of each variable comes from; absent: its default. */
  sources: ReadonlyMap<string, 'environment' | 'command_line'>;
};

/** Its message has one line for each variable that is wrong. */
export class ConfigError extends Error {}

export const fieldName = (name: string): string =>
  name
    .replace(/^BERTH_/, '')
    .toLowerCase()
    .replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Set for clients on the same machine. */
const clientVariables = ['BERTH_API_KEY', 'BERTH_URL'];

/**
 * An empty variable counts as unset. `overrides` take precedence.
 *
 * @throws ConfigError with one line for each variable that is invalid or unknown
 */
export function readConfig(from: NodeJS.ProcessEnv = process.env, overrides: Record<string, string> = {}): Config {
  const environment = { ...from, ...overrides };
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, { schema, default: fallback, description }] of Object.entries<Variable>(variables)) {
    const text = environment[name] || fallback;
    const parsed = text === null ? { success: true as const, data: null } : schema.safeParse(text);
    if (parsed.success) config[fieldName(name)] = parsed.data;
    else problems.push(`${name}: ${parsed.error.issues.map((issue) => issue.message).join('; ')}. ${description}`);
  }
  for (const name of Object.keys(environment))
    if (name.startsWith('BERTH_') && environment[name] && !(name in variables) && !clientVariables.includes(name))
      problems.push(`${name}: unknown variable. docs/configuration.md lists all of them.`);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  config['sources'] = new Map(
    Object.keys(variables).flatMap((name) => (environment[name] ? [[name, overrides[name] ? 'command_line' : 'environment']] : [])),
  );
  return config as Config;
}
