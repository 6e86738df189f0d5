/** A customer's DevTools client, as the multiplexer knows it. */
import type { DevtoolsClientOptions } from '../../interface.ts';

export class Client {
  readonly sessionId: string;
  readonly browserTargetId: string;
  readonly options: DevtoolsClientOptions;
  isOpen = true;
  errorCount = 0;
  /** Its `Target.createTarget` commands without a reply. */
  openingTabs = 0;
  /** Where on its own disk it expects downloads. */
  downloadsFolder: string | null = null;

  constructor(sessionId: string, browserTargetId: string, options: DevtoolsClientOptions) {
    this.sessionId = sessionId;
    this.browserTargetId = browserTargetId;
    this.options = options;
  }

  /** Whether the target is the browser, as the worker or another client is attached to it. */
  isForeign({ type, targetId }: { type: string; targetId: string }): boolean {
    return type === 'browser' && targetId !== this.browserTargetId;
  }

  end(reason: 'browser_close' | 'protocol_error' | 'browser_gone'): void {
    this.isOpen = false;
    this.options.onClose(reason);
  }

  /** Resolves when the completed download that the event is about is where the client looks for it; undefined: nothing to wait for. */
  copyDownload(event: Buffer): Promise<void> | undefined {
    const { copyDownload } = this.options;
    if (!copyDownload || this.downloadsFolder === null || !isDownloadProgress(event)) return undefined;
    const { params } = JSON.parse(event.toString('utf8')) as { params: { guid: string; state: string } };
    return params.state === 'completed' ? copyDownload(params.guid, this.downloadsFolder) : undefined;
  }
}

const downloadProgress = Buffer.from('{"method":"Browser.downloadProgress"');

const isDownloadProgress = (frame: Buffer): boolean =>
  frame.length > downloadProgress.length && frame.compare(downloadProgress, 0, downloadProgress.length, 0, downloadProgress.length) === 0;
