import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FetchFormat } from '@berth/contract';
import contractSchema from 'virtual:request-schema/FetchRequest';
import type { ApiError } from '../../../api-error.ts';
import { CopyButton } from '../../../ui/values/copy.tsx';
import { CheckField, SelectField, TextField } from '../../../ui/form/fields.tsx';
import { Icon } from '../../../ui/icons.tsx';
import { compact } from '../../../ui/form/json-schema.ts';
import type { FormValue } from '../../../ui/form/schema-form.tsx';
import { ErrorNote } from '../../../ui/states.tsx';
import { toUrl } from '../../../ui/values/to-url.ts';
import { toCurl } from '../curl.ts';
import { RequestOptions } from '../request-options.tsx';
import { isHttpFormat, toFetchBodies, type FetchForm, type PlaygroundMode } from './fetch-request.ts';
import { formatNames } from './fetch-texts.ts';
import { toFormSchema } from '../schema-refs.ts';

const requestSchema = toFormSchema(contractSchema);
const formats = Object.keys(formatNames) as FetchFormat[];
const firstFormats: readonly FetchFormat[] = ['html', 'markdown', 'text', 'links', 'metadata', 'screenshot'];
const modes: readonly { value: PlaygroundMode; label: string }[] = [
  { value: 'browser', label: 'Browser' },
  { value: 'http', label: 'Plain HTTP' },
  { value: 'auto', label: 'Automatic' },
  { value: 'compare', label: 'Compare plain HTTP and browser' },
];
/** What the form shows by itself, and what the page sets. */
const ownFields: ReadonlySet<string> = new Set(['url', 'formats', 'mode', 'async', 'metadata']);
const optionFields = Object.keys(requestSchema.properties ?? {}).filter((name) => !ownFields.has(name));

interface FetchFormViewProps {
  initialUrl: string;
  isStarting: boolean;
  error: ApiError | null;
  onStart: (form: FetchForm) => Promise<void>;
}

export function FetchFormView({ initialUrl, isStarting, error, onStart }: FetchFormViewProps) {
  const url = useSignal(initialUrl);
  const mode = useSignal<PlaygroundMode>('browser');
  const chosen = useSignal<readonly FetchFormat[]>(firstFormats);
  const options = useSignal<FormValue>({});
  useEffect(() => {
    if (initialUrl) url.value = initialUrl;
  }, [initialUrl]);
  const usable = chosen.value.filter((format) => mode.value !== 'http' || isHttpFormat(format));
  const form: FetchForm = { url: url.value, mode: mode.value, formats: usable, options: (compact(options.value) ?? {}) as FormValue };
  const toggle = (format: FetchFormat, isChosen: boolean) =>
    (chosen.value = formats.filter((other) => (other === format ? isChosen : chosen.value.includes(other))));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void onStart(form);
  };
  const issues = error?.issues ?? [];
  const commands = toFetchBodies({ ...form, url: toUrl(form.url) }).map((body) => toCurl(`${location.origin}/v1/fetch`, body));
  return (
    <form class="form panel" onSubmit={submit}>
      <div class="automation-line">
        <TextField
          label="Address"
          placeholder="https://example.com/"
          value={url.value}
          isRequired
          error={issues.find(({ field }) => field === 'url')?.message}
          onInput={(text) => (url.value = text)}
        />
        <SelectField label="Fetch with" value={mode.value} options={modes} onInput={(value) => (mode.value = value as PlaygroundMode)} />
      </div>
      <fieldset class="automation-choices">
        <legend>Formats</legend>
        {formats.map((format) => (
          <CheckField
            key={format}
            label={formatNames[format]}
            isChecked={chosen.value.includes(format)}
            onInput={(isChosen) => toggle(format, isChosen)}
          />
        ))}
      </fieldset>
      {mode.value === 'http' && usable.length < chosen.value.length && (
        <p class="muted">Plain HTTP has no screenshot, PDF or HAR. These are left out.</p>
      )}
      <RequestOptions
        schema={requestSchema}
        only={optionFields}
        value={options.value}
        issues={issues}
        onChange={(value) => (options.value = value)}
      />
      {error && <ErrorNote error={error} />}
      <div class="row">
        <button type="submit" class="button button-main" disabled={isStarting || usable.length === 0}>
          <Icon name="play" />
          {isStarting ? 'Starting' : 'Fetch'}
        </button>
        <CopyButton text={commands.join('\n\n')} what="as curl" isLabelled />
        {usable.length === 0 && <span class="muted">Choose a format.</span>}
      </div>
    </form>
  );
}
