import { boundedString, type Selectors } from '@berth/contract';
import { z } from 'zod';
import type { LoginFields } from '@berth/page-scripts/act/forms.ts';
import { domainOf } from '@berth/lib/text/domains.ts';
import { FlowError } from '../failure.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url, literal, secretInput, selectorsInput } from '../inputs.ts';
import { parseBase32, totp } from '../login/totp.ts';
import { flowScripts } from '../page-scripts.ts';

/** Address, password, code, and pages between them. */
const formsMax = 6;
const changeMsMax = 8000;
const changePollMs = 100;

const inputs = z.strictObject({
  url: Url.describe('URL of the login page, `http` or `https`, at most 8192 characters.'),
  username: boundedString(1, 500).describe('User name or e-mail address, 1 to 500 characters.'),
  password: secretInput('Password, 1 to 1000 characters. It is never stored, logged or returned.'),
  otp_secret: secretInput('Base32 secret of one-time codes (RFC 6238), where the account has one. It is never stored, logged or returned.')
    .refine((text) => parseBase32(text) !== null, { error: 'Input should be base32', params: { type: 'value_error' } })
    .optional()
    .meta({ writeOnly: true, format: 'password' }),
  selectors: z
    .strictObject({
      username: selectorsInput('The field of the user name:').optional(),
      password: selectorsInput('The field of the password:').optional(),
      code: selectorsInput('The field of the one-time code:').optional(),
      submit: selectorsInput('The button that sends the form:').optional(),
    })
    .default({})
    .describe('Where the fields are, if the flow does not find them. Fields of later pages are used when they are there. Default: none.'),
  success: z
    .strictObject({
      selectors: selectorsInput('An element that only logged-in users see:').optional(),
      url: boundedString(1, 500).optional().describe('Text that the URL contains after the login.'),
      cookie: boundedString(1, 256).optional().describe('Name of a cookie that the site sets for logged-in users only.'),
    })
    .optional()
    .describe('How to recognise a successful login. Default: no login form is left.'),
});

const output = z.object({
  logged_in: z.boolean().describe('Whether the login succeeded.'),
  method: z.enum(['password', 'password_otp', 'none']).describe('What was asked for; `none` if there was no login form.'),
  message: z.string().nullable().describe('What the page says about a failure; null if nothing.'),
  final_url: z.string().describe('URL of the page at the end.'),
});

type Inputs = z.infer<typeof inputs>;

export const login = defineFlow({
  name: 'login',
  title: 'Log in',
  description: 'Logs in with a password and, where asked, a one-time code, also in several steps. Use `keep_session` to go on as the user.',
  version: '2',
  category: 'forms',
  inputs,
  output,
  example: { url: 'https://example.com/login', username: 'ada@example.com', password: 'correct horse' },
  run: async (run, request) => {
    const { url, success } = request;
    await run.open(url);
    const asked = { password: false, code: false };
    let fields = await readFields(run, request);
    for (let n = 0; n < formsMax && (await fillForm(run, request, fields, asked)); n += 1) {
      const before = fields;
      fields = await waitForChange(run, request, fields);
      // The same form again says that its values were wrong.
      if (fields.state === before.state || (fields.password !== null && asked.password) || (fields.code !== null && asked.code)) break;
    }
    const hasForm = fields.password !== null || fields.code !== null;
    const isIn = success === undefined ? !hasForm && asked.password : await isMet(run, success);
    const method = asked.code ? ('password_otp' as const) : asked.password ? ('password' as const) : ('none' as const);
    return { logged_in: isIn, method, message: isIn ? null : fields.message, final_url: run.url() };
  },
});

type FieldName = 'username' | 'password' | 'code' | 'submit';
const fieldNames = ['username', 'password', 'code', 'submit'] as const;
type Fields = Record<FieldName, Selectors | null> & Pick<LoginFields, 'message' | 'state'>;

/** The fields of the page: those that the caller names as far as they are there, the others by what they are. */
async function readFields(run: FlowRun, request: Inputs): Promise<Fields> {
  const own = await run.act('find_login', () => run.call<LoginFields>(flowScripts.findLoginFields));
  return withNamed(run, request, own);
}

