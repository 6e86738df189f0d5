import type { AuditAction } from '@berth/contract';

/** What is told of it must hold no secret: ids, names of plans and amounts, never a key, a code or a token. */
export interface AuditEvent {
  /** `operator`, `key:KEY_ID`, `login:SUBJECT`, `payment_provider`, or `service`. */
  actor: string;
  action: AuditAction;
  /** Whose thing it was done to. */
  owner: string | null;
  /** The id of that thing. */
  subject: string | null;
  details?: Record<string, unknown>;
}

export interface AuditEntry extends Required<AuditEvent> {
  /** Rises with each entry. */
  entryId: number;
  at: Date;
}

export interface AuditFilter {
  owner?: string | undefined;
  actor?: string | undefined;
  action?: AuditAction | undefined;
  since?: Date | undefined;
  /** Only what was written before that entry. */
  before?: number | undefined;
  limit: number;
}
