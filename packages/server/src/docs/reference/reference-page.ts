/** The pages of the API reference: the list of operations, and a page for each. Without scripts. */
import { Marked } from 'marked';
import { Markup, escapeHtml, html, nothing } from '@berth/lib/text/html.ts';
import { codeBlock, codeTabs } from '../code.ts';
import type { GuideLink } from '../guides.ts';
import type { OperationEntry, OperationPage, TagEntry } from './reference-document.ts';
import type { Content, FieldShape } from './schema-shape.ts';
import { searchForm } from '../search-form.ts';

export const addressOf = ({ id }: Pick<OperationEntry, 'id'>): string => `/docs/reference/${id}`;

const methodLabel = (method: string): Markup => html`<span class="method method-${method.toLowerCase()}">${method}</span>`;

/** Beside each page, from a width where there is place for it: the list of operations, of which the current group is open. */
export const operationList = (tags: readonly TagEntry[], current: OperationEntry | null): Markup =>
  html`<nav class="contents operations" aria-label="Operations">
    ${searchForm('')}
    ${tags.map(
      ({ name, operations }) =>
        html`<details ${name === current?.tag ? html`open` : nothing}>
          <summary>${name}</summary>
          <ul>
            ${operations.map(
              (entry) =>
                html`<li>
                  <a href="${addressOf(entry)}" ${entry.id === current?.id ? html`aria-current="page"` : nothing}>${entry.summary}</a>
                </li> `,
            )}
          </ul>
        </details>`,
    )}
  </nav>`;

/** The ids are those of the fragments that earlier versions of this page had: `/docs#/Sessions/createSession`. */
export const indexContent = (
  tags: readonly TagEntry[],
  { introduction, tasks }: { introduction: string; tasks: readonly GuideLink[] },
): Markup =>
  html`<h1>API reference</h1>
    <p>${inlineMarkdown(introduction)}</p>
    <div class="phone-search">${searchForm('')}</div>
    <p>
      The same as a document for programs: <a href="/openapi.json">openapi.json</a>, OpenAPI 3.1. Start with the
      <a href="/docs/guides">guides</a>; <a href="/docs/errors">Errors</a> has every code. Language models read
      <a href="/llms.txt">llms.txt</a>, and each page as Markdown below its address and <code>.md</code>.
    </p>
    <h2 id="before-the-samples">Before the samples</h2>
    <p>
      The samples read the address and the keys from the environment. The clients are in the guides:
      <a href="/docs/typescript">TypeScript</a>, <a href="/docs/python">Python</a> and the <a href="/docs/command-line">command line</a>.
    </p>
    ${codeBlock('export BERTH_URL=http://127.0.0.1:8080\nexport BERTH_API_KEY=$(cat ${BERTH_DATA_DIR:-data}/api-key)\nexport BERTH_ADMIN_KEY=$(cat ${BERTH_DATA_DIR:-data}/admin-key)   # for operators')}
    <h2 id="by-task">Guides by task</h2>
    <ul>
      ${tasks.map(({ label, address, description }) => html`<li><a href="${address}">${label}</a>: ${description}</li> `)}
    </ul>
    ${tags.map(
      ({ name, description, operations }) =>
        html`<section class="operation-group" aria-labelledby="/${name}">
          <h2 id="/${name}">${name}</h2>
          <p>${inlineMarkdown(description)}</p>
          <ul class="operation-index">
            ${operations.map(
              (entry) =>
                html`<li id="/${name}/${entry.id}">
                  <a href="${addressOf(entry)}">${entry.summary}</a>
                  <span class="route-of">${methodLabel(entry.method)} <code>${entry.path}</code></span>
                </li> `,
            )}
          </ul>
        </section>`,
    )}`;

export const operationContent = (page: OperationPage): Markup =>
  html`<div class="operation">
    <div class="operation-head">
      <p class="crumbs"><a href="/docs">API reference</a> / <a href="/docs#/${page.tag}">${page.tag}</a></p>
      <h1>${page.summary}</h1>
      <p class="route">${methodLabel(page.method)} <code>${page.path}</code></p>
      ${page.description === '' ? nothing : html`<p>${inlineMarkdown(page.description)}</p>`}
      <p><strong>Credential.</strong> ${inlineMarkdown(page.credential)}</p>
    </div>
    <aside class="samples" aria-label="Samples">
      ${page.samples.length === 0 ? html`<p>Opened by a browser, or called by another service. There is nothing to write.</p>` : codeTabs('sample', page.samples)}
      ${
        page.reply.example === null
          ? nothing
          : html`<h2 id="example-reply">Example reply</h2>
              ${codeBlock(page.reply.example)}`
      }
    </aside>
    <div class="operation-body">
      ${page.parameters.map(
        ({ title, fields }) =>
          html`<h2 id="${title.toLowerCase()}">${title}</h2>
            ${fieldList(fields, title.toLowerCase())}`,
      )}
      ${page.body === null ? nothing : bodyOf(page.body)} ${replyOf(page.reply)} ${errorsOf(page.errors)}
    </div>
  </div>`;

