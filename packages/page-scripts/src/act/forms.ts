/** Reads forms. Sent as text, together with `natives.ts` and `structured-data.ts`. */
import { isVisible, natives, type Natives } from '../locate/natives.ts';
import { pathOf, textOf } from '../read/structured-data.ts';

export interface FormField {
  selector: string;
  kind: 'text' | 'select' | 'check' | 'file';
  names: string[];
  label: string;
  /** Names of the group of a radio button: its legend, its label, its `name`. Empty for other fields. */
  groups: string[];
}
export interface LoginFields {
  username: string | null;
  password: string | null;
  code: string | null;
  submit: string | null;
  message: string | null;
  /** Changes with the document and with the fields that it shows. */
  state: string;
}

export function visibleInputs(page: Natives): HTMLInputElement[] {
  return [...document.querySelectorAll<HTMLInputElement>('input')].filter(
    (input) => isVisible(page, input) && !input.disabled && !input.readOnly,
  );
}

export function findLoginFields(): LoginFields {
  const page = natives();
  const nameOfUser = /user|e-?mail|login|identifier|account|phone/i;
  const nameOfCode = /otp|totp|one.?time|2fa|mfa|passcode|verification|auth.?code|^code$/i;
  const inputs = visibleInputs(page).filter(({ type }) => ['text', 'email', 'tel', 'password', 'number'].includes(type));
  const about = (input: HTMLInputElement): string => `${input.name} ${input.id}`;
  const has = (input: HTMLInputElement, word: string): boolean => (input.autocomplete || '').split(' ').includes(word);
  // A search field or a newsletter is no login.
  const isOther = (input: HTMLInputElement): boolean => input.closest('[role="search"], footer') !== null;
  const password = inputs.find((input) => has(input, 'current-password')) ?? inputs.find(({ type }) => type === 'password');
  const code =
    inputs.find((input) => has(input, 'one-time-code')) ??
    inputs.find(
      (input) => input.type !== 'password' && input.maxLength !== 0 && (nameOfCode.test(input.name) || nameOfCode.test(input.id)),
    );
  const users = inputs.filter((input) => input.type !== 'password' && input !== code && !isOther(input));
  const username =
    users.find((input) => has(input, 'username')) ??
    users.find((input) => password !== undefined && input.form !== null && input.form === password.form) ??
    users.find((input) => nameOfUser.test(about(input)) || input.type === 'email');
  const field = password ?? code ?? username;
  const buttons = [
    ...(field?.form ?? document).querySelectorAll<HTMLElement>('button:not([type="button"]):not([type="reset"]), input[type="submit"]'),
  ];
  const submit = buttons.find((button) => isVisible(page, button));
  const alert = [...document.querySelectorAll('[role="alert"], [aria-live="assertive"], .error, .alert')].find((each) =>
    isVisible(page, each),
  );
  const path = (element: Element | undefined): string | null => (element ? pathOf(element) : null);
  const shown = [path(username), path(password), path(code)];
  return {
    username: path(username),
    password: path(password),
    code: path(code),
    submit: path(submit),
    message: alert ? textOf(alert, 300) : null,
    state: JSON.stringify([performance.timeOrigin, location.href, ...shown]),
  };
}

export function listFields(max: number): FormField[] {
  const page = natives();
  const controls = [...document.querySelectorAll<HTMLInputElement>('input, select, textarea, [role="radiogroup"] [role="radio"]')];
  const usable = controls.filter(
    (control) => !['hidden', 'submit', 'button', 'reset', 'image'].includes(control.type) && !control.disabled,
  );
  return usable
    .filter((control) => isVisible(page, control) || control.labels?.length)
    .slice(0, max)
    .map((control) => describeField(control));
}

export function describeField(control: HTMLInputElement): FormField {
  const isRadio = control.type === 'radio' || control.getAttribute('role') === 'radio';
  const isCheck = isRadio || control.type === 'checkbox';
  const own = isRadio && control.localName !== 'input' ? textOf(control, 200) : '';
  const label = [...(control.labels ?? [])].map((each) => textOf(each, 200)).join(' ') || (control.getAttribute('aria-label') ?? '') || own;
  const kind = control.localName === 'select' ? 'select' : isCheck ? 'check' : control.type === 'file' ? 'file' : 'text';
  const names = [control.name, control.id, control.placeholder, label, isCheck ? `${control.name}=${control.value}` : ''];
  return {
    selector: pathOf(control),
    kind,
    names: names.filter((name) => typeof name === 'string' && name !== ''),
    label,
    groups: isRadio ? groupsOf(control) : [],
  };
}

/** The names by which a person calls the question that a radio button answers. */
export function groupsOf(radio: HTMLInputElement): string[] {
  const legend = radio.closest('fieldset')?.querySelector(':scope > legend');
  const group = radio.closest('[role="radiogroup"]');
  const ids = group?.getAttribute('aria-labelledby')?.split(/\s+/) ?? [];
  const labelled = ids.slice(0, 10).map((id) => document.getElementById(id));
  const names = [
    legend ? textOf(legend, 200) : '',
    labelled.map((each) => (each ? textOf(each, 200) : '')).join(' '),
    group?.getAttribute('aria-label') ?? '',
    radio.name ?? '',
  ];
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

/** The validation messages of the form of a field: a page may have other forms, such as for a newsletter. */
export function listValidationMessages(selector: string | null): { field: string; message: string }[] {
  const form = selector === null ? null : document.querySelector<HTMLInputElement>(selector)?.form;
  return [...(form ?? document).querySelectorAll<HTMLInputElement>('input:invalid, select:invalid, textarea:invalid')]
    .slice(0, 100)
    .map((control) => ({ field: control.name || control.id, message: control.validationMessage }));
}

/** The button that sends the form of a field. */
export function submitOf(selector: string): string | null {
  const form = document.querySelector<HTMLInputElement>(selector)?.form;
  const button = form?.querySelector('button:not([type="button"]):not([type="reset"]), input[type="submit"]');
  return button ? pathOf(button) : null;
}
