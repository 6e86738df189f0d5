/** What all sections of an inspection report share. */
import { z } from 'zod';
import { confidences } from '../work/block.ts';

/** Requests are numbered in the order of the capture, from `r0`. */
export const RequestIds = z.array(z.string()).meta({ examples: [['r0', 'r12']] });

/** Where a page gets its token against cross-site requests. */
export const csrfSources = ['meta', 'hidden', 'cookie', 'header', 'body', 'unknown'] as const;
export const csrfSourceText =
  'Where the page gets the token: a meta element, a hidden field, a cookie, or the header or body of a response.';

export const confidenceField = (description: string) => z.enum(confidences).describe(description);

/** The fields of everything that is inferred. */
export const claimFields = {
  confidence: confidenceField('How sure the report is of it.'),
  evidence: RequestIds.describe('Ids of the requests in which it was seen, at most 20. Empty for what only the page itself shows.'),
};

export const textField = (description: string) => z.string().describe(description);
export const textOrNull = (description: string) => z.string().nullable().describe(description);
export const countField = (description: string) => z.int().min(0).describe(description);
export const countOrNull = (description: string) => z.int().min(0).nullable().describe(description);
export const flagField = (description: string) => z.boolean().describe(description);
export const textsField = (description: string) => z.array(z.string()).describe(description);