async function withNamed(run: FlowRun, { selectors }: Inputs, own: LoginFields): Promise<Fields> {
  const named = fieldNames.filter((name) => selectors[name] !== undefined);
  const list = named.map((name) => ({ type: 'if', id: name, if: { exists: literal(selectors[name]) }, steps: [] }));
  const { results } = list.length === 0 ? { results: [] } : await run.run(list);
  const there = results.flatMap(({ id, output: value }) => ((value as { branch?: string } | undefined)?.branch === 'if' ? [id] : []));
  const find = (name: FieldName): Selectors | null => {
    const given = selectors[name];
    if (given !== undefined) return there.includes(name) ? given : null;
    return own[name] === null ? null : [own[name]];
  };
  const fields = { username: find('username'), password: find('password'), code: find('code'), submit: find('submit') };
  return { ...fields, message: own.message, state: JSON.stringify([own.state, there]) };
}

/** Returns whether something was sent. The password is typed on the site of `url` only. */
async function fillForm(run: FlowRun, request: Inputs, fields: Fields, asked: { password: boolean; code: boolean }): Promise<boolean> {
  const steps: Record<string, unknown>[] = [];
  const add = (selectors: Selectors, value: string): void => void steps.push({ type: 'fill', selectors: literal(selectors), value });
  let code = '';
  if (fields.code !== null && fields.password === null) {
    if (request.otp_secret === undefined) throw new FlowError('otp_required', 'The site asks for a one-time code. Send otp_secret.');
    code = totp(parseBase32(request.otp_secret) ?? Buffer.alloc(0), run.context.clock.now().getTime());
    asked.code = true;
    add(fields.code, '{{inputs.code}}');
  } else {
    if (fields.username !== null && !asked.password) add(fields.username, '{{inputs.username}}');
    if (fields.password !== null) {
      if (domainOf(run.url()) !== domainOf(request.url))
        throw new FlowError('not_allowed', 'The login form is on another site than url. Send the URL of that form.');
      asked.password = true;
      add(fields.password, '{{secret.password}}');
    }
  }
  if (steps.length === 0) return false;
  steps.push(fields.submit === null ? { type: 'press', keys: 'Enter' } : { type: 'click', selectors: literal(fields.submit) });
  await run.run(steps, { username: request.username, code });
  return true;
}

/** The fields as soon as the page shows others than before. */
async function waitForChange(run: FlowRun, request: Inputs, before: Fields): Promise<Fields> {
  const [state] = JSON.parse(before.state) as [string, unknown];
  const own = await run.act('wait_login', async () => {
    const { clock } = run.context;
    const endMs = clock.monotonicMs() + Math.min(run.page().timeoutScale.ms(changeMsMax), run.leftMs);
    for (;;) {
      // Between two documents a page answers nothing.
      const fields = await run.call<LoginFields>(flowScripts.findLoginFields).catch(() => null);
      run.signal.throwIfAborted();
      if (fields && (fields.state !== state || fields.message !== before.message)) return fields;
      if (clock.monotonicMs() >= endMs) return fields;
      await run.sleep(changePollMs);
    }
  });
  return own === null ? before : withNamed(run, request, own);
}

async function isMet(run: FlowRun, { selectors, url, cookie }: NonNullable<Inputs['success']>): Promise<boolean> {
  if (url !== undefined && !run.url().includes(url)) return false;
  if (cookie !== undefined && !(await run.act('read_cookies', () => hasCookie(run, cookie)))) return false;
  if (selectors === undefined) return true;
  const { results } = await run.run([{ type: 'wait', selectors: literal(selectors), timeout_ms: 5000, optional: true }]);
  return results[0]?.status === 'ok';
}

/** Whether the site of the open page, or a subdomain of it, has this cookie with a value. */
async function hasCookie(run: FlowRun, wanted: string): Promise<boolean> {
  const site = domainOf(run.url());
  const cookies = await run.cookies();
  return cookies.some(
    ({ name, value, domain }) => name === wanted && value !== '' && domainOf(`https://${domain.replace(/^\./, '')}/`) === site,
  );
}
