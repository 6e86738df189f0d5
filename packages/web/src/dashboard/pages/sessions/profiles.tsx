/** Profiles: what browsers keep between sessions, with a sign-in by hand that fills one. */
import { useSignal } from '@preact/signals';
import type { ProfileResponse } from '@berth/contract';
import { useLocation } from 'preact-iso';
import { call, callPage } from '../../api.ts';
import { hrefOf } from '../../href.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/form/fields.tsx';
import { ErrorNote, Empty } from '../../ui/states.tsx';
import { List, type Column } from '../../ui/table.tsx';
import { numberText, sizeText } from '../../ui/values/texts.ts';
import { Time } from '../../ui/values/time.tsx';
import { toasts } from '../../ui/toasts.ts';
import { useSending } from '../../ui/form/use-sending.ts';
import { usePages } from '../../use-pages.ts';

const refreshMs = 5000;

/** What is open over the list: `profile` is null for a new one. */
type Open = { act: 'sign-in'; profile: ProfileResponse | null } | { act: 'delete'; profile: ProfileResponse } | null;

export default function ProfilesPage() {
  const open = useSignal<Open>(null);
  const { live, onMore } = usePages<ProfileResponse>(({ cursor, signal }) => callPage('listProfiles', { query: { cursor }, signal }), {
    everyMs: refreshMs,
  });
  const close = (): void => {
    open.value = null;
  };
  const remove = async (): Promise<void> => {
    if (open.value?.act !== 'delete') return;
    await call('deleteProfile', { params: { profile_id: open.value.profile.profile_id } });
    toasts.show('The profile is deleted.');
    await live.reload();
  };
  const current = open.value;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Profiles</h1>
        <button type="button" class="button button-main" onClick={() => (open.value = { act: 'sign-in', profile: null })}>
          Sign in by hand and save
        </button>
      </div>
      <p class="muted">
        A profile keeps cookies, local storage and databases between sessions, encrypted: sign in once, and start later sessions signed in.
      </p>
      <List
        live={live}
        caption="Profiles"
        name="main"
        columns={columnsOf((next) => (open.value = next))}
        keyOf={({ profile_id: id }) => id}
        onMore={onMore}
        empty={
          <Empty icon="database" title="No profiles yet">
            Sign in to a site by hand and save it, or create a session with <code>profile</code> and <code>save_changes</code>.
          </Empty>
        }
      />
      <Dialog title="Sign in by hand and save" isOpen={current?.act === 'sign-in'} onClose={close}>
        <SignInForm name={current?.profile?.name ?? ''} onClose={close} />
      </Dialog>
      <Confirm
        title="Delete the profile"
        text={
          <>
            Its cookies and storage are deleted. Sessions that start with <bdi>{current?.profile?.name}</bdi> afterwards are refused. This
            cannot be undone.
          </>
        }
        action="Delete the profile"
        isOpen={current?.act === 'delete'}
        onClose={close}
        onConfirm={remove}
      />
    </div>
  );
}

/** Starts a session that saves the profile at its end, and opens its live view. */
function SignInForm({ name, onClose }: { name: string; onClose: () => void }) {
  const { route } = useLocation();
  const profile = useSignal(name);
  const url = useSignal('');
  const { isSending, error, send } = useSending();
  const start = async (): Promise<void> => {
    const body = { profile: { name: profile.value.trim(), save_changes: true }, ...(url.value === '' ? {} : { start_url: url.value }) };
    const session = await call('createSession', { query: { wait: false }, body });
    onClose();
    route(hrefOf(`/sessions/${session.session_id}`));
    toasts.show('Sign in, then end the session: the profile is saved with it.');
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void send(start);
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField
        label="Name of the profile"
        isRequired
        hint="Up to 64 characters. A profile of this name is used and saved; without one it is created."
        value={profile.value}
        onInput={(value) => (profile.value = value)}
      />
      <TextField
        label="Address to sign in at"
        type="url"
        hint="It may stay empty: the browser has an address bar."
        value={url.value}
        onInput={(value) => (url.value = value)}
      />
      <p class="hint">The browser opens in its live view. Sign in there, and end the session: that saves the profile.</p>
      {error && <ErrorNote error={error} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button button-main" disabled={isSending}>
          {isSending ? 'Starting' : 'Open the browser'}
        </button>
      </div>
    </form>
  );
}

const columnsOf = (onOpen: (open: Open) => void): readonly Column<ProfileResponse>[] => [
  { title: 'Name', cell: ({ name }) => <bdi class="cell-text">{name}</bdi>, text: ({ name }) => name },
  { title: 'Saved', cell: ({ saved_at: at }) => <Time at={at} />, text: ({ saved_at: at }) => at },
  { title: 'Version', cell: ({ version }) => version, text: ({ version }) => version, isNumber: true, isMinor: true },
  { title: 'Size', cell: ({ size_bytes: size }) => sizeText(size), text: ({ size_bytes: size }) => size, isNumber: true, isMinor: true },
  { title: 'Cookies', cell: ({ cookies }) => numberText(cookies), text: ({ cookies }) => cookies, isNumber: true, isMinor: true },
  { title: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} />, text: ({ last_used_at: at }) => at, isMinor: true },
  {
    title: 'Saved by',
    cell: ({ writer_session_id: id }) =>
      id === null ? <span class="muted">no session</span> : <a href={hrefOf(`/sessions/${id}`)}>Running session</a>,
    text: ({ writer_session_id: id }) => id,
    isMinor: true,
  },
  {
    title: 'Actions',
    cell: (profile) => (
      <span class="row">
        <button
          type="button"
          class="button"
          aria-label={`Sign in again with ${profile.name}`}
          disabled={profile.writer_session_id !== null}
          onClick={() => onOpen({ act: 'sign-in', profile })}
        >
          Sign in again
        </button>
        <button type="button" class="button" aria-label={`Delete ${profile.name}`} onClick={() => onOpen({ act: 'delete', profile })}>
          Delete
        </button>
      </span>
    ),
  },
];
