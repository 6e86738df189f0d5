/** What `error.details` has by error code, for clients. Codes that are not here have no details. */
import { z } from 'zod';
import { navigationFailures } from './errors.ts';
import type { ErrorCode } from './errors.ts';
import { Timestamp } from './fields.ts';

const limit = z.int().describe('The limit.');
const limited = z.object({ limit });
const limitedBytes = z.object({ limit_bytes: z.int().describe('Maximum number of bytes.') });
const available = z.object({ available: z.array(z.string()).describe('Names that exist.') });
const reasonOfEnd = z.string().describe('Why the session ended: `ended_reason` of the session.');

/** Fields that not every error of the code has are optional. */
const details = {
  unknown_task: available,
  unknown_template: available,
  insufficient_credits: z.object({
    balance: z.number().describe('Credits in the wallet.'),
    available: z.number().describe('Credits that no running call holds.'),
    required: z.number().describe('Credits that the call needs.'),
  }),
  plan_limit_exceeded: z.object({
    axis: z.string().describe('What is limited, such as `actions` or `egress_bytes`.'),
    limit: z.number().describe('The limit of the month.'),
    used: z.number().describe('How much of it is used.'),
    required: z.number().describe('How much the call needs.'),
    resets_at: Timestamp.describe('When the limit resets (RFC 3339, UTC).'),
  }),
  method_not_allowed: z.object({ allow: z.array(z.string()).describe('Methods of this path.') }),
  download_not_ready: z.object({
    received_bytes: z.int().describe('Number of bytes received so far.'),
    total_bytes: z.int().nullable().describe('Size of the file in bytes; null if unknown.'),
  }),
  upload_limit_reached: z.object({
    files: z.int().describe('Maximum number of files of a session.'),
    bytes: z.int().describe('Maximum number of their bytes.'),
  }),
  tab_limit_reached: limited,
  session_ended: z.object({
    ended_reason: reasonOfEnd.nullable().optional(),
    status: z.string().optional().describe('Status of the session.'),
  }),
  key_limit_reached: limited,
  connect_token_limit_reached: limited,
  profile_locked: z.object({ session_id: z.string().optional().describe('Id of the session that saves the profile.') }),
  profile_limit_reached: limited,
  answer_lost: z.object({
    session_id: z.string().optional().describe('Id of the session that the first request created.'),
    job_id: z.string().optional().describe('Id of the job that the first request submitted.'),
  }),
  body_too_large: limitedBytes,
  uri_too_long: limitedBytes,
  concurrency_limit: limited.extend({ active: z.int().describe('Number of live sessions.') }),
  create_rate_limit: limited,
  navigation_failed: z.object({
    reason: z.enum(navigationFailures).describe('Why the page could not be loaded.'),
    net_error: z.string().nullable().describe('Error of the network as the browser names it; null if it has none.'),
    rule: z.string().optional().describe('The rule of the egress policy that refused the address.'),
    download_id: z.string().optional().describe('Id of the download, if the URL is a file.'),
  }),
  page_failed: z.object({ reason: z.string().describe('Why: see the guide “Errors”.') }),
  session_lost: z.object({ ended_reason: reasonOfEnd.nullable().optional() }),
  no_capacity: z.object({ reason: z.string().optional().describe('`disk_low` where disk space is what lacks.') }),
  deadline_exceeded: z.object({ deadline_ms: z.int().optional().describe('Deadline of the call in milliseconds.') }),
} satisfies Partial<Record<ErrorCode, z.ZodObject>>;

/** Schema of `error.details` by error code. */
export const errorDetails: Readonly<Partial<Record<ErrorCode, z.ZodObject>>> = details;
