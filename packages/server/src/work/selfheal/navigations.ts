/** Records the navigations of sessions. Their strategy is always `direct`, and each costs an action. */
import type { Drive } from '../../sessions/drive/drive.ts';
import { domainOf, type SelfHeal } from './selfheal.ts';

export function recordNavigations(drive: Drive, selfHeal: SelfHeal, actionCredits: number): void {
  drive.onNavigated(({ owner, sessionId, region, kind, egress, url, startedAt, durationMs, outcome, error, block }) => {
    const domain = domainOf(url);
    if (domain === '') return;
    const isBlocked = block?.blocked === true;
    // A file is as good an answer as a page.
    const isAnswered = outcome ? (outcome.statusCode ?? 0) < 500 : error?.reason === 'download';
    selfHeal.record({
      attempts: [
        {
          owner,
          domain,
          url,
          task: 'navigate',
          jobId: null,
          sessionId,
          region,
          egress,
          kind,
          n: 1,
          strategy: 'direct',
          startedAt,
          durationMs,
          credits: actionCredits,
          outcome: isBlocked ? 'blocked' : isAnswered ? 'ok' : 'error',
          reason: error?.reason ?? null,
          block: isBlocked ? block : null,
          statusCode: outcome?.statusCode ?? null,
        },
      ],
    });
  });
}
