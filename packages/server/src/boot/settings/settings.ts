/** The settings as the service runs with them, without secrets. */
import type { SettingsResponse } from '@berth/contract';
import { redactUrl } from '@berth/lib/secrets/redact/redact.ts';
import { fieldName, variableGroups, type Config } from '../../config.ts';

type Setting = SettingsResponse['settings'][number];

export function readSettings(config: Config): Setting[] {
  const values = new Map<string, unknown>(Object.entries(config));
  return Object.entries(variableGroups).flatMap(([group, variables]) =>
    Object.entries(variables).map(([name, { default: fallback, description, isSecret }]) => {
      const value = values.get(fieldName(name)) ?? null;
      return {
        name,
        group,
        value: isSecret ? (config.sources.has(name) ? 'set' : 'not set') : toText(value),
        source: config.sources.get(name) ?? 'default',
        default: fallback,
        secret: isSecret,
        description,
      };
    }),
  );
}

function toText(value: unknown): string | null {
  if (value === null) return null;
  if (Array.isArray(value)) return value.join(',');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[a-z][a-z0-9+.-]*:[/][/]/i.test(text) ? redactUrl(new URL(text).href, { placeholder: '…', rule: 'bare' }) : text;
}
