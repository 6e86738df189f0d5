import { useSignal } from '@preact/signals';
import { useLocation } from 'preact-iso';
import { useEffect, useId, useRef } from 'preact/hooks';
import { KeyTable } from '../../shared/popover.tsx';
import { call } from '../api.ts';
import { has, signOut, type CredentialKind } from '../sign-in/credentials.ts';
import { hrefOf } from '../href.ts';
import { pages } from '../pages.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type DashboardIcon } from '../ui/icons.tsx';
import { toastError, toasts } from '../ui/toasts.ts';
import { find, idCommands, pageCommands, sessionCommands, snippetsFor, type Command as CommandOf, type CommandMatch } from './commands.ts';
import { helpIsOpen, listenForShortcuts, modifier, paletteIsOpen, shortcuts } from './shortcuts.ts';
import './palette.css';

type Command = CommandOf<DashboardIcon>;

const sessionsMax = 200;

/** The palette and the help for keys, on every page. */
export function Palette({ canOpen }: { canOpen: (audience: CredentialKind) => boolean }) {
  useEffect(() => {
    const stop = new AbortController();
    listenForShortcuts(stop.signal);
    return () => {
      stop.abort();
      paletteIsOpen.value = false;
      helpIsOpen.value = false;
    };
  }, []);
  return (
    <>
      {paletteIsOpen.value && <PaletteDialog canOpen={canOpen} />}
      <Dialog title="Keyboard shortcuts" isOpen={helpIsOpen.value} onClose={() => (helpIsOpen.value = false)}>
        <KeyTable keys={shortcuts} />
      </Dialog>
    </>
  );
}

export const PaletteButton = () => (
  <button type="button" class="palette-button" aria-keyshortcuts="Control+K Meta+K" onClick={() => (paletteIsOpen.value = true)}>
    <Icon name="search" />
    <span>Search</span>
    <kbd aria-hidden="true">{modifier} K</kbd>
  </button>
);

function PaletteDialog({ canOpen }: { canOpen: (audience: CredentialKind) => boolean }) {
  const { route } = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const query = useSignal('');
  const current = useSignal(0);
  const sessions = useSignal<readonly Command[]>([]);
  const id = useId();
  const go = (path: string): void => route(hrefOf(path));
  useEffect(() => {
    dialog.current?.showModal();
    const stop = new AbortController();
    // The dialog itself is hit only beside its content.
    dialog.current?.addEventListener('click', ({ target }) => target === dialog.current && dialog.current?.close(), stop);
    if (has('key'))
      void call('listSessions', { query: { limit: sessionsMax }, signal: stop.signal })
        .then((list) => (sessions.value = sessionCommands(list, go)))
        // Pages and actions work without them.
        .catch(() => undefined);
    return () => stop.abort();
  }, []);
  const offered = pages.filter(({ audience }) => canOpen(audience));
  const matches = find([...pageCommands(offered, go), ...actions(go), ...sessions.value], query.value);
  const results: CommandMatch<DashboardIcon>[] = [
    ...idCommands(query.value, go).map((command) => ({ command, match: { score: 0, at: [] } })),
    ...matches,
  ];
  const selected = Math.min(current.value, results.length - 1);
  const run = (command: Command | undefined): void => {
    if (!command) return;
    paletteIsOpen.value = false;
    void Promise.resolve(command.run()).catch(toastError);
  };
  const press = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined && results.length > 0) current.value = (selected + step + results.length) % results.length;
    else if (event.key === 'Enter' && !event.isComposing) run(results[selected]?.command);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Search pages, sessions and actions" onClose={() => (paletteIsOpen.value = false)}>
      <div class="palette-field">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search pages, sessions and actions"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={results[selected] ? `${id}-${selected}` : undefined}
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          placeholder="A page, an action, or a session’s id or name"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
            current.value = 0;
          }}
          onKeyDown={press}
          // A modal dialog has been opened for this field.
          autofocus
        />
      </div>
      <div id={`${id}-list`} class="palette-list" role="listbox" aria-label="Results">
        {results.map(({ command }, index) => (
          <Option key={command.id} id={`${id}-${index}`} command={command} isSelected={index === selected} onRun={() => run(command)} />
        ))}
      </div>
      {results.length === 0 && (
        <p class="palette-none" role="status">
          Nothing matches.
        </p>
      )}
    </dialog>
  );
}

interface OptionProps {
  id: string;
  command: Command;
  isSelected: boolean;
  onRun: () => void;
}

/** Chosen with the arrow keys in the field, which keeps the focus, or with the pointer. */
function Option({ id, command: { title, hint, icon }, isSelected, onRun }: OptionProps) {
  const item = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isSelected) item.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  return (
    <button type="button" ref={item} id={id} role="option" tabIndex={-1} aria-selected={isSelected} class="palette-option" onClick={onRun}>
      <Icon name={icon} />
      <bdi class="palette-title">{title}</bdi>
      {hint && <bdi class="palette-hint">{hint}</bdi>}
    </button>
  );
}

/** What is done from anywhere. */
const actions = (go: (path: string) => void): Command[] => [
  ...snippetsFor(location.origin).map(({ what, text }): Command => ({
    id: `copy:${what}`,
    title: `Copy ${what}`,
    icon: 'copy',
    hint: 'Action',
    run: () => copy(what, text),
  })),
  { id: 'guides', title: 'Read the guides', icon: 'file', hint: 'Action', run: () => location.assign('/docs/guides') },
  { id: 'reference', title: 'Read the API reference', icon: 'code', hint: 'Action', run: () => location.assign('/docs') },
  { id: 'credential', title: 'Add a credential', icon: 'key', hint: 'Action', run: () => go('/sign-in') },
  {
    id: 'keys',
    title: 'Show keyboard shortcuts',
    icon: 'keyboard',
    hint: 'Action',
    run: () => {
      helpIsOpen.value = true;
    },
  },
  { id: 'sign-out', title: 'Sign out of everything', icon: 'exit', hint: 'Action', run: () => signOut() },
];

async function copy(what: string, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toasts.show(`Copied ${what}.`);
  } catch {
    toasts.show('The browser does not allow this page to use the clipboard.');
  }
}