const bodyOf = ({ isRequired, types, content }: NonNullable<OperationPage['body']>): Markup =>
  html`<h2 id="body">Body</h2>
    <p>${inlineMarkdown(`${isRequired ? 'Required' : 'Optional'}, as ${types.map((type) => `\`${type}\``).join(' or ')}.`)}</p>
    ${content ? contentOf(content, 'body') : nothing}`;

const replyOf = ({ status, type, headers, content }: OperationPage['reply']): Markup =>
  html`<h2 id="reply">Reply</h2>
    <p>${inlineMarkdown(`Status \`${status}\`, ${type === 'no body' ? 'without a body' : `\`${type}\``}.`)}</p>
    ${
      headers.length === 0
        ? nothing
        : html`<details class="nested">
            <summary>Headers of the reply</summary>
            ${fieldList(headers, 'reply-headers')}
          </details>`
    }
    ${content ? contentOf(content, 'reply') : nothing}`;

const errorsOf = (rows: OperationPage['errors']): Markup =>
  html`<h2 id="errors">Errors</h2>
    <div class="wide" tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">Code</th>
            <th scope="col">Status</th>
            <th scope="col">Retry</th>
            <th scope="col">When it occurs, and what to do</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ({ code, status, isRetryable, description }) =>
              html`<tr>
                <td>
                  <a href="/docs/errors#${code}"><code>${code}</code></a>
                </td>
                <td>${String(status)}</td>
                <td>${isRetryable ? 'yes' : 'no'}</td>
                <td>${inlineMarkdown(description)}</td>
              </tr> `,
          )}
        </tbody>
      </table>
    </div>`;

function contentOf(content: Content, path: string): Markup {
  if (content.kind === 'repeated') return html`<p>The same as <a href="#${content.anchor}">${content.name}</a>.</p>`;
  const anchor = content.anchor === null ? nothing : html`id="${content.anchor}"`;
  if (content.kind === 'fields') return html`<div ${anchor}>${fieldList(content.fields, path)}</div>`;
  return html`<div class="variants" ${anchor}>
    ${
      content.common.length === 0
        ? nothing
        : html`<details class="nested">
            <summary>Fields that all forms have</summary>
            ${fieldList(content.common, path)}
          </details>`
    }
    ${content.variants.map(
      ({ title, description, content: inner }) =>
        html`<details class="nested">
          <summary><code>${title}</code></summary>
          ${description === '' ? nothing : html`<p>${inlineMarkdown(description)}</p>`}
          ${inner === null ? html`<p>It has no further fields.</p>` : contentOf(inner, `${path}.${title}`)}
        </details>`,
    )}
  </div>`;
}

const fieldList = (fields: readonly FieldShape[], path: string): Markup =>
  html`<ul class="fields">
    ${fields.map((field) => fieldRow(field, `${path}.${field.name}`))}
  </ul>`;

const fieldRow = ({ name, type, isRequired, description, facts, content }: FieldShape, path: string): Markup =>
  html`<li id="${path}">
    <p class="field-name">
      <code>${name}</code>
      <span class="field-type">${type}</span>
      ${isRequired && /^(?:body|path|query|headers)\./.test(path) ? html`<span class="required">required</span>` : nothing}
    </p>
    ${description === '' ? nothing : html`<p>${inlineMarkdown(description)}</p>`}
    ${facts.length === 0 ? nothing : html`<p class="facts">${inlineMarkdown(facts.join(' '))}</p>`}
    ${content === null ? nothing : nested(content, path)}
  </li> `;

function nested(content: Content, path: string): Markup {
  if (content.kind === 'repeated') return contentOf(content, path);
  const count = content.kind === 'fields' ? content.fields.length : content.variants.length;
  const noun = content.kind === 'fields' ? 'field' : 'form';
  return html`<details class="nested">
    <summary>${String(count)} ${count === 1 ? noun : `${noun}s`} of ${path.slice(path.lastIndexOf('.') + 1)}</summary>
    ${contentOf(content, path)}
  </details>`;
}

const markdown = new Marked({ gfm: true, renderer: { html: ({ text }) => escapeHtml(text) } });
/** Text in which Markdown finds nothing but text and code: nearly all of a page, which to parse took most of its time. */
const isPlain = /^[^[\]*_<>\\~!&]*$/;

/** HTML in the text is shown as text. */
function inlineMarkdown(text: string): Markup {
  const parts = text.split('`');
  const outside = parts.filter((_, index) => index % 2 === 0);
  if (parts.length % 2 === 0 || !outside.every((part) => isPlain.test(part) && !/https?:|www\.|@/.test(part)) || text.includes('``'))
    return new Markup(markdown.parseInline(text, { async: false }));
  return new Markup(parts.map((part, index) => (index % 2 === 0 ? escapeHtml(part) : `<code>${escapeHtml(part)}</code>`)).join(''));
}
