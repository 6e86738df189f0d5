import { useSignalEffect } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ClipboardPanel, clipboardPanelId } from '../shared/text/clipboard-panel.tsx';
import { focusFirstButton } from '../shared/focus.ts';
import { FullScreenButton, toggleFullScreen } from '../shared/full-screen.tsx';
import { Icon } from '../shared/icons.tsx';
import { PopoverButton } from '../shared/popover.tsx';
import { ToastList } from '../shared/toasts.tsx';
import { AddressBar } from './controls/address-bar.tsx';
import { DownloadsPanel, downloadsPanelId } from './controls/downloads.tsx';
import { HelpPanel, helpPanelId } from './controls/help.tsx';
import { leaveKey } from './input/keys.ts';
import type { LiveView } from './live-view.ts';
import { pageSizeFor } from './geometry.ts';
import { Stage, type StageHandle } from './stage.tsx';
import { Status } from './controls/status.tsx';
import { TabStrip } from './controls/tab-strip.tsx';

interface AppProps {
  view: LiveView;
  /** Moves the focus past the page of the session, whose keyboard takes the Tab key; of a page that embeds the view. */
  onSkip?: (() => void) | undefined;
}

export function App({ view, onSkip }: AppProps) {
  const stage = useRef<StageHandle>(null);
  const tools = useRef<HTMLDivElement>(null);
  useSignalEffect(() => {
    if (view.isEmbedded) return;
    const title = view.activeTab.value?.title;
    document.title = title ? `${title} · Live view` : 'Live view';
  });
  const leave = () => focusFirstButton(tools.current);
  const toPage = () => {
    if (matchMedia('(hover: hover)').matches) stage.current?.focus();
    // On a phone the keyboard would cover the page.
    else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  };
  useEffect(() => {
    // The same key leaves the page of the session and returns to it.
    const enter = (event: KeyboardEvent) => {
      if (event.key !== leaveKey || event.defaultPrevented || !view.canControl.value) return;
      event.preventDefault();
      stage.current?.focus();
    };
    document.addEventListener('keydown', enter);
    return () => document.removeEventListener('keydown', enter);
  }, []);
  return (
    <div class="live-view" data-live={view.link.state.value.status === 'live'}>
      <header class="bars">
        {!view.isEmbedded && <h1 class="visually-hidden">Live view of {view.state.value?.session.name ?? 'a session'}</h1>}
        <div class="bar bar-tabs">
          <TabStrip view={view} />
          <Status view={view} />
        </div>
        <div class="bar bar-address">
          <AddressBar view={view} onNavigate={toPage} />
        </div>
        <div class="bar bar-tools" role="group" aria-label="Tools" ref={tools}>
          {view.canControl.value && <ControlTools view={view} stage={stage} />}
          <FullScreenButton onToggle={() => toggleFullScreen()} />
          <PopoverButton opens={helpPanelId} label="Help" icon="help" />
          {onSkip && (
            <button type="button" class="button skip-view" onClick={onSkip}>
              Skip the live view
            </button>
          )}
        </div>
      </header>
      <Stage view={view} onLeave={leave} handle={stage} />
      <HelpPanel canControl={view.canControl.value} />
      {view.canControl.value && (
        <>
          <ClipboardPanel clipboard={view.clipboard} insertLabel="Type into the page" onInsert={(text) => view.sendText(text)} />
          <DownloadsPanel view={view} />
        </>
      )}
      <ToastList toasts={view.toasts} />
    </div>
  );
}

function ControlTools({ view, stage }: { view: LiveView; stage: RefObject<StageHandle | null> }) {
  const fit = () => {
    const space = stage.current?.space();
    if (space) view.send({ type: 'resize', ...pageSizeFor(space) });
  };
  return (
    <>
      <button type="button" class="icon-button only-touch" aria-label="Keyboard" title="Keyboard" onClick={() => stage.current?.focus()}>
        <Icon name="keyboard" />
      </button>
      <PopoverButton opens={clipboardPanelId} label="Clipboard" icon="clipboard" />
      <PopoverButton opens={downloadsPanelId} label="Downloads" icon="download" />
      <button type="button" class="icon-button" aria-label="Fit the page to my window" title="Fit the page to my window" onClick={fit}>
        <Icon name="fit" />
      </button>
    </>
  );
}
