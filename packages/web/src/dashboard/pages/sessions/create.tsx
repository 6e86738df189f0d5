import { useSignal } from '@preact/signals';
import type { SessionResponse } from '@berth/contract';
import { useLocation } from 'preact-iso';
import schema from 'virtual:request-schema/CreateSessionRequest';
import { toShown, type ApiError } from '../../api-error.ts';
import { call } from '../../api.ts';
import { config } from '../../config.ts';
import { hrefOf } from '../../href.ts';
import { useLive } from '../../live.ts';
import { compact, type JsonSchema } from '../../ui/form/json-schema.ts';
import { CodeBlock } from '../../ui/values/copy.tsx';
import { SchemaForm, type FormValue } from '../../ui/form/schema-form.tsx';
import { ErrorNote, Loaded } from '../../ui/states.tsx';
import { missingText, optionsOf } from './session/run-again.ts';
import { nameOf } from './session-state.tsx';
import { frequentOptions, optionGroups } from './create-groups.ts';
import { curlOf } from './snippets.ts';

/** Somebody who starts a session by hand wants to look at it afterwards. */
const initial: FormValue = { record: true };

/** The form; after “Run again” with the options of that session. */
export default function CreateSession() {
  const { query } = useLocation();
  const again = query['again'];
  const live = useLive((signal) => call('getSession', { params: { session_id: again ?? '' }, signal }), { isEnabled: again !== undefined });
  if (again === undefined) return <CreateForm value={initial} />;
  return (
    <>
      {!live.data && (
        <div class="page">
          <h1>Create a session</h1>
          <Loaded live={live} loading="Reading the options">
            {() => null}
          </Loaded>
        </div>
      )}
      {live.data && <CreateForm value={optionsOf(live.data)} like={live.data} />}
    </>
  );
}

function CreateForm({ value: first, like }: { value: FormValue; like?: SessionResponse }) {
  const value = useSignal<FormValue>(first);
  const error = useSignal<ApiError | null>(null);
  const isCreating = useSignal(false);
  const { route } = useLocation();
  const create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    isCreating.value = true;
    error.value = null;
    try {
      const session = await call('createSession', { query: { wait: false }, body: bodyOf(value.value) });
      route(hrefOf(`/sessions/${session.session_id}`));
    } catch (failure) {
      error.value = toShown(failure);
      isCreating.value = false;
    }
  };
  const issues = error.value?.issues ?? [];
  const form = { schema: withRegions(schema), value: value.value, onChange: (next: FormValue) => (value.value = next), issues };
  return (
    <div class="page">
      <h1>Create a session</h1>
      {like && (
        <p class="muted">
          With the options of <bdi>{nameOf(like)}</bdi>. {missingText(like)}
        </p>
      )}
      <form class="form" onSubmit={(event) => void create(event)}>
        <div class="panel">
          <SchemaForm {...form} only={frequentOptions} />
        </div>
        {optionGroups.map(({ title, fields }) => (
          <details key={title} class="panel" open={fields.some((field) => issues.some((issue) => issue.field.startsWith(field)))}>
            <summary>{title}</summary>
            <SchemaForm {...form} only={fields} />
          </details>
        ))}
        {error.value && <ErrorNote error={error.value} />}
        <div class="row">
          <button type="submit" class="button button-main" disabled={isCreating.value}>
            {isCreating.value ? 'Creating the session' : 'Create the session'}
          </button>
          <a class="button" href={hrefOf('/sessions')}>
            Cancel
          </a>
        </div>
        <details class="panel">
          <summary>The same as a command</summary>
          <CodeBlock label="the command" text={curlOf({ path: '/v1/session', body: bodyOf(value.value), origin: location.origin })} />
        </details>
      </form>
    </div>
  );
}

const bodyOf = (value: FormValue): FormValue => (compact(value) ?? {}) as FormValue;

/** Returns the schema with the regions of this service as a choice. */
function withRegions(full: JsonSchema): JsonSchema {
  const regions = config.value?.regions ?? [];
  const { region } = full.properties ?? {};
  if (!region || regions.length === 0) return full;
  const [own] = regions.filter((entry) => entry.default);
  const choice: JsonSchema = {
    description: region.description ?? '',
    type: 'string',
    enum: regions.map(({ code }) => code),
    ...(own ? { default: own.code } : {}),
  };
  return { ...full, properties: { ...full.properties, region: choice } };
}
