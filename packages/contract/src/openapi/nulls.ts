/**
 * null for an optional field of a request means the same as no field. Many
 * languages write absent values as null, and no schema has to say so by itself.
 */
import type { z } from 'zod';

type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypes['_zod']['def'];

const defOf = (schema: Schema): Def => schema._zod.def as Def;
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Deletes the fields of `value` that are null and that the schema takes as absent, also in nested objects and lists. */
export function dropNulls(schema: Schema, value: unknown): void {
  if (!isObject(value)) return;
  const def = defOf(schema);
  const inner = innerOf(def);
  if (inner) return dropNulls(inner, value);
  if (def.type === 'union') {
    const branch = branchOf(def, value);
    if (branch) dropNulls(branch, value);
  } else if (def.type === 'object') dropFields(def.shape, value);
  else if (def.type === 'array' && Array.isArray(value)) for (const element of value) dropNulls(def.element, element);
  else if (def.type === 'record') for (const element of Object.values(value)) dropNulls(def.valueType, element);
}

function dropFields(shape: Readonly<Record<string, Schema>>, value: Record<string, unknown>): void {
  for (const name of Object.keys(value)) {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (!field) continue;
    if (value[name] === null && isOptional(field) && !acceptsNull(field)) delete value[name];
    else dropNulls(field, value[name]);
  }
}

export const isOptional = (schema: Schema): boolean => schema._zod.optin !== undefined;

/** Whether null is a value of its own. */
export function acceptsNull(schema: Schema): boolean {
  const def = defOf(schema);
  if (def.type === 'nullable' || def.type === 'null' || def.type === 'unknown' || def.type === 'any') return true;
  if (def.type === 'union') return def.options.some(acceptsNull);
  const inner = innerOf(def);
  return inner !== null && acceptsNull(inner);
}

/** The schema that a wrapper such as `.default()` passes the value to. */
function innerOf(def: Def): Schema | null {
  if (def.type === 'lazy') return def.getter();
  // The function of `z.preprocess` comes first.
  if (def.type === 'pipe') return defOf(def.in).type === 'transform' ? def.out : def.in;
  return 'innerType' in def ? def.innerType : null;
}

/** The option that the discriminator names, or the only one that takes a value of this kind. */
function branchOf(def: z.core.$ZodUnionDef, value: Record<string, unknown>): Schema | undefined {
  const { discriminator } = def as z.core.$ZodDiscriminatedUnionDef;
  if (discriminator !== undefined)
    return def.options.find(({ _zod: { propValues } }) => propValues?.[discriminator]?.has(value[discriminator] as z.core.util.Primitive));
  const fitting = def.options.filter((option) => isFor(option, value));
  return fitting.length === 1 ? fitting[0] : undefined;
}

function isFor(schema: Schema, value: Record<string, unknown>): boolean {
  const def = defOf(schema);
  const inner = innerOf(def);
  if (inner) return isFor(inner, value);
  return Array.isArray(value) ? def.type === 'array' : def.type === 'object' || def.type === 'record';
}
