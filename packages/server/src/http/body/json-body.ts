/** Parses and validates a body of JSON: here for small ones, in a thread for large ones. */
import { dropNulls, type Endpoint, type ValidationIssue } from '@berth/contract';
import { z } from 'zod';
import { bodyText } from './body.ts';
import { parseJson } from './json.ts';
import { extraForbidden, parsePart, validationIssue, type Parsed } from '@berth/lib/validation/issues.ts';

export const noFields = z.strictObject({});
export const failed = (...issues: ValidationIssue[]): Parsed => ({ ok: false, issues, omitted: 0 });

export function parseJsonBody({ body: schema, exactTextFields }: Endpoint, bytes: Buffer): Parsed {
  const text = bodyText(bytes);
  const reading = text === null ? { ok: false as const, problem: 'not valid UTF-8' } : parseJson(text, exactTextFields);
  if (reading.ok) {
    if (schema) dropNulls(schema, reading.value);
    return parsePart('body', schema ?? noFields, reading.value);
  }
  if ('forbiddenKey' in reading) return failed(validationIssue(['body', ...reading.forbiddenKey], extraForbidden));
  // Invalid JSON may contain secrets that no field name marks, so none of it is shown.
  const { problem, position } = { position: undefined, ...reading };
  const msg = `JSON decode error${position ? ` at line ${position.line}, column ${position.column}` : ''}: ${problem}`;
  return failed(validationIssue(['body'], { type: 'json_invalid', msg, ctx: { error: problem, ...position } }, {}));
}
