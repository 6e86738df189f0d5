/** Arguments that several tools have. */
import { z } from 'zod';

export const session = z.string().max(200);
export const tab = z.string().max(200).optional();
export const url = z.string().max(8192);
/** The reply's budget, by the size of what models read at once. */
export const maxTokens = z.int().min(100).max(8000).optional();
/** A cursor of the reply before. */
export const after = z.string().max(200).optional();
/** `e12` of a snapshot, or a selector of the step language. */
export const target = z.string().max(2000);
