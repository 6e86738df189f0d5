import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { AgentTaskResponse } from '@berth/contract';
import contractSchema from 'virtual:request-schema/AgentRequest';
import type { ApiError } from '../../../api-error.ts';
import { CopyButton } from '../../../ui/values/copy.tsx';
import { TextArea } from '../../../ui/form/fields.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { compact } from '../../../ui/form/json-schema.ts';
import { SchemaForm, type FormValue } from '../../../ui/form/schema-form.tsx';
import { ErrorNote } from '../../../ui/states.tsx';
import { toCurl } from '../curl.ts';
import { RequestOptions } from '../request-options.tsx';
import type { RunKind } from './flows.tsx';
import { toFormSchema, withoutSecrets } from '../schema-refs.ts';

const requestSchema = toFormSchema(contractSchema);
/** How a run is placed and limited. Templates have the same. */
const optionFields: readonly string[] = ['session_id', 'keep_session', 'region', 'kind', 'proxy', 'timeout_ms', 'max_steps'];

interface RunFormProps {
  kind: RunKind;
  item: AgentTaskResponse;
  isStarting: boolean;
  error: ApiError | null;
  onStart: (body: Record<string, unknown>) => Promise<void>;
}

/** `version` changes when the fields must be made anew. */
interface Inputs {
  value: FormValue;
  isJson: boolean;
  version: number;
}

export function RunForm({ kind, item, isStarting, error, onStart }: RunFormProps) {
  const schema = useMemo(() => toFormSchema(item.inputs), [item]);
  const inputs = useSignal<Inputs>({ value: {}, isJson: false, version: 0 });
  const options = useSignal<FormValue>({});
  const { value, isJson, version } = inputs.value;
  const change = (next: Partial<Inputs>) => (inputs.value = { ...inputs.value, ...next });
  const entered = isJson ? value : ((compact(value) ?? {}) as FormValue);
  const bodyOf = (values: FormValue) => ({
    [kind === 'flows' ? 'task' : 'template']: item.name,
    inputs: values,
    ...((compact(options.value) ?? {}) as FormValue),
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void onStart(bodyOf(entered));
  };
  const issues = error?.issues ?? [];
  const address = `${location.origin}${kind === 'flows' ? '/v1/agent' : '/v1/template'}`;
  return (
    <form class="form panel" onSubmit={submit} aria-label="Inputs">
      {isJson ? (
        <JsonInputs key={version} value={value} onChange={(next) => change({ value: next })} />
      ) : (
        <SchemaForm
          key={version}
          schema={schema}
          value={value}
          issues={issues}
          within="inputs"
          onChange={(next) => change({ value: next })}
        />
      )}
      <div class="row">
        <button type="button" class="button" onClick={() => change({ value: item.example, version: version + 1 })}>
          Use the example
        </button>
        <button
          type="button"
          class="button"
          aria-pressed={isJson}
          onClick={() => change({ value: entered, isJson: !isJson, version: version + 1 })}
        >
          <Icon name="code" />
          Edit as JSON
        </button>
      </div>
      <RequestOptions
        title="Browser, session and limits"
        schema={requestSchema}
        only={optionFields}
        value={options.value}
        issues={issues}
        onChange={(value) => (options.value = value)}
      />
      {error && <ErrorNote error={error} />}
      <div class="row">
        <button type="submit" class="button button-main" disabled={isStarting}>
          <Icon name="play" />
          {isStarting ? 'Starting' : 'Run'}
        </button>
        <CopyButton text={toCurl(address, bodyOf(withoutSecrets(entered, schema)))} what="as curl" isLabelled />
      </div>
    </form>
  );
}

function JsonInputs({ value, onChange }: { value: FormValue; onChange: (value: FormValue) => void }) {
  const text = useSignal(JSON.stringify(value, null, 2));
  const problem = useSignal<string | undefined>(undefined);
  const type = (next: string) => {
    text.value = next;
    const parsed = parseObject(next);
    problem.value = parsed ? undefined : 'This is not a JSON object yet.';
    if (parsed) onChange(parsed);
  };
  return <TextArea label="Inputs as JSON" rows={12} value={text.value} error={problem.value} onInput={type} />;
}

function parseObject(text: string): FormValue | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
