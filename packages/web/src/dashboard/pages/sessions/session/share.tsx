import { useSignal } from '@preact/signals';
import type { SessionResponse, ViewTokenResponse } from '@berth/contract';
import { toShown, type ApiError } from '../../../api-error.ts';
import { call } from '../../../api.ts';
import { CodeBlock } from '../../../ui/values/copy.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { SelectField } from '../../../ui/form/fields.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { openLink } from '../../../ui/values/open-link.ts';
import { ErrorNote } from '../../../ui/states.tsx';
import { durationText } from '../../../ui/values/texts.ts';
import { toastError, toasts } from '../../../ui/toasts.ts';

const lifetimes = [60, 300, 900, 3600];

/** A link for somebody without a key, to watch or to control; and the window of a `full_browser` session. */
export function Share({ session, onRevoked }: { session: SessionResponse; onRevoked: () => void }) {
  const isOpen = useSignal(false);
  const openWindow = () => openLink(async () => (await call('createVncToken', { params: { session_id: session.session_id } })).url);
  return (
    <>
      {session.kind === 'full_browser' && (
        <button type="button" class="button" onClick={() => void openWindow().catch(toastError)}>
          <Icon name="external" />
          Open the window
        </button>
      )}
      <button type="button" class="button" onClick={() => (isOpen.value = true)}>
        <Icon name="share" />
        Share a link
      </button>
      <Dialog title="Share a link to this session" isOpen={isOpen.value} onClose={() => (isOpen.value = false)}>
        <ShareForm sessionId={session.session_id} onRevoked={onRevoked} />
      </Dialog>
    </>
  );
}

function ShareForm({ sessionId, onRevoked }: { sessionId: string; onRevoked: () => void }) {
  const scope = useSignal('view');
  const seconds = useSignal('300');
  const link = useSignal<ViewTokenResponse | null>(null);
  const error = useSignal<ApiError | null>(null);
  const params = { session_id: sessionId };
  const create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    error.value = null;
    try {
      link.value = await call('createViewToken', { params, body: { scope: scope.value, ttl_seconds: Number(seconds.value) } });
    } catch (failure) {
      error.value = toShown(failure);
    }
  };
  const revoke = async (): Promise<void> => {
    await call('revokeViewTokens', { params });
    link.value = null;
    onRevoked();
    toasts.show('All links to this session have been revoked.');
  };
  return (
    <form class="form" onSubmit={(event) => void create(event)}>
      <SelectField
        label="Who opens it can"
        value={scope.value}
        options={[
          { value: 'view', label: 'watch' },
          { value: 'control', label: 'watch and control' },
        ]}
        onInput={(value) => (scope.value = value)}
      />
      <SelectField
        label="It can be opened for"
        hint="A view that is open stays open until the session ends or its links are revoked."
        value={seconds.value}
        options={lifetimes.map((value) => ({ value: String(value), label: durationText(value * 1000) }))}
        onInput={(value) => (seconds.value = value)}
      />
      {error.value && <ErrorNote error={error.value} />}
      {link.value?.url && <CodeBlock label="the link" text={link.value.url} />}
      <div class="dialog-actions">
        <button type="button" class="button button-danger" onClick={() => void revoke().catch(toastError)}>
          Revoke all links
        </button>
        <button type="submit" class="button button-main">
          Create the link
        </button>
      </div>
    </form>
  );
}
