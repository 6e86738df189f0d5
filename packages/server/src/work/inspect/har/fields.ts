/** Reads values of any form as the form that is expected. */
import { cutText } from '@berth/lib/text/text.ts';

export type Fields = Readonly<Record<string, unknown>>;

const noFields: Fields = {};

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : noFields;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown, charsMax: number): string => (typeof value === 'string' ? cutText(value, charsMax) : '');

export const numberOf = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 1e15 ? value : otherwise;
