import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { kindOfSecret } from './credential-kind.ts';
import { toShown, type ApiError } from '../api-error.ts';
import { call } from '../api.ts';
import { config } from '../config.ts';
import { has, isRemembered, refusals, signIn, type CredentialKind } from './credentials.ts';
import { startSignIn } from './dev-sign-in.ts';
import { linkError } from './sign-in-link.ts';
import { CheckField, TextField } from '../ui/form/fields.tsx';
import { ErrorNote } from '../ui/states.tsx';
import { askForLiveView } from '../../shared/link/live-view-access.ts';
import { toastError } from '../ui/toasts.ts';

const hints: Record<CredentialKind, string> = {
  key: 'For sessions and all other work. The first start of the service printed one, and stored it in its data directory as api-key.',
  login: 'From your identity provider. It opens keys and billing, and can create an API key.',
  admin: 'The operator’s key. The first start of the service printed it, and stored it in its data directory as admin-key.',
};

const kinds: readonly CredentialKind[] = ['key', 'login', 'admin'];

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
  only?: CredentialKind | undefined;
  onSignedIn?: ((kind: CredentialKind) => void) | undefined;
}

/** Takes a credential, which it knows by its beginning, and tries it before it counts. */
export function SignIn({ only, onSignedIn }: SignInProps) {
  return (
    <>
      {only === 'key' && has('login') && <KeyOfTab />}
      <CredentialForm only={only} onSignedIn={onSignedIn} />
    </>
  );
}

const connectTokenText = 'This is a connect token: it opens a browser for a program, and nobody signs in with it. Paste an API key.';

function CredentialForm({ only, onSignedIn }: SignInProps) {
  const text = useSignal('');
  const remember = useSignal(isRemembered.peek());
  const isChecking = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const settings = config.value?.sign_in;
  const secret = text.value.trim();
  const known = kindOfSecret(secret);
  const kind = only ?? (known === 'connect' ? 'key' : known);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    isChecking.value = true;
    error.value = known === 'connect' ? toShown(new Error(connectTokenText)) : await check(kind, secret, remember.value);
    isChecking.value = false;
    if (!error.value) onSignedIn?.(kind);
  };
  if (only === 'login' && settings && !settings.login)
    return <p class="muted">This service accepts no login tokens. The operator can set up an identity provider.</p>;
  const refused = kinds.filter((each) => only === undefined || each === only).flatMap((each) => refusals.value[each] ?? []);
  const reasons = linkError.value === null ? refused : [linkError.value, ...refused];
  return (
    <form class="sign-in-form" onSubmit={(event) => void submit(event)}>
      {!error.value &&
        reasons.map((reason) => (
          <p key={reason} class="field-error" role="alert">
            {reason}
          </p>
        ))}
      <TextField
        label={only === undefined ? `API key${settings?.login === false ? '' : ', login token'} or admin key` : fieldNames[only]}
        type="password"
        autoComplete="off"
        isRequired
        hint={only === undefined && secret === '' ? firstHint : hintFor(kind)}
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
      <button type="submit" class="button button-main" disabled={isChecking.value || secret === ''}>
        {isChecking.value ? 'Checking' : 'Sign in'}
      </button>
      {(only === undefined || only === 'login') && settings?.development && <DevelopmentSignIn remember={remember.value} />}
    </form>
  );
}

const fieldNames: Record<CredentialKind, string> = { key: 'API key', login: 'Login token', admin: 'Admin key' };
const firstHint =
  'The page knows which it is. The first start of the service printed its keys, and stored them in its data directory as api-key and admin-key.';

/** What the secret is taken for, while it is typed. */
function hintFor(kind: CredentialKind): string {
  const issuer = config.value?.sign_in.issuer;
  return `${fieldNames[kind]}. ${hints[kind]}${kind === 'login' && issuer ? ` The provider is ${issuer}.` : ''}`;
}

/** Who signed in with a login token needs no key at hand: the service creates one that expires soon. */
function KeyOfTab() {
  const isCreating = useSignal(false);
  const create = async (): Promise<void> => {
    isCreating.value = true;
    try {
      const { key, expires_at: expiresAt } = await call('createOwnKey', { body: { name: 'Dashboard', expires_in_days: 1 } });
      if (key !== null) signIn('key', key, { expiresAt });
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
    <button type="button" class="button" onClick={() => void startSignIn({ remember }).catch(toastError)}>
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
