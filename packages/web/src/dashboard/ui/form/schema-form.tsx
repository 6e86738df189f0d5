/** A form made from a JSON Schema: of a request of the API, or of the inputs of a flow or template. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { FieldIssue } from '../../api-error.ts';
import { Hint } from '../hint.tsx';
import { CheckField, SelectField, TextArea, TextField } from './fields.tsx';
import { SecretPairs } from './secret-pairs.tsx';
import { formOf, withoutNull, type JsonSchema } from './json-schema.ts';
import { wordsOf } from '../values/texts.ts';

export type FormValue = Record<string, unknown>;

export interface SchemaFormProps {
  schema: JsonSchema;
  value: FormValue;
  onChange: (value: FormValue) => void;
  /** What the service found wrong, by path. */
  issues?: readonly FieldIssue[];
  /** Only these fields, in this order. Default: all of them. */
  only?: readonly string[];
  /** Path of the form within the body, such as `inputs`. */
  within?: string;
  /** Whether all of it may be left empty, although it has required fields. */
  isOptional?: boolean;
}

/** `value` holds only what was entered: fields that are left empty are undefined, and the service's defaults apply. */
export function SchemaForm({ schema, value, onChange, issues = [], only, within = '', isOptional = false }: SchemaFormProps) {
  const { properties = {} } = schema;
  const isAbsent = isOptional && Object.values(value).every((inner) => inner === undefined);
  const required = isAbsent ? [] : (schema.required ?? []);
  const names = only ?? Object.keys(properties);
  return (
    <div class="form-grid">
      {names.map((name) => {
        const field = properties[name];
        if (!field) return null;
        const path = within ? `${within}.${name}` : name;
        return (
          <SchemaField
            key={name}
            name={name}
            path={path}
            schema={field}
            isRequired={required.includes(name)}
            value={value[name]}
            issues={issues}
            onChange={(next) => onChange({ ...value, [name]: next })}
          />
        );
      })}
    </div>
  );
}

interface SchemaFieldProps {
  name: string;
  path: string;
  schema: JsonSchema;
  isRequired: boolean;
  value: unknown;
  issues: readonly FieldIssue[];
  onChange: (value: unknown) => void;
}

function SchemaField({ name, path, schema, isRequired, value, issues, onChange }: SchemaFieldProps) {
  const form = formOf(schema, name);
  const label = `${schema.title ?? labelOf(name)}${isRequired ? ' (required)' : ''}`;
  const hint = schema.description ? <Hint text={schema.description} /> : undefined;
  const own = issues.filter(({ field }) => field === path || (form.kind !== 'group' && field.startsWith(`${path}.`)));
  const error = own.length > 0 ? own.map(({ message }) => message).join('. ') : undefined;
  const common = { label, hint, error };
  const fallback = placeholderOf(schema);
  switch (form.kind) {
    case 'check':
      return <CheckField {...common} isChecked={(value ?? schema.default ?? false) === true} onInput={onChange} />;
    case 'choice':
      return (
        <SelectField
          {...common}
          value={textOf(value)}
          options={[
            { value: '', label: fallback ? `Default: ${fallback}` : 'Default' },
            ...form.options.map((option) => ({ value: option, label: option })),
          ]}
          onInput={(text) => onChange(text || undefined)}
        />
      );
    case 'choices':
      return <Choices {...common} options={form.options} value={asList(value)} onChange={onChange} />;
    case 'number':
      return (
        <TextField
          {...common}
          type="number"
          min={form.min}
          max={form.max}
          step={form.isInteger ? 1 : 'any'}
          isRequired={isRequired}
          placeholder={fallback}
          value={textOf(value)}
          onInput={(text) => onChange(text === '' ? undefined : Number(text))}
        />
      );
    case 'lines':
      return <Lines {...common} placeholder={fallback} value={asList(value)} onChange={onChange} />;
    case 'pairs':
      return <Pairs {...common} value={value} onChange={onChange} />;
    case 'secret-pairs':
      return <SecretPairs {...common} value={value} onChange={onChange} />;
    case 'json':
      return <JsonField {...common} value={value} onChange={onChange} />;
    case 'long-text':
      return (
        <TextArea
          {...common}
          isRequired={isRequired}
          placeholder={fallback}
          value={textOf(value)}
          onInput={(text) => onChange(text || undefined)}
        />
      );
    case 'group':
      return (
        <fieldset class="form-group">
          <legend>{label}</legend>
          {hint && <p class="hint">{hint}</p>}
          {error && <p class="field-error">{error}</p>}
          <SchemaForm
            schema={form.schema}
            value={(value ?? {}) as FormValue}
            issues={issues}
            within={path}
            isOptional={!isRequired}
            onChange={(next) => onChange(Object.values(next).some((inner) => inner !== undefined) ? next : undefined)}
          />
        </fieldset>
      );
    default:
      return (
        <TextField
          {...common}
          type={form.kind === 'secret' ? 'password' : form.kind === 'url' ? 'url' : 'text'}
          isRequired={isRequired}
          autoComplete={form.kind === 'secret' ? 'new-password' : 'off'}
          placeholder={fallback}
          value={textOf(value)}
          onInput={(text) => onChange(text || undefined)}
        />
      );
  }
}

