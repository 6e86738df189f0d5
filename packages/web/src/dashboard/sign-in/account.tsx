import { useLocation } from 'preact-iso';
import { call } from '../api.ts';
import { credential, credentialNames, has, signOut, type CredentialKind } from './credentials.ts';
import { hrefOf } from '../href.ts';
import { useLive } from '../live.ts';
import { Icon } from '../ui/icons.tsx';
import { wordsOf } from '../ui/values/texts.ts';
import { maskedSecret } from '../ui/values/masked-secret.ts';

const kinds: readonly CredentialKind[] = ['key', 'login', 'admin'];

/** Who is signed in, with what, and how to change that. */
export function Account() {
  const signedIn = kinds.filter(has);
  const { path } = useLocation();
  return (
    <section class="account" aria-label="Account">
      {has('key') && <Owner key={credential('key')} />}
      <p class="visually-hidden">Signed in with {signedIn.map((kind) => credentialNames[kind]).join(', ')}.</p>
      <ul>
        {signedIn.map((kind) => (
          <li key={kind}>
            <span>
              {wordsOf(credentialNames[kind])} {kind === 'key' && <code>{maskedSecret(credential(kind) ?? '')}</code>}
            </span>
            {signedIn.length > 1 && (
              <button
                type="button"
                class="icon-button"
                title={`Forget the ${credentialNames[kind]}`}
                aria-label={`Forget the ${credentialNames[kind]}`}
                onClick={() => signOut(kind)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      <a class="side-link" href={hrefOf('/sign-in')} aria-current={path === hrefOf('/sign-in') ? 'page' : undefined}>
        <Icon name="key" />
        Add or switch a credential
      </a>
      <button type="button" class="side-link" onClick={() => signOut()}>
        <Icon name="exit" />
        Sign out
      </button>
    </section>
  );
}

/** The owner of the key and the plan; nothing where they cannot be read, as the pages say why. */
function Owner() {
  const live = useLive(async (signal) => {
    const [credits, usage] = await Promise.all([call('getCredits', { signal }), call('getUsage', { signal })]);
    return { owner: credits.owner, tier: usage.tier };
  });
  return (
    <p class="account-owner">
      <bdi>{live.data?.owner ?? '…'}</bdi>
      <span class="muted">{live.data ? `Plan ${live.data.tier}` : 'Plan …'}</span>
    </p>
  );
}
