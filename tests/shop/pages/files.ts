/** Uploads and downloads: support requests, invoices, exports, manuals. */
import { createHash } from 'node:crypto';
import { csrfField } from './account.ts';
import { categories, price, products } from '../data.ts';
import { page } from './layout.ts';
import { markup, type Markup } from './markup.ts';
import { text, type Call, type Reply, type Routes } from '../wire.ts';

export const paperRoutes: Routes = {
  'GET /support': (call) => supportPage(call),
  'POST /support': support,
  'GET /downloads': downloads,
  'GET /invoices/:file': invoice,
  'GET /manuals/:file': manual,
  'GET /export.csv': () =>
    text(csv(), 'text/csv; charset=utf-8', {
      'content-disposition': `attachment; filename="prices.csv"; filename*=UTF-8''Preisliste%20%E2%82%AC%20caf%C3%A9.csv`,
    }),
  'GET /export.bin': () =>
    text(exportBytes, 'application/octet-stream', { 'content-disposition': 'attachment; filename="export.bin"', 'accept-ranges': 'none' }),
  'POST /newsletter': (call) => page(call, { title: 'Subscribed', body: markup`<h1>Thank you</h1><p>We write four times a year.</p>` }),
};

/** The file name of `/export.csv`. */
export const csvName = 'Preisliste € café.csv';
/** One megabyte without equal neighbouring kilobytes. */
export const exportBytes: Buffer = Buffer.from(Uint8Array.from({ length: 1024 * 1024 }, (_, i) => (i * 31 + (i >> 10)) & 0xff));

function supportPage(call: Call, received?: Markup): Reply {
  const body = markup`<div class="narrow"><h1>Contact support</h1>${received}
<form method="post" action="/support" enctype="multipart/form-data" class="stack">${csrfField(call.ensureVisitor())}
<label for="subject">Subject</label><select id="subject" name="subject"><option value="">Choose…</option><option value="order">An order</option><option value="repair">A repair</option><option value="other">Something else</option></select>
<label for="message">Message</label><textarea id="message" name="message" rows="4" required minlength="5"></textarea>
<label for="files">Pictures or papers</label><input id="files" name="files" type="file" multiple>
<button class="primary">Send</button></form></div>`;
  return page(call, { title: 'Contact support', body });
}

async function support(call: Call): Promise<Reply> {
  const form = await new Response(new Uint8Array(call.body), {
    headers: { 'content-type': call.headers['content-type'] ?? '' },
  }).formData();
  if (form.get('csrf') !== call.visitor?.csrf)
    return page(call, { status: 403, title: 'Expired', body: markup`<h1>This form has expired</h1>` });
  const files = form.getAll('files').filter((file) => typeof file !== 'string' && file.name !== '') as File[];
  const rows = await Promise.all(
    files.map(async (file) => {
      const sha256 = createHash('sha256')
        .update(Buffer.from(await file.arrayBuffer()))
        .digest('hex');
      return markup`<tr><td>${file.name}</td><td>${file.size}</td><td><code>${sha256}</code></td></tr>`;
    }),
  );
  const message = form.get('message');
  const received = markup`<div role="status" class="note"><p>We have your message: <q>${typeof message === 'string' ? message : ''}</q></p>
${rows.length > 0 && markup`<table id="received"><thead><tr><th>Name</th><th>Bytes</th><th>SHA-256</th></tr></thead><tbody>${rows}</tbody></table>`}</div>`;
  return supportPage(call, received);
}

function downloads(call: Call): Reply {
  return page(call, {
    title: 'Downloads',
    body: markup`<h1>Downloads</h1><ul id="files"><li><a href="/export.csv">Price list (CSV)</a></li><li><a href="/export.bin">Catalogue export (1 MB)</a></li><li><a href="/invoices/1.pdf">Sample invoice (PDF)</a></li>
${categories.map(({ slug, name }) => markup`<li><a href="/manuals/${slug}.pdf" download>Manual: ${name} (PDF)</a></li>`)}</ul>`,
  });
}

function invoice(call: Call): Reply {
  const [, number] = /^(\d{1,4})\.pdf$/.exec(call.params.file ?? '') ?? [];
  if (!number) return page(call, { status: 404, title: 'Not found', body: markup`<h1>No such invoice</h1>` });
  return attachedPdf(`invoice-${number}.pdf`, [`Quayside Goods, Wharf 4`, `Invoice ${number} of 15 January 2026`, 'Total: EUR 129.90']);
}

function manual(call: Call): Reply {
  const category = categories.find(({ slug }) => call.params.file === `${slug}.pdf`);
  if (!category) return page(call, { status: 404, title: 'Not found', body: markup`<h1>No such manual</h1>` });
  return attachedPdf(`manual-${category.slug}.pdf`, [
    `Manual: ${category.name}`,
    'Keep dry. Clean with a soft cloth. Repair, do not replace.',
  ]);
}

const attachedPdf = (name: string, lines: string[]): Reply =>
  text(pdf(lines), 'application/pdf', { 'content-disposition': `attachment; filename="${name}"` });

/** An A4 page with one line per string; ASCII without parentheses. */
export function pdf(lines: string[]): Buffer {
  const shown = lines.map((line) => `(${line}) Tj T*`).join('\n');
  const content = `BT /F1 14 Tf 20 TL 72 760 Td\n${shown}\nET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const offset = body.length;
    body += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`;
  return Buffer.from(body + table, 'latin1');
}

const csv = (): string => `sku;name;price\n${products.map(({ sku, name, price: cents }) => `${sku};${name};${price(cents)}\n`).join('')}`;
