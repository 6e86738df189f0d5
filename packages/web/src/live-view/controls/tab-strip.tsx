import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { LiveTab } from '@berth/contract/live-view';
import { Icon } from '../../shared/icons.tsx';
import type { LiveView } from '../live-view.ts';

/** Enough to distinguish tabs. */
const titleCharsMax = 200;

export const stageId = 'stage';
export const tabElementId = (tabId: string): string => `tab-${tabId}`;

export const titleOf = ({ title, url }: LiveTab): string => (title || url || 'New tab').slice(0, titleCharsMax);

export const TabStrip = ({ view }: { view: LiveView }) =>
  view.canControl.value ? <Tabs view={view} /> : <TabNames tabs={view.tabs.value} />;

/** View only: titles, with the active one marked. */
const TabNames = ({ tabs }: { tabs: readonly LiveTab[] }) => (
  // A scrollable element must be focusable to be scrolled by keyboard.
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
  <nav class="tabs" aria-label="Tabs of the session" tabIndex={0}>
    <ul>
      {tabs.map((tab) => (
        <li key={tab.tab_id} class="tab" aria-current={tab.active ? 'true' : undefined}>
          <TabLabel tab={tab} />
        </li>
      ))}
    </ul>
  </nav>
);

/** Interactive: arrow keys move, Enter shows a tab, Delete closes it. */
function Tabs({ view }: { view: LiveView }) {
  const strip = useRef<HTMLDivElement>(null);
  const tabs = view.tabs.value;
  const focused = useSignal<string | null>(null);
  const active = view.activeTab.value?.tab_id;
  const stop = tabs.some(({ tab_id }) => tab_id === focused.value) ? focused.value : (active ?? tabs[0]?.tab_id);
  useEffect(() => {
    if (active) document.getElementById(tabElementId(active))?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [active]);

  const focus = (index: number) => {
    const tab = tabs[(index + tabs.length) % tabs.length];
    if (!tab) return;
    focused.value = tab.tab_id;
    document.getElementById(tabElementId(tab.tab_id))?.focus();
  };
  const close = (index: number) => {
    const tab = tabs[index];
    if (tab) view.send({ type: 'tab', action: 'close', tab_id: tab.tab_id });
    if (strip.current?.contains(document.activeElement)) focus(index === 0 ? 1 : index - 1);
  };
  const press = (event: KeyboardEvent, index: number) => {
    const moves: Readonly<Record<string, number>> = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: tabs.length - 1 };
    const to = moves[event.key];
    if (to === undefined && event.key !== 'Delete') return;
    event.preventDefault();
    if (to === undefined) close(index);
    else focus(to);
  };
  return (
    <div class="tabs-and-new">
      <div class="tabs" role="tablist" aria-label="Tabs of the session" ref={strip}>
        {tabs.map((tab, index) => (
          <button
            type="button"
            key={tab.tab_id}
            id={tabElementId(tab.tab_id)}
            class="tab"
            role="tab"
            title={titleOf(tab)}
            aria-selected={tab.active}
            aria-controls={tab.active ? stageId : undefined}
            aria-keyshortcuts="Delete"
            tabIndex={tab.tab_id === stop ? 0 : -1}
            onClick={() => view.send({ type: 'tab', action: 'activate', tab_id: tab.tab_id })}
            onAuxClick={(event) => event.button === 1 && close(index)}
            onFocus={() => (focused.value = tab.tab_id)}
            onKeyDown={(event) => press(event, index)}
          >
            <TabLabel tab={tab} />
            <CloseIcon onClose={() => close(index)} />
          </button>
        ))}
      </div>
      <button
        type="button"
        class="icon-button"
        aria-label="New tab"
        title="New tab"
        onClick={() => view.send({ type: 'tab', action: 'open' })}
      >
        <Icon name="plus" />
      </button>
    </div>
  );
}

/** Close icon for mouse and touch only: a tab cannot contain a button, and Delete closes it by keyboard. */
const CloseIcon = ({ onClose }: { onClose: () => void }) => (
  <span
    class="tab-close"
    aria-hidden="true"
    onClick={(event) => {
      event.stopPropagation();
      onClose();
    }}
  >
    <Icon name="close" />
  </span>
);

const TabLabel = ({ tab }: { tab: LiveTab }) => (
  <>
    {tab.status === 'loading' && <span class="spinner" aria-hidden="true" />}
    {tab.status === 'crashed' && <Icon name="alert" />}
    <bdi class="tab-title">{titleOf(tab)}</bdi>
    {tab.status !== 'complete' && <span class="visually-hidden">, {tab.status}</span>}
  </>
);
