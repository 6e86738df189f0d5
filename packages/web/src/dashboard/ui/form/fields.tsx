/** Form fields, each with its label, hint and error. */
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { toUrl } from '../values/to-url.ts';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
}

interface FrameProps extends FieldProps {
  children: (ids: { id: string; describedBy: string | undefined }) => JSX.Element;
}

function Frame({ label, hint, error, children }: FrameProps) {
  const id = useId();
  const ids = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="form-field" data-invalid={error !== undefined}>
      <label for={id}>{label}</label>
      {children({ id, describedBy: ids || undefined })}
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} class="field-error">
          {error}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  type?: 'text' | 'url' | 'email' | 'password' | 'number' | 'search';
  placeholder?: string | undefined;
  isRequired?: boolean;
  autoComplete?: string;
  /** Bounds and step of a number. */
  min?: number | undefined;
  max?: number | undefined;
  step?: number | 'any' | undefined;
  list?: readonly string[] | undefined;
}

/** Preact's types take the kind of a field only as a literal. */
const kindOf = (type: string): { type: 'text' } => ({ type: type as 'text' });

export function TextField({ value, onInput, type = 'text', isRequired = false, autoComplete = 'off', list, ...rest }: TextFieldProps) {
  const { label, hint, error, placeholder, min, max, step } = rest;
  // Completes the URL before the browser checks the form, which takes `example.com` for no URL.
  const complete = ({ currentTarget }: { currentTarget: HTMLInputElement }): void => {
    currentTarget.value = toUrl(currentTarget.value);
    onInput(currentTarget.value);
  };
  return (
    <Frame label={label} hint={hint} error={error}>
      {({ id, describedBy }) => (
        <>
          <input
            id={id}
            {...kindOf(type)}
            value={value}
            required={isRequired}
            placeholder={placeholder}
            autocomplete={autoComplete}
            spellcheck={false}
            min={min}
            max={max}
            step={step}
            list={list ? `${id}-list` : undefined}
            aria-describedby={describedBy}
            aria-invalid={error !== undefined}
            onInput={(event) => onInput(event.currentTarget.value)}
            onChange={type === 'url' ? complete : undefined}
          />
          {list && (
            <datalist id={`${id}-list`}>
              {list.map((option) => (
                <option key={option} value={option}>
                  {option}
                </option>
              ))}
            </datalist>
          )}
        </>
      )}
    </Frame>
  );
}

interface TextAreaProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  rows?: number;
  placeholder?: string | undefined;
  isRequired?: boolean;
}

export const TextArea = ({ label, hint, error, value, onInput, rows = 4, placeholder, isRequired = false }: TextAreaProps) => (
  <Frame label={label} hint={hint} error={error}>
    {({ id, describedBy }) => (
      <textarea
        id={id}
        rows={rows}
        value={value}
        required={isRequired}
        placeholder={placeholder}
        spellcheck={false}
        aria-describedby={describedBy}
        aria-invalid={error !== undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    )}
  </Frame>
);

interface SelectFieldProps extends FieldProps {
  value: string;
  options: readonly { value: string; label: string }[];
  onInput: (value: string) => void;
}

export const SelectField = ({ label, hint, error, value, options, onInput }: SelectFieldProps) => (
  <Frame label={label} hint={hint} error={error}>
    {({ id, describedBy }) => (
      <select
        id={id}
        value={value}
        aria-describedby={describedBy}
        aria-invalid={error !== undefined}
        onChange={(event) => onInput(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  </Frame>
);

interface CheckFieldProps extends FieldProps {
  isChecked: boolean;
  onInput: (isChecked: boolean) => void;
}

export function CheckField({ label, hint, error, isChecked, onInput }: CheckFieldProps) {
  const id = useId();
  return (
    <div class="form-field check-field" data-invalid={error !== undefined}>
      <label>
        <input
          type="checkbox"
          checked={isChecked}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onChange={(event) => onInput(event.currentTarget.checked)}
        />
        {label}
      </label>
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {error && <p class="field-error">{error}</p>}
    </div>
  );
}
