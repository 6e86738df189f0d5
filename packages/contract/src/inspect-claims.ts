/** What all sections of an inspection report share. */
import { z } from 'zod';
import { confidences } from './block.ts';

/** Requests are numbered in the order of the capture, from `r0`. */
export const RequestIds = z.array(z.string()).meta({ examples: [['r0', 'r12']] });

/** The fields of everything that is inferred. */
export const claimFields = {
  confidence: z.enum(confidences).describe('How sure the report is of it.'),
  evidence: RequestIds.describe('Ids of the requests in which it was seen, at most 20. Empty for what only the page itself shows.'),
};

export const textField = (description: string) => z.string().describe(description);
export const textOrNull = (description: string) => z.string().nullable().describe(description);
export const countField = (description: string) => z.int().min(0).describe(description);
export const countOrNull = (description: string) => z.int().min(0).nullable().describe(description);
export const flagField = (description: string) => z.boolean().describe(description);
export const textsField = (description: string) => z.array(z.string()).describe(description);
