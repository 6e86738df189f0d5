import { useSignal } from '@preact/signals';
import { liveViewBounds } from '@berth/contract/live-view';
import { Icon, type IconName } from '../shared/icons.tsx';
import { readAddress } from './address-entry.ts';
import type { LiveView } from './live-view.ts';
import { titleOf } from './tab-strip.tsx';

interface AddressBarProps {
  view: LiveView;
  /** Called when an address was entered: what is typed next is for the page. */
  onGo: () => void;
}

export const AddressBar = ({ view, onGo }: AddressBarProps) =>
  view.canControl.value ? <Navigation view={view} onGo={onGo} /> : <Watching view={view} />;

/** Address and title, as text. */
function Watching({ view }: { view: LiveView }) {
  const tab = view.activeTab.value;
  return (
    <>
      {view.scope.value !== null && view.link.state.value.is !== 'over' && <span class="badge">Watching</span>}
      {tab && (
        <p class="watched">
          <bdi class="watched-title">{titleOf(tab)}</bdi>
          <bdi class="watched-url" dir="ltr">
            {tab.url}
          </bdi>
        </p>
      )}
    </>
  );
}

function Navigation({ view, onGo }: AddressBarProps) {
  const isLoading = view.activeTab.value?.status === 'loading';
  const button = (to: 'back' | 'forward' | 'reload', label: string, icon: IconName) => (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={() => view.send({ type: 'navigate', to })}>
      <Icon name={icon} />
    </button>
  );
  return (
    <>
      {button('back', 'Back', 'back')}
      {button('forward', 'Forward', 'forward')}
      {button('reload', 'Reload', 'reload')}
      <AddressField view={view} onGo={onGo} />
      <span class="visually-hidden" role="status">
        {isLoading ? 'Loading' : ''}
      </span>
    </>
  );
}

/** Shows where the page is, unless somebody is typing another address. */
function AddressField({ view, onGo }: AddressBarProps) {
  const draft = useSignal<string | null>(null);
  const url = view.activeTab.value?.url ?? '';
  const go = (event: Event) => {
    event.preventDefault();
    const address = readAddress(draft.value ?? url);
    if (address === undefined) return view.toasts.say('That is no address. Type one such as example.com.');
    draft.value = null;
    view.send({ type: 'navigate', to: 'url', url: address });
    onGo();
  };
  return (
    <form class="address" onSubmit={go}>
      <input
        type="text"
        class="address-field"
        aria-label="Address"
        inputMode="url"
        enterkeyhint="go"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        dir="ltr"
        maxLength={liveViewBounds.urlChars}
        value={draft.value ?? (url === 'about:blank' ? '' : url)}
        placeholder="Go to an address"
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => (draft.value = event.currentTarget.value)}
        onBlur={() => (draft.value = null)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') draft.value = null;
        }}
      />
    </form>
  );
}
