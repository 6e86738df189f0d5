import { z } from 'zod';
import { formFill } from '../catalog/form-fill.ts';
import { login } from '../catalog/login.ts';
import { Url } from '../inputs.ts';
import { defineTemplate } from '../template.ts';
import { Selector } from './inputs.ts';

const Download = z
  .object({
    download_id: z.string().describe('Id, for `GET /v1/session/{session_id}/downloads/{download_id}` with `keep_session`.'),
    file_name: z.string().describe('File name that the site suggests.'),
    url: z.string().describe('URL of the file.'),
    bytes: z.int().describe('Size in bytes.'),
  })
  .describe('The file.');

const { username, password, otp_secret } = (login.inputs as z.ZodObject).shape as Record<string, z.ZodType>;
const absent = z.never().optional();

export const loginAndDownload = defineTemplate({
  name: 'login_and_download_report',
  title: 'Log in and download a report',
  description: 'Logs in to a site and downloads a file. Send `keep_session` to read the file afterwards.',
  version: '1',
  category: 'forms',
  inputs: z.strictObject({
    url: Url.describe('URL of the login page, `http` or `https`, at most 8192 characters.'),
    username: username ?? absent,
    password: password ?? absent,
    otp_secret: otp_secret ?? absent,
    report_url: Url.describe('URL of the file, `http` or `https`, at most 8192 characters.'),
  }),
  output: z.object({ login: login.output.describe('Result of the login.'), report: Download }),
  example: {
    url: 'https://example.com/login',
    username: 'ada@example.com',
    password: 'correct horse',
    report_url: 'https://example.com/report.csv',
  },
  needsSession: true,
  uses: [login],
  steps: [
    {
      type: 'call',
      task: 'login',
      inputs: {
        url: '{{inputs.url}}',
        username: '{{inputs.username}}',
        password: '{{secret.password}}',
        otp_secret: '{{secret.otp_secret}}',
      },
      save_as: 'login',
      description: 'Log in.',
    },
    { type: 'download', url: '{{inputs.report_url}}', save_as: 'report', description: 'Download the report.' },
  ],
});

export const invoiceDownload = defineTemplate({
  name: 'invoice_download',
  title: 'Download an invoice',
  description: 'Opens a page and downloads the file of a link. Send `session_id` of a session that is logged in where that is needed.',
  version: '1',
  category: 'capture',
  inputs: z.strictObject({
    url: Url,
    link_selector: Selector.default('a[href*="invoice"]').describe(
      'CSS selector of the link. Default: the first link with `invoice` in its URL.',
    ),
  }),
  output: z.object({ invoice: Download, final_url: z.string().describe('URL of the page.') }),
  example: { url: 'https://example.com/account' },
  needsSession: true,
  steps: [
    { type: 'navigate', url: '{{inputs.url}}', description: 'Open the page.' },
    { type: 'download', selectors: ['{{inputs.link_selector}}'], save_as: 'invoice', description: 'Download the invoice.' },
  ],
});

export const formSubmission = defineTemplate({
  name: 'form_submission',
  title: 'Send a form',
  description: 'Fills in a form by the labels of its fields, sends it, and returns what the page answers.',
  version: '1',
  category: 'forms',
  inputs: z.strictObject({ url: Url, fields: ((formFill.inputs as z.ZodObject).shape as Record<string, z.ZodType>)['fields'] ?? absent }),
  output: z.object({
    form: formFill.output.describe('What was filled in and sent.'),
    answer: z.string().describe('Main content of the page afterwards, as Markdown.'),
  }),
  example: { url: 'https://example.com/contact', fields: { Message: 'Good day' } },
  uses: [formFill],
  steps: [
    {
      type: 'call',
      task: 'form_fill',
      inputs: { url: '{{inputs.url}}', fields: '{{inputs.fields}}', submit: true },
      save_as: 'form',
      description: 'Fill in the form and send it.',
    },
    { type: 'markdown', only_main_content: true, save_as: 'answer', description: 'Read the answer.' },
  ],
});
