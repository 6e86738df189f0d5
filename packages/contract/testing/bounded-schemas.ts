/** Walks the schemas of what callers send: each text, list and record of it needs a maximum. */
import assert from 'node:assert/strict';
import type { z } from 'zod';

export interface Bounded {
  path: string;
  kind: 'string' | 'list' | 'record';
  schema: z.core.$ZodType;
  max: number | undefined;
}

/** The strings, lists and records of a schema, with their maxima. */
export function* boundedIn(schema: z.core.$ZodType, path: string, seen = new Set<z.core.$ZodType>()): Generator<Bounded> {
  if (seen.has(schema)) return;
  seen.add(schema);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const maximum = (def.checks ?? [])
    .map(({ _zod: { def: check } }) => ('maximum' in check ? Number(check.maximum) : undefined))
    .find(Number.isFinite);
  const inside = (inner: z.core.$ZodType, name = ''): Generator<Bounded> => boundedIn(inner, path + name, seen);
  switch (def.type) {
    case 'string':
      yield { path, kind: 'string', schema, max: maximum };
      break;
    case 'array':
      yield { path, kind: 'list', schema, max: maximum };
      yield* inside(def.element, '[]');
      break;
    case 'record':
      yield { path, kind: 'record', schema, max: 'entriesMax' in def ? Number(def.entriesMax) : undefined };
      yield* inside(def.keyType, '[key]');
      yield* inside(def.valueType, '[value]');
      break;
    case 'object':
      for (const [name, field] of Object.entries(def.shape)) yield* inside(field, `.${name}`);
      if (def.catchall) yield* inside(def.catchall, '.*');
      break;
    case 'union':
      for (const option of def.options) yield* inside(option, '|');
      break;
    case 'lazy':
      yield* inside(def.getter());
      break;
    case 'pipe':
      yield* inside(def.in);
      yield* inside(def.out);
      break;
    default:
      if ('innerType' in def) yield* inside(def.innerType);
      else assert.ok(['enum', 'literal', 'boolean', 'number', 'unknown', 'never', 'transform'].includes(def.type), `${path}: ${def.type}`);
  }
}
