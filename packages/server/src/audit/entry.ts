import type { AuditAction } from '@berth/contract';

/** Must not contain secrets: only ids, plan names and amounts, never a key, code or token. */
export interface AuditEvent {
  /** `operator`, `key:KEY_ID`, `login:SUBJECT`, `payment_provider`, or `service`. */
  actor: string;
  action: AuditAction;
  /** Owner of the subject. */
  owner: string | null;
  /** Id of the changed object. */
  subject: string | null;
  details?: Record<string, unknown>;
}

export interface AuditEntry extends Required<AuditEvent> {
  /** Increases with each entry. */
  entryId: number;
  at: Date;
}

export interface AuditFilter {
  owner?: string | undefined;
  actor?: string | undefined;
  action?: AuditAction | undefined;
  since?: Date | undefined;
  /** Only entries before this one. */
  before?: number | undefined;
  limit: number;
}
