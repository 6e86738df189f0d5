import {
  ValidationError,
  closeTab,
  getCaptcha,
  getConsole,
  getContent,
  getDownload,
  getHar,
  getSnapshot,
  getStorageState,
  listDownloads,
  listTabs,
  navigate,
  openTab,
  pdf,
  rotateIp,
  runActions,
  screenshot,
  streamEvents,
  uploadFile,
  useComputer,
  type DownloadResponse,
  type TabResponse,
} from '@berth/contract';
import type { DownloadInfo, TabInfo } from '@berth/devtools';
import type { Call, Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import type { Drive, Target } from './drive.ts';
import { toFileReply } from './records/downloads.ts';

export function mountDrive(routes: Routes, drive: Drive): void {
  mountNavigation(routes, drive);
  mountPages(routes, drive);
  mountFiles(routes, drive);
  routes.onEvents(streamEvents, (call) => drive.events(targetOf(call), lastEventId(call)));
  routes.on(getCaptcha, async (call) => {
    const { since, ...status } = await drive.captcha(targetOf(call));
    return { ...status, since: since?.toISOString() ?? null };
  });
  routes.on(getConsole, (call) => drive.console(targetOf(call), call.query.after));
  routes.on(getHar, async (call) => ({ log: { ...(await drive.har(targetOf(call))).log } }));
}

function mountNavigation(routes: Routes, drive: Drive): void {
  routes.on(navigate, async (call) => {
    const { params, body } = call;
    if (body.session_id !== undefined && body.session_id !== params.session_id) throw otherSession(body.session_id);
    const result = await drive.navigate(targetOf(call), body);
    return {
      session_id: params.session_id,
      final_url: result.finalUrl,
      title: result.title,
      status: 'ok' as const,
      status_code: result.statusCode,
      tab_id: result.tabId,
      duration_ms: result.durationMs,
      block: result.block,
      captcha: result.captcha,
      warnings: result.warnings,
    };
  });
  routes.on(listTabs, async (call) => (await drive.tabs(targetOf(call))).map(toTab));
  routes.on(openTab, async (call) => toTab(await drive.openTab(targetOf(call), call.body)));
  routes.on(closeTab, (call) => drive.closeTab(targetOf(call), call.params.tab_id).then(() => undefined));
  routes.on(rotateIp, async (call) => ({ session_id: call.params.session_id, ...(await drive.rotateIp(targetOf(call))) }));
}

function mountPages(routes: Routes, drive: Drive): void {
  routes.on(runActions, async (call) => {
    const { results, vars, finalUrl, tabId, durationMs, warnings } = await drive.runActions(targetOf(call), call.body);
    const failed = results.find(({ status }) => status === 'error');
    return {
      status: failed ? ('error' as const) : ('ok' as const),
      failed_index: failed?.index ?? null,
      results,
      vars,
      final_url: finalUrl,
      tab_id: tabId,
      duration_ms: durationMs,
      warnings,
    };
  });
  routes.on(useComputer, (call) => drive.computer(targetOf(call), call.body));
  routes.on(screenshot, (call) => drive.screenshot(targetOf(call), call.body));
  routes.on(pdf, async (call) => {
    const data = await drive.pdf(targetOf(call), call.body);
    return { content_type: 'application/pdf' as const, data_base64: data.toString('base64'), bytes: data.length };
  });
  routes.on(getContent, (call) => {
    const { format, only_main_content: onlyMainContent, tab_id: tabId } = call.query;
    return drive.content(targetOf(call), { format, onlyMainContent, tabId });
  });
  routes.on(getSnapshot, (call) => drive.snapshot(targetOf(call), call.query));
  routes.on(getStorageState, (call) => drive.storageState(targetOf(call)));
}

function mountFiles(routes: Routes, drive: Drive): void {
  routes.on(listDownloads, async (call) => (await drive.downloads(targetOf(call))).map(toDownload));
  routes.onFile(getDownload, async (call) => {
    const downloaded = await drive.openDownload(targetOf(call), call.params.download_id);
    call.setHeader('x-content-sha256', downloaded.sha256);
    return toFileReply(downloaded);
  });
  routes.on(uploadFile, async (call) => {
    const { fileId, name, bytes, sha256, createdAt } = await drive.upload(
      targetOf(call),
      call.body.name,
      Buffer.from(call.body.data_base64, 'base64'),
    );
    return { file_id: fileId, name, bytes, sha256, created_at: createdAt.toISOString() };
  });
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

const toDownload = (download: DownloadInfo): DownloadResponse => ({
  download_id: download.id,
  url: download.url,
  suggested_filename: download.suggestedFilename,
  status: download.status,
  received_bytes: download.receivedBytes,
  total_bytes: download.totalBytes,
  started_at: download.startedAt.toISOString(),
  finished_at: download.finishedAt?.toISOString() ?? null,
});

/** null for an absent or malformed `Last-Event-ID`. */
function lastEventId(call: Pick<Call, 'header'>): number | null {
  const id = call.header('last-event-id') ?? '';
  return /^\d{1,15}$/.test(id) ? Number(id) : null;
}

/** The body's `session_id` must match the path. */
const otherSession = (input: string): ValidationError =>
  new ValidationError([
    { loc: ['body', 'session_id'], msg: 'Input should be the session of the path, or absent', type: 'value_error', input, ctx: {} },
  ]);
