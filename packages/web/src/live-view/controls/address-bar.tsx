import { useSignal } from '@preact/signals';
import { liveViewBounds } from '@berth/contract/live-view';
import { Icon, type IconName } from '../../shared/icons.tsx';
import { parseAddress } from './address-entry.ts';
import type { LiveView } from '../live-view.ts';
import { titleOf } from './tab-strip.tsx';

interface AddressBarProps {
  view: LiveView;
  /** Called after an address was entered, so that the focus can move to the page. */
  onNavigate: () => void;
}

export const AddressBar = ({ view, onNavigate }: AddressBarProps) =>
  view.canControl.value ? <Navigation view={view} onNavigate={onNavigate} /> : <Watching view={view} />;

/** Address and title, as text. */
function Watching({ view }: { view: LiveView }) {
  const tab = view.activeTab.value;
  return (
    <>
      {view.scope.value !== null && view.link.state.value.status !== 'ended' && <span class="badge">View only</span>}
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

function Navigation({ view, onNavigate }: AddressBarProps) {
  const isLoading = view.activeTab.value?.status === 'loading';
  const history = view.state.value?.history;
  const button = (to: 'back' | 'forward' | 'reload', label: string, icon: IconName) => (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      disabled={to !== 'reload' && history?.[to] !== true}
      onClick={() => view.send({ type: 'navigate', to })}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <>
      {button('back', 'Back', 'back')}
      {button('forward', 'Forward', 'forward')}
      {button('reload', 'Reload', 'reload')}
      <AddressField view={view} onNavigate={onNavigate} />
      <span class="visually-hidden" role="status">
        {isLoading ? 'Loading' : ''}
      </span>
    </>
  );
}

/** Shows the page's address, except while another one is typed. */
function AddressField({ view, onNavigate }: AddressBarProps) {
  const draft = useSignal<string | null>(null);
  const url = view.activeTab.value?.url ?? '';
  const submit = (event: Event) => {
    event.preventDefault();
    const address = parseAddress(draft.value ?? url);
    if (address === undefined) return view.toasts.show('This is not a valid address. Enter one like example.com.');
    draft.value = null;
    view.send({ type: 'navigate', to: 'url', url: address });
    onNavigate();
  };
  return (
    <form class="address" onSubmit={submit}>
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
        placeholder="Enter an address"
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
