import { ValidationError, closeTab, listTabs, navigate, openTab, rotateIp, type TabResponse } from '@berth/contract';
import type { TabInfo } from '../browser/browser.ts';
import type { Call, Routes } from '../http/call.ts';
import { ownerOf } from '../sessions/sessions.ts';
import type { Drive, Target } from './drive.ts';

export function mountDrive(routes: Routes, drive: Drive): void {
  routes.on(navigate, async (call) => {
    const { params, body } = call;
    if (body.session_id !== undefined && body.session_id !== params.session_id) throw otherSession(body.session_id);
    const done = await drive.navigate(targetOf(call), body);
    return {
      session_id: params.session_id,
      final_url: done.finalUrl,
      title: done.title,
      status: 'ok' as const,
      status_code: done.statusCode,
      tab_id: done.tabId,
      duration_ms: done.durationMs,
    };
  });
  routes.on(listTabs, async (call) => (await drive.tabs(targetOf(call))).map(toTab));
  routes.on(openTab, async (call) => toTab(await drive.openTab(targetOf(call), call.body)));
  routes.on(closeTab, (call) => drive.closeTab(targetOf(call), call.params.tab_id).then(() => undefined));
  routes.on(rotateIp, async (call) => ({ session_id: call.params.session_id, ...(await drive.rotateIp(targetOf(call))) }));
}

const targetOf = ({ principal, params, signal }: Pick<Call, 'principal' | 'signal'> & { params: { session_id: string } }): Target => ({
  owner: ownerOf(principal),
  sessionId: params.session_id,
  signal,
});

const toTab = (tab: TabInfo): TabResponse => ({
  tab_id: tab.tabId,
  url: tab.url,
  title: tab.title,
  active: tab.active,
  opener_tab_id: tab.openerTabId,
  created_at: tab.createdAt.toISOString(),
  status: tab.status,
});

/** The path names the session; a body that names another is a mistake, and never acted on. */
const otherSession = (input: string): ValidationError =>
  new ValidationError([{ loc: ['body', 'session_id'], msg: 'Input should be the session of the path, or absent', type: 'value_error', input, ctx: {} }]);
