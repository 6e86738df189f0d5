import { useEffect, useRef } from 'preact/hooks';
import { ClipboardPanel, clipboardPanelId } from '../shared/text/clipboard-panel.tsx';
import { focusFirstButton } from '../shared/focus.ts';
import { FullScreenButton, toggleFullScreen } from '../shared/full-screen.tsx';
import { Icon } from '../shared/icons.tsx';
import { LinkPill } from '../shared/link/link-pill.tsx';
import { Notice } from '../shared/notice.tsx';
import { isMac } from '../shared/platform.ts';
import { KeyTable, Popover, PopoverButton } from '../shared/popover.tsx';
import { TextEntry } from '../shared/text/text-entry.ts';
import { ToastList } from '../shared/toasts.tsx';
import { leaveKey, type RemoteWindow } from './remote-window.ts';

const helpPanelId = 'help';
const control = isMac ? '⌘' : 'Ctrl';

export function App({ remote }: { remote: RemoteWindow }) {
  const screen = useRef<HTMLDivElement>(null);
  const tools = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    remote.onLeave = () => focusFirstButton(tools.current);
    if (screen.current) remote.drawIn(screen.current);
    const enter = (event: KeyboardEvent) => {
      if (event.key !== leaveKey || event.defaultPrevented) return;
      event.preventDefault();
      remote.focus();
    };
    document.addEventListener('keydown', enter);
    return () => document.removeEventListener('keydown', enter);
  }, [remote]);
  return (
    <div class="vnc">
      <header class="vnc-head">
        <h1>Browser window</h1>
        <LinkPill state={remote.link.state.value} />
        <div class="vnc-tools" role="group" aria-label="Tools" ref={tools}>
          <button
            type="button"
            class="icon-button only-touch"
            aria-label="Keyboard"
            title="Keyboard"
            onClick={() => field.current?.focus()}
          >
            <Icon name="keyboard" />
          </button>
          <PopoverButton opens={clipboardPanelId} label="Clipboard" icon="clipboard" />
          <FullScreenButton onToggle={() => toggleFullScreen()} />
          <PopoverButton opens={helpPanelId} label="Help" icon="help" />
        </div>
      </header>
      <main class="vnc-stage">
        <div class="vnc-screen" ref={screen} data-hidden={!remote.hasPicture} />
        <SoftKeyboard remote={remote} field={field} />
        <StageNotice remote={remote} />
      </main>
      <ClipboardPanel clipboard={remote.clipboard} insertLabel="Copy to the session" onInsert={(text) => remote.sendClipboard(text)} />
      <Help />
      <ToastList toasts={remote.toasts} />
    </div>
  );
}

/** Opens the soft keyboard of a phone. noVNC handles the keys of a physical keyboard. */
function SoftKeyboard({ remote, field }: { remote: RemoteWindow; field: { current: HTMLTextAreaElement | null } }) {
  useEffect(() => {
    if (!field.current) return undefined;
    const listening = new AbortController();
    const entry = new TextEntry(field.current, {
      onText: (text) => remote.type(text),
      onCompose: () => {},
      onKey: ({ key }) => remote.press(key),
    });
    entry.listen(listening);
    return () => listening.abort();
  }, [remote]);
  const press = (event: KeyboardEvent) => {
    if (!event.isComposing && remote.press(event.key)) event.preventDefault();
  };
  return (
    <textarea
      ref={field}
      class="keyboard-field"
      aria-label="Keyboard of the window"
      tabIndex={-1}
      rows={1}
      autocomplete="off"
      autocapitalize="off"
      autocorrect="off"
      spellcheck={false}
      onKeyDown={press}
    />
  );
}

function StageNotice({ remote }: { remote: RemoteWindow }) {
  const state = remote.link.state.value;
  switch (state.status) {
    case 'live':
      return null;
    case 'connecting':
      return (
        <div class="notice notice-quiet">
          <span class="spinner spinner-large" aria-hidden="true" />
          <p>Connecting to the browser window</p>
        </div>
      );
    case 'reconnecting':
      return (
        <Notice title="Connection lost" text="Reconnecting automatically. To try at once, use the button.">
          <button type="button" class="button" onClick={() => remote.link.reconnectNow()}>
            Reconnect now
          </button>
        </Notice>
      );
    case 'ended':
      return (
        <Notice title={state.ending.title} text={state.ending.text}>
          {state.ending.canRetry && (
            <button type="button" class="button button-main" onClick={() => remote.link.open()}>
              Try again
            </button>
          )}
        </Notice>
      );
  }
}

const Help = () => (
  <Popover id={helpPanelId} title="Browser window">
    <p>You control the whole browser window of the session: its address bar, its menus and its dialogs.</p>
    <KeyTable
      keys={[
        [leaveKey, 'Leave or return to the window. All other keys, including Tab, go to the window.'],
        [`${control} V`, 'Paste your clipboard into the window'],
        [`${control} C`, 'Copy from the window to your clipboard'],
      ]}
    />
    <h3>On a touch screen</h3>
    <p>
      Tap to click, tap with two fingers to open the context menu, drag with two fingers to scroll. The keyboard button opens the keyboard.
    </p>
  </Popover>
);
