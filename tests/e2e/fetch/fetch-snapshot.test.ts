/** The accessibility tree as a format of a fetch. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getFetchJob, runActions, type FetchResponse } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site, type SiteOptions } from '../site.ts';

type Reply = NonNullable<SiteOptions['pages']>[string];

/** `OTHER` is the site under its other name. */
const sited =
  (body: string): Reply =>
  (request, response) => {
    const html = page('Tides', body.replaceAll('OTHER', `http://localhost:${request.socket.localPort}`));
    response.setHeader('content-type', 'text/html').end(html);
  };

const rows = Array.from({ length: 4000 }, (_, at) => `<li>Quay number ${at} is open to everyone</li>`).join('');

describe('a fetch with the format snapshot', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    site = await startSite({
      pages: {
        '/tides': sited(
          '<main><h1>Tides</h1><p>High water at <b>6:40</b></p><button onclick="this.textContent=\'Told\'">Tell me</button>' +
            '<input type=password aria-label=Word value=secret></main><iframe src="OTHER/in/tides" title="Quays"></iframe>',
        ),
        '/in/tides': sited('<a href="/quay">Quay</a>'),
        '/long': sited(`<ul>${rows}</ul>`),
        '/data': (_request, response) => void response.setHeader('content-type', 'application/json').end('{"tide":1}'),
        '/stuck': sited('<p>Text</p><script>addEventListener("load", () => setTimeout(() => { for (;;); }))</script>'),
      },
    });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await site.close();
  });

  const fetched = async (path: string, body: Record<string, unknown> = {}): Promise<FetchResponse> => {
    const reply = await client.call(fetchPage, { body: { url: `${site.url}${path}`, formats: ['snapshot'], ...body } });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };

  it('a fetch returns the page as a tree with its frames, without references, since the page is closed', async () => {
    const { snapshot, warnings, resolved_by: by } = await fetched('/tides', { mode: 'auto' });
    assert.deepEqual(snapshot?.split('\n'), [
      '- main',
      '  - heading "Tides" [level=1]',
      '  - paragraph: "High water at 6:40"',
      '  - button "Tell me"',
      '  - textbox "Word" [filled]',
      '- iframe "Quays"',
      '  - link "Quay"',
    ]);
    assert.deepEqual([warnings, by], [[], { mode: 'browser', strategy: 'direct', reason: 'needs_format' }]);
  });

  it('a fetch takes the options of a snapshot, and reads the page after its actions', async () => {
    const { snapshot } = await fetched('/tides', {
      snapshot: { mode: 'interactive', find: 'told', urls: true },
      actions: [{ type: 'click', selectors: ['button'] }],
    });
    assert.equal(snapshot, '- main\n  - button "Told" [focused]');
    const links = await fetched('/tides', { snapshot: { find: 'link', urls: true } });
    assert.match(links.snapshot ?? '', /^- iframe "Quays"\n {2}- link "Quay" \[url="http:\/\/localhost:\d+\/quay"\]$/);
  });

  it('a snapshot of a fetch in a session has references that steps of the session accept', async () => {
    const { body: session } = await client.call(createSession, { body: {} });
    const params = { session_id: session.session_id };
    const { snapshot } = await fetched('/tides', { session_id: session.session_id, snapshot: { mode: 'interactive' } });
    const ref = /button "Tell me" \[ref=(e\d+)\]/.exec(snapshot ?? '')?.[1];
    assert.ok(ref, snapshot ?? 'no snapshot');
    const { body } = await client.call(runActions, { params, body: { actions: [{ type: 'click', ref }] } });
    assert.equal(body.status, 'ok', JSON.stringify(body));
    await client.call(endSession, { params });
  });

  it('a snapshot that is larger than its tokens is cut, and a warning says how many nodes are left', async () => {
    const { snapshot, warnings } = await fetched('/long', { snapshot: { max_tokens: 500 } });
    const lines = (snapshot ?? '').split('\n');
    assert.ok(lines.length > 10 && lines.length < 100, String(lines.length));
    assert.deepEqual(warnings, [`snapshot_cut:${4001 - lines.length}`]);
    const whole = await fetched('/long');
    assert.ok((whole.snapshot ?? '').length < 200_000);
    assert.match(whole.warnings.join(), /^snapshot_cut:\d+$/);
  });

  it('a fetch as a job returns its snapshot with the result', async () => {
    const { job_id: jobId } = await fetched('/tides', { async: true });
    const { body, text } = await client.call(getFetchJob, { params: { job_id: jobId ?? '' }, query: { wait_seconds: '20' } });
    assert.match(body.snapshot ?? '', /- button "Tell me"/, text);
  });

  it('what is no page has no snapshot, and a page that does not answer says so', async () => {
    const data = await fetched('/data');
    assert.deepEqual([data.snapshot, data.status, data.json], [null, 'ok', { tide: 1 }]);
    const stuck = await fetched('/stuck', { timeout_ms: 6000, retry: { max_attempts: 1 } });
    assert.ok(
      stuck.snapshot?.includes('Text') === true || stuck.warnings.some((each) => each.startsWith('snapshot_failed:')),
      stuck.warnings.join(),
    );
    assert.ok(stuck.warnings.includes('script_stopped'), stuck.warnings.join());
  });
});
