import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createSession,
  endSession,
  getContent,
  getDownload,
  getStorageState,
  listDownloads,
  navigate,
  runActions,
  type DownloadResponse,
} from '@berth/contract';
import type { Client } from '../../harness.ts';
import { ada } from '../../shop/pages/account.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { Service, eventually } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const data = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 13 + (at >> 7)) & 0xff));

const attached = (disposition: string) => (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'text/html', 'content-disposition': disposition }).end(data);

describe('files and state of a session', () => {
  let shop: Shop;
  let site: Site;
  let service: Service;
  let client: Client;
  let endless: { closed: boolean } = { closed: false };
  /** A session without settings and without a login. */
  let plain: Params;
  before(async () => {
    [shop, site] = await Promise.all([
      startShop({ consent: false }),
      startSite({
        pages: {
          '/climb': attached(`attachment; filename="../../../../etc/passwd"`),
          '/backwards': attached(`attachment; filename*=UTF-8''invoice%E2%80%AEfdp.exe`),
          '/hidden': attached(`attachment; filename=".bashrc"`),
          '/html': attached(`attachment; filename="page.html"`),
          '/endless-file': (_, response) => {
            endless = { closed: false };
            const mine = endless;
            response.writeHead(200, {
              'content-type': 'application/octet-stream',
              'content-disposition': 'attachment; filename="endless.bin"',
            });
            const timer = setInterval(() => response.write(Buffer.alloc(10_000)), 20);
            response.on('close', () => {
              clearInterval(timer);
              mine.closed = true;
            });
          },
          '/remember': page(
            'Remember',
            `<p id="kept"></p><script>kept.textContent = localStorage.getItem('kept') ?? 'nothing'; localStorage.setItem('kept', 'yes')</script>`,
          ),
        },
      }),
    ]);
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: [shop.host, shop.otherHost, site.host].join(',') } });
    client = service.client;
    plain = await create();
  });
  after(async () => {
    await service.close();
    await Promise.all([shop.close(), site.close()]);
  });

  const create = async (body: object = {}) => ({
    session_id: (await client.call(createSession, { body: body as Record<string, unknown> })).body.session_id,
  });
  type Params = Awaited<ReturnType<typeof create>>;
  const run = async (params: Params, actions: object[]) => (await client.call(runActions, { params, body: { actions } })).body;
  /** Downloads it from a page and returns the download's id. */
  const fetchFile = async (params: Params, path: string): Promise<string> => {
    const { results } = await run(params, [{ type: 'download', url: site.url + path }]);
    return (results[0]?.output as { download_id: string } | undefined)?.download_id ?? assert.fail(JSON.stringify(results));
  };
  const requestFile = (params: Params, id: string) =>
    fetch(`${service.url}/v1/session/${params.session_id}/downloads/${id}`, { headers: { authorization: `Bearer ${service.key}` } });
  const latest = (params: Params, holds: (download: DownloadResponse) => boolean) =>
    eventually('the download is listed', async () => (await client.call(listDownloads, { params })).body.find(holds));

  for (const [path, name, header] of [
    ['/climb', /^[^/\\]*passwd$/, /^attachment; filename=[\w.-]*passwd$/],
    ['/backwards', /^invoice_?fdp\.exe$/, /^attachment; filename=invoice_?fdp\.exe$/],
    ['/hidden', /^_?bashrc$/, /^attachment; filename=_?bashrc$/],
  ] as const)
    it(`a session returns the complete download from ${path} with a safe name`, async () => {
      const download_id = await fetchFile(plain, path);
      const reported = await latest(plain, (download) => download.download_id === download_id);
      assert.match(reported.suggested_filename, name);
      assert.deepEqual([reported.status, reported.received_bytes], ['completed', data.length]);
      const response = await requestFile(plain, download_id);
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(data));
      assert.equal(response.headers.get('x-content-sha256'), createHash('sha256').update(data).digest('hex'));
      assert.match(response.headers.get('content-disposition') ?? '', header);
    });

  it('a session serves downloads as attachments only', async () => {
    const response = await requestFile(plain, await fetchFile(plain, '/html'));
    assert.deepEqual(
      ['content-type', 'x-content-type-options', 'content-security-policy'].map((header) => response.headers.get(header)),
      ['application/octet-stream', 'nosniff', "default-src 'none'; sandbox"],
    );
    await response.arrayBuffer();
  });

  it('a session reports an endless download as not ready and ends it with the session', async () => {
    const params = await create();
    const { results } = await run(params, [{ type: 'download', url: `${site.url}/endless-file`, timeout_ms: 3000 }]);
    assert.equal(results[0]?.error?.code, 'timeout');
    const download = await latest(params, ({ received_bytes }) => received_bytes > 0);
    assert.equal(download.status, 'in_progress');
    await client.refuse(getDownload, 'download_not_ready', { params: { ...params, download_id: download.download_id } });
    assert.equal((await client.call(navigate, { params, body: { url: site.url } })).body.title, 'Home');
    await client.call(endSession, { params });
    await eventually('the request to the site is aborted', () => endless.closed);
  });

  it('a session that was created without downloads refuses them', async () => {
    const params = await create({ accept_downloads: false });
    const { results } = await run(params, [{ type: 'download', url: `${site.url}/climb`, timeout_ms: 3000 }]);
    assert.equal(results[0]?.status, 'error');
    for (const { download_id, status } of (await client.call(listDownloads, { params })).body) {
      assert.notEqual(status, 'completed');
      assert.equal((await requestFile(params, download_id)).status, 404);
    }
  });

  it('files are isolated between sessions', async () => {
    const other = await create();
    const download_id = await fetchFile(plain, '/html');
    await client.refuse(getDownload, 'download_not_found', { params: { ...other, download_id } });
  });

  it('a login is restored in a new session from cookies and local storage', async () => {
    const one = await create();
    const { results } = await run(one, [
      { type: 'navigate', url: `${shop.url}/login` },
      { type: 'fill', selectors: ['#email'], value: ada.email },
      { type: 'fill', selectors: ['#password'], value: ada.password },
      { type: 'click', selectors: ['aria/Log in[role="button"]'] },
      { type: 'assert', url: '/account' },
      { type: 'navigate', url: `${site.url}/remember` },
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      Array(6).fill('ok'),
    );
    const { body: storage_state } = await client.call(getStorageState, { params: one });
    assert.ok(storage_state.cookies.some(({ httpOnly, value }) => httpOnly && value !== ''));
    assert.deepEqual(storage_state.origins, [{ origin: site.url, localStorage: [{ name: 'kept', value: 'yes' }] }]);
    await client.call(endSession, { params: one });

    const hitsBefore = site.hits.length;
    const other = await create({ storage_state });
    assert.equal(site.hits.length, hitsBefore, 'no site is asked for its storage to be filled');
    await client.call(navigate, { params: other, body: { url: `${shop.url}/account` } });
    assert.match((await client.call(getContent, { params: other, query: { format: 'text' } })).body.content ?? '', /Hello, Ada Vermeer/);
    await client.call(navigate, { params: other, body: { url: `${site.url}/remember` } });
    assert.match((await client.call(getContent, { params: other, query: { format: 'html' } })).body.content ?? '', /<p id="kept">yes<\/p>/);
    await client.call(navigate, { params: plain, body: { url: `${shop.url}/account` } });
    assert.doesNotMatch((await client.call(getContent, { params: plain, query: { format: 'text' } })).body.content ?? '', /Ada/);
  });
});
