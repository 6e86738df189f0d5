import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import contractSchema from 'virtual:request-schema/InspectRequest';
import type { ApiError } from '../../../api-error.ts';
import { CopyButton } from '../../../ui/values/copy.tsx';
import { TextField } from '../../../ui/form/fields.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { compact } from '../../../ui/form/json-schema.ts';
import type { FormValue } from '../../../ui/form/schema-form.tsx';
import { ErrorNote } from '../../../ui/states.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { toUrl } from '../../../ui/values/to-url.ts';
import { toCurl } from '../curl.ts';
import { RequestOptions } from '../request-options.tsx';
import { countText } from '../../../ui/values/texts.ts';
import { readHarFile, type HarFile } from './har-file.ts';
import { harOptions, ownFields } from './inspect-request.ts';
import { toFormSchema } from '../schema-refs.ts';

const requestSchema = toFormSchema(contractSchema);
const optionFields = Object.keys(requestSchema.properties ?? {}).filter((name) => !ownFields.has(name));

interface InspectFormProps {
  initialUrl: string;
  isStarting: boolean;
  error: ApiError | null;
  onStart: (body: Record<string, unknown>) => Promise<void>;
}

export function InspectForm({ initialUrl, isStarting, error, onStart }: InspectFormProps) {
  const source = useSignal('url');
  const url = useSignal(initialUrl);
  const file = useSignal<HarFile | null>(null);
  const options = useSignal<FormValue>({});
  const isHar = source.value === 'har';
  const fields = isHar ? harOptions : optionFields;
  const chosen = Object.fromEntries(Object.entries((compact(options.value) ?? {}) as FormValue).filter(([name]) => fields.includes(name)));
  const har = file.value?.ok ? file.value : null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isHar) void onStart({ url: toUrl(url.value), ...chosen });
    else if (har) void onStart({ har: har.text, ...chosen });
  };
  const issues = error?.issues ?? [];
  return (
    <form class="form panel" onSubmit={submit}>
      <Tabs
        label="What to inspect"
        current={source.value}
        onChange={(id) => (source.value = id)}
        tabs={[
          { id: 'url', title: 'A site' },
          { id: 'har', title: 'A HAR file' },
        ]}
      >
        {isHar ? (
          <HarField file={file.value} onFile={(next) => (file.value = next)} />
        ) : (
          <TextField
            label="Address"
            placeholder="https://example.com/"
            value={url.value}
            isRequired
            error={issues.find(({ field }) => field === 'url')?.message}
            onInput={(text) => (url.value = text)}
          />
        )}
      </Tabs>
      <RequestOptions
        schema={requestSchema}
        only={fields}
        value={options.value}
        issues={issues}
        onChange={(value) => (options.value = value)}
      />
      {error && <ErrorNote error={error} />}
      <div class="row">
        <button type="submit" class="button button-main" disabled={isStarting || (isHar && !har)}>
          <Icon name="search" />
          {isStarting ? 'Starting' : 'Inspect'}
        </button>
        {!isHar && (
          <CopyButton text={toCurl(`${location.origin}/v1/inspect`, { url: toUrl(url.value), ...chosen })} what="as curl" isLabelled />
        )}
      </div>
    </form>
  );
}

function HarField({ file, onFile }: { file: HarFile | null; onFile: (file: HarFile | null) => void }) {
  const id = useId();
  const choose = async (input: HTMLInputElement): Promise<void> => {
    const [chosen] = input.files ?? [];
    onFile(chosen ? await readHarFile(chosen) : null);
  };
  return (
    <div class="form-field">
      <label class="automation-file">
        HAR file
        <input
          type="file"
          accept=".har,application/json"
          aria-describedby={`${id}-hint`}
          onChange={(event) => void choose(event.currentTarget)}
        />
      </label>
      <p id={`${id}-hint`} class="hint">
        The network panel of a browser exports one. At most 32 MB. Secrets in it are replaced before anything is kept.
      </p>
      <p role="status" class={file && !file.ok ? 'field-error' : 'muted'}>
        {file && (file.ok ? `${countText(file.entries, 'request')}${file.host && `, the first to ${file.host}`}.` : file.message)}
      </p>
    </div>
  );
}
