import { z } from 'zod';
import { listAudit, type AuditEntryResponse } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import type { Audit, AuditEntry } from './audit.ts';

const CursorPosition = z.tuple([z.int().min(0)]);

const toResponse = ({ entryId, at, ...event }: AuditEntry): AuditEntryResponse => ({ entry_id: entryId, at: at.toISOString(), ...event });

export function mountAuditAdmin(routes: Routes, audit: Audit): void {
  routes.on(listAudit, async (call) => {
    const { limit, cursor, since, ...filter } = call.query;
    const [before] = cursor === undefined ? [undefined] : decodeCursor(cursor, CursorPosition);
    const entries = await audit.list({
      ...filter,
      before,
      since: since === undefined ? undefined : new Date(since * 1000),
      limit: limit + 1,
    });
    return pageHeaders(call, entries, limit, ({ entryId }) => [entryId]).map(toResponse);
  });
}
