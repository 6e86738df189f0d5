import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { toShown, type ApiError } from './api-error.ts';
import { call } from './api.ts';
import { config } from './config.ts';
import { credentialNames, has, isRemembered, refusals, signIn, type CredentialKind } from './credentials.ts';
import { startSignIn } from './dev-sign-in.ts';
import { CheckField, TextField } from './ui/fields.tsx';
import { ErrorNote } from './ui/states.tsx';
import { askForLiveView } from '../shared/live-view-access.ts';
import { Tabs } from './ui/tabs.tsx';
import { toastError } from './ui/toasts.ts';

const hints: Record<CredentialKind, string> = {
  key: 'For sessions and all other work. The first start of the service printed one, and stored it in its data directory as api-key.',
  login: 'From your identity provider. It opens keys and billing, and can create an API key.',
  admin: 'The operator’s key. The first start of the service printed it, and stored it in its data directory as admin-key.',
};

const tabs: readonly { id: CredentialKind; title: string }[] = [
  { id: 'key', title: 'API key' },
  { id: 'login', title: 'Login' },
  { id: 'admin', title: 'Operator' },
];

/** The whole page, before anybody has signed in. */
export function SignInPage() {
  const sessionId = /^\/dashboard\/sessions\/([\w-]+)\/live$/.exec(location.pathname)?.[1];
  useEffect(() => {
    document.title = 'Sign in · Berth';
    // A tab that was busy may still answer.
    if (sessionId !== undefined) askForLiveView(sessionId);
  }, []);
  return (
    <main class="sign-in-page">
      <div class="card sign-in-card">
        <h1>Berth</h1>
        {sessionId === undefined ? (
          <p>Sign in to create browser sessions, watch them, and do everything that the API does.</p>
        ) : (
          <p>
            Sign in to see the live view of <code>{sessionId}</code>, with an API key of its owner. If the session is not yours, ask its
            owner for a link.
          </p>
        )}
        <SignIn />
        <p class="sign-in-foot">
          <a href="/docs/quickstart">Quickstart</a> · <a href="/docs">API reference</a> · <a href="/">About this service</a>
        </p>
      </div>
    </main>
  );
}

interface SignInProps {
  /** The one that is needed. */
  only?: CredentialKind;
  onSignedIn?: (kind: CredentialKind) => void;
}

/** Takes a credential, and tries it before it counts. */
export function SignIn({ only, onSignedIn }: SignInProps) {
  const refused = tabs.find(({ id }) => refusals.value[id] !== undefined)?.id;
  const kind = useSignal<CredentialKind>(only ?? refused ?? 'key');
  if (only)
    return (
      <>
        {only === 'key' && has('login') && <KeyOfTab />}
        <CredentialForm key={only} kind={only} />
      </>
    );
  return (
    <Tabs label="Ways to sign in" tabs={tabs} current={kind.value} onChange={(id) => (kind.value = id as CredentialKind)}>
      <CredentialForm key={kind.value} kind={kind.value} onSignedIn={onSignedIn} />
    </Tabs>
  );
}

function CredentialForm({ kind, onSignedIn }: { kind: CredentialKind; onSignedIn?: SignInProps['onSignedIn'] }) {
  const text = useSignal('');
  const remember = useSignal(isRemembered.peek());
  const isChecking = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const settings = config.value?.sign_in;
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    isChecking.value = true;
    error.value = await check(kind, text.value.trim(), remember.value);
    isChecking.value = false;
    if (!error.value) onSignedIn?.(kind);
  };
  if (kind === 'login' && settings && !settings.login)
    return <p class="muted">This service accepts no login tokens. The operator can set up an identity provider.</p>;
  const reason = refusals.value[kind];
  return (
    <form class="sign-in-form" onSubmit={(event) => void submit(event)}>
      {reason && !error.value && (
        <p class="field-error" role="alert">
          {reason}
        </p>
      )}
      {kind === 'login' && settings?.development && <DevelopmentSignIn remember={remember.value} />}
      <TextField
        label={kind === 'key' ? 'API key' : kind === 'login' ? 'Login token' : 'Admin key'}
        type="password"
        autoComplete="off"
        isRequired
        hint={kind === 'login' && settings?.issuer ? `${hints.login} The provider is ${settings.issuer}.` : hints[kind]}
        value={text.value}
        onInput={(value) => (text.value = value)}
      />
      <CheckField
        label="Keep me signed in while this tab is open"
        hint="Otherwise the credential is forgotten when the page is reloaded."
        isChecked={remember.value}
        onInput={(value) => (remember.value = value)}
      />
      {error.value && <ErrorNote error={error.value} />}
      <button type="submit" class="button button-main" disabled={isChecking.value || text.value.trim() === ''}>
        {isChecking.value ? 'Checking' : `Sign in with this ${credentialNames[kind]}`}
      </button>
    </form>
  );
}

/** Who signed in with a login token needs no key at hand: the service creates one that expires soon. */
function KeyOfTab() {
  const isCreating = useSignal(false);
  const create = async (): Promise<void> => {
    isCreating.value = true;
    try {
      const { key } = await call('createOwnKey', { body: { name: 'Dashboard', expires_in_days: 1 } });
      if (key !== null) signIn('key', key);
    } catch (error) {
      toastError(error);
      isCreating.value = false;
    }
  };
  return (
    <div class="dev-sign-in">
      <button type="button" class="button button-main" disabled={isCreating.value} onClick={() => void create()}>
        Create an API key for this tab
      </button>
      <p class="hint">It expires after a day. You can revoke it on the page of your keys.</p>
    </div>
  );
}

const DevelopmentSignIn = ({ remember }: { remember: boolean }) => (
  <div class="dev-sign-in">
    <button type="button" class="button button-main" onClick={() => void startSignIn({ remember }).catch(toastError)}>
      Use the development sign-in
    </button>
    <p class="hint">Without a password, on this machine only. You choose who you are.</p>
  </div>
);

/** Signs in and asks the service; a credential that it refuses is dropped again. */
async function check(kind: CredentialKind, value: string, remember: boolean): Promise<ApiError | null> {
  if (!/^[\x21-\x7e]+$/.test(value))
    return toShown(new Error('This is not a key: it contains blanks or special characters. Copy it again.'));
  const { isTaken, error } = await attempt(kind, value);
  if (isTaken) signIn(kind, value, { remember });
  return error;
}

const probes = {
  key: ['listRegions', 'authorization'],
  login: ['listOwnKeys', 'authorization'],
  admin: ['listKeys', 'x-admin-key'],
} as const;

async function attempt(kind: CredentialKind, value: string): Promise<{ isTaken: boolean; error: ApiError | null }> {
  const [operation, header] = probes[kind];
  try {
    await call(operation, { headers: { [header]: kind === 'admin' ? value : `Bearer ${value}` } });
    return { isTaken: true, error: null };
  } catch (failure) {
    return { isTaken: false, error: toShown(failure) };
  }
}