/** `timeout_seconds` becomes `Timeout (seconds)`. */
const labelOf = (name: string): string => wordsOf(name).replace(/ (seconds|ms|bytes|inches)$/, ' ($1)');

const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

const asList = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

function placeholderOf(full: JsonSchema): string | undefined {
  const { default: fallback, examples = [] } = withoutNull(full);
  const shown = fallback ?? (examples.length > 0 ? examples[0] : undefined);
  return typeof shown === 'string' || typeof shown === 'number' ? String(shown) : undefined;
}

interface PartProps {
  label: string;
  hint: ComponentChildren;
  error: string | undefined;
  onChange: (value: unknown) => void;
}

const Choices = ({
  label,
  hint,
  error,
  options,
  value,
  onChange,
}: PartProps & { options: readonly string[]; value: readonly string[] }) => (
  <fieldset class="form-group form-choices">
    <legend>{label}</legend>
    <p class="hint">{hint}</p>
    {error && <p class="field-error">{error}</p>}
    {options.map((option) => (
      <CheckField
        key={option}
        label={option}
        isChecked={value.includes(option)}
        onInput={(isChecked) => {
          const next = isChecked ? [...value, option] : value.filter((other) => other !== option);
          onChange(next.length > 0 ? next : undefined);
        }}
      />
    ))}
  </fieldset>
);

/** A list of texts, one on each line. */
function Lines({
  label,
  hint,
  error,
  placeholder,
  value,
  onChange,
}: PartProps & { value: readonly string[]; placeholder: string | undefined }) {
  const text = useSignal(value.join('\n'));
  const type = (next: string) => {
    text.value = next;
    const lines = next
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
    onChange(lines.length > 0 ? lines : undefined);
  };
  return (
    <TextArea
      label={label}
      hint={<>{hint} One on each line.</>}
      error={error}
      rows={3}
      placeholder={placeholder}
      value={text.value}
      onInput={type}
    />
  );
}

/** Names and values, one pair on each line. */
function Pairs({ label, hint, error, value, onChange }: PartProps & { value: unknown }) {
  const text = useSignal(
    Object.entries((value ?? {}) as Record<string, string>)
      .map(([name, part]) => `${name}: ${part}`)
      .join('\n'),
  );
  const problem = useSignal<string | undefined>(undefined);
  const type = (next: string) => {
    text.value = next;
    const pairs = next
      .split('\n')
      .filter((line) => line.trim())
      .map((line) => /^\s*([^:]+?)\s*:\s*(.*)$/.exec(line));
    problem.value = pairs.includes(null) ? 'Write each line as NAME: VALUE.' : undefined;
    if (problem.value) return;
    onChange(pairs.length > 0 ? Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? ''])) : undefined);
  };
  return (
    <TextArea
      label={label}
      hint={<>{hint} One on each line, as NAME: VALUE.</>}
      error={error ?? problem.value}
      rows={3}
      value={text.value}
      onInput={type}
    />
  );
}

function JsonField({ label, hint, error, value, onChange }: PartProps & { value: unknown }) {
  const text = useSignal(value === undefined ? '' : JSON.stringify(value, null, 2));
  const problem = useSignal<string | undefined>(undefined);
  const type = (next: string) => {
    text.value = next;
    try {
      onChange(next.trim() === '' ? undefined : JSON.parse(next));
      problem.value = undefined;
    } catch {
      problem.value = 'This is not valid JSON yet.';
    }
  };
  return <TextArea label={`${label}, as JSON`} hint={hint} error={error ?? problem.value} rows={5} value={text.value} onInput={type} />;
}
