/** What to change in a request that was refused, where that can be guessed. A hint repeats an input only if the issue shows it, too. */
import { z } from 'zod';
import { closestName } from '../text/closest-name.ts';

/** Fields as other services and tools name them, by the letters of the name. */
const fieldSynonyms: Readonly<Record<string, readonly string[]>> = {
  steps: ['actions'],
  actions: ['steps'],
  commands: ['actions', 'steps'],
  text: ['value'],
  content: ['value'],
  selector: ['selectors'],
  locator: ['selectors'],
  target: ['selectors'],
  script: ['expression'],
  code: ['expression'],
  js: ['expression'],
  key: ['keys'],
  href: ['url'],
  link: ['url'],
  uri: ['url'],
  params: ['inputs'],
  variables: ['inputs'],
  args: ['inputs'],
  headers: ['extra_headers'],
  cookies: ['storage_state'],
  language: ['locale'],
  lang: ['locale'],
  tz: ['timezone'],
  ua: ['user_agent'],
  ttl: ['ttl_seconds', 'timeout_seconds'],
  sleep: ['ms'],
  seconds: ['ms'],
  duration: ['ms', 'timeout_seconds'],
  width: ['viewport'],
  height: ['viewport'],
  video: ['record'],
  checked: ['state'],
  name: ['task', 'template'],
};

/** Values of enumerations as other services and tools name them. */
const valueSynonyms: Readonly<Record<string, readonly string[]>> = {
  md: ['markdown'],
  txt: ['text'],
  plaintext: ['text'],
  plain: ['text'],
  image: ['screenshot', 'image'],
  png: ['screenshot'],
  jpg: ['jpeg'],
  meta: ['metadata'],
  goto: ['navigate'],
  visit: ['navigate'],
  open: ['navigate'],
  tap: ['click'],
  doubleclick: ['click'],
  dblclick: ['click'],
  rightclick: ['click'],
  input: ['fill'],
  setvalue: ['fill'],
  enter: ['fill'],
  sendkeys: ['type'],
  keypress: ['press'],
  keyboard: ['press'],
  key: ['press'],
  sleep: ['wait'],
  eval: ['evaluate'],
  js: ['evaluate'],
  javascript: ['evaluate'],
  uncheck: ['check'],
  choose: ['select'],
  gettext: ['extract'],
  scrape: ['extract'],
  refresh: ['reload'],
  goback: ['back'],
  goforward: ['forward'],
  expect: ['assert'],
  foreach: ['for_each'],
  loop: ['repeat', 'for_each'],
  headed: ['full_browser'],
  headful: ['full_browser'],
  gui: ['full_browser'],
  desktop: ['full_browser'],
  chrome: ['headless'],
  chromium: ['headless'],
  networkidle0: ['networkidle'],
  networkidle2: ['networkidle'],
  complete: ['load'],
  interactive: ['domcontentloaded'],
  http: ['external', 'http'],
  custom: ['external'],
};

/** Hint for a field that is none of `names`. */
export function nameHint(name: string, names: readonly string[]): string | undefined {
  const meant = synonymOf(fieldSynonyms, name, names) ?? closestName(name, names);
  return meant === null ? undefined : `Did you mean \`${meant}\`?`;
}

/** Hint for a value that is none of `values`. */
export function literalHint(input: unknown, values: readonly string[]): string | undefined {
  if (typeof input !== 'string') return undefined;
  const meant = synonymOf(valueSynonyms, input, values) ?? closestName(input, values);
  return meant === null ? undefined : `Did you mean \`${meant}\`?`;
}

function synonymOf(synonyms: Readonly<Record<string, readonly string[]>>, name: string, allowed: readonly string[]): string | undefined {
  const letters = name.length > 32 ? '' : name.toLowerCase().replace(/[^a-z0-9]/g, '');
  const meant = Object.hasOwn(synonyms, letters) ? synonyms[letters] : undefined;
  return meant?.find((candidate) => allowed.includes(candidate));
}

/** The schema or the check that raised an issue. */
type Schema = z.core.$ZodType | z.core.$ZodCheck<never> | undefined;

const shownCharsMax = 80;
const write = (value: unknown): string | undefined => {
  const text = JSON.stringify(value);
  return text.length > shownCharsMax ? undefined : `Write \`${text}\`.`;
};

/** Hint for a value of a wrong type: the same value as the schema accepts it. `shown`: the input as the issue shows it. */
export function typeHint(type: string, shown: unknown, schema: Schema): string | undefined {
  if (type === 'list_type') return typeof shown === 'object' ? 'Write it in a list: `[…]`.' : write([shown]);
  if (type === 'dict_type') return objectHint(shown, schema);
  if (type === 'string_type') return typeof shown === 'number' || typeof shown === 'boolean' ? write(String(shown)) : undefined;
  if (typeof shown !== 'string') return undefined;
  if (type === 'int_parsing') return /^-?\d{1,15}$/.test(shown) ? `${write(Number(shown))?.slice(0, -1)}, without quotes.` : undefined;
  if (type === 'bool_parsing') return /^(?:true|false)$/i.test(shown) ? `Write \`${shown.toLowerCase()}\`, without quotes.` : undefined;
  return undefined;
}

/** Fields that stand for their object, where several accept the value. */
const namingFields = ['name', 'selector', 'url', 'mode'];

/** The object with the value in the one field that takes it, checked by the schema itself. */
function objectHint(shown: unknown, schema: Schema): string | undefined {
  const def = schema?._zod.def;
  const shape = def && 'shape' in def && typeof def.shape === 'object' && def.shape !== null ? Object.keys(def.shape) : [];
  const accepts = (value: object): boolean => isSchema(schema) && z.safeParse(schema, value).success;
  if (shown === true && accepts({})) return 'Write `{}`, for the defaults.';
  const names = [...namingFields.filter((name) => shape.includes(name)), ...shape];
  const name = names.find((candidate) => accepts({ [candidate]: shown }));
  if (name !== undefined) return write({ [name]: shown });
  return exampleHint(schema);
}

const isSchema = (schema: Schema): schema is z.core.$ZodType => schema !== undefined && '~standard' in schema;

function exampleHint(schema: Schema): string {
  const example = isSchema(schema) && z.globalRegistry.get(schema)?.examples;
  const [first] = Array.isArray(example) ? example : [];
  return (typeof first === 'object' && first !== null && write(first)) || 'Write an object: `{…}`.';
}

/** A host, with or without a port and a path. */
const bareHost = /^[a-z0-9][a-z0-9.-]{0,252}(?::\d{1,5})?(?:[/?#]|$)/i;
const localHost = /^(?:localhost|[\d.]+)(?:[:/?#]|$)/i;

/** Hint for a URL whose scheme is missing: `localhost:3000` parses as the scheme `localhost`. */
export function urlHint(type: string, input: unknown): string | undefined {
  if ((type !== 'url_parsing' && type !== 'url_scheme') || typeof input !== 'string' || !bareHost.test(input)) return undefined;
  return `Add \`${localHost.test(input) ? 'http' : 'https'}://\`.`;
}

/** Hint for a request without its body. `required`: the fields that it needs. */
export const bodyHint = (required: readonly string[]): string =>
  required.length === 0
    ? 'Send `{}` for the defaults, as JSON.'
    : `Send a JSON object with ${required.map((name) => `\`${name}\``).join(' and ')}.`;
