/** What the live view's page is sent about the browser. Pages choose these texts, so they are truncated. */
import type { LiveDownload, LivePrompt, LiveTab } from '@berth/contract/live-view';
import type { DownloadInfo, Prompt, TabInfo } from '@berth/devtools';
import { cutText } from '@berth/lib/text/text.ts';

/** The prompt message while nothing is asked. */
export const noPrompt = JSON.stringify({ type: 'prompt', prompt: null });

const titleCharsMax = 300;
const urlCharsMax = 2048;

export const toLiveTab = ({ tabId, title, url, active, status, failure }: TabInfo): LiveTab => ({
  tab_id: tabId,
  title: cutText(title, titleCharsMax),
  url: cutText(url, urlCharsMax),
  active,
  status,
  failure,
});

export const toLiveDownload = ({ id, suggestedFilename, status, receivedBytes }: DownloadInfo): LiveDownload => ({
  download_id: id,
  name: suggestedFilename,
  status,
  bytes: receivedBytes,
});

export function toLivePrompt({ id, question }: Prompt): LivePrompt {
  if (question.kind === 'dialog') {
    const { type, message, defaultValue } = question.dialog;
    return { prompt_id: id, kind: 'dialog', dialog: type, message, default_value: defaultValue };
  }
  if (question.kind === 'list') return { prompt_id: id, kind: 'list', options: [...question.options], box: question.box };
  if (question.kind === 'picker') return { prompt_id: id, ...question };
  return { prompt_id: id, kind: 'files', multiple: question.multiple };
}
