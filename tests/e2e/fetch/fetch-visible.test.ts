/** What a visitor sees of a page: late, in frames, and not what is hidden. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getContent, navigate, runAgent, type FetchResponse } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const late =
  '<style>body{visibility:hidden}</style><p>Tides</p><p id=late hidden>Late</p>' +
  '<script>setTimeout(() => { document.body.style.visibility = "visible"; late.hidden = false; }, 1200)</script>';
const never = (style: string): string => page('Never', `<style>html{${style}}</style><p>Tides</p>`);
const job =
  '<h1>Job</h1><iframe srcdoc="<h2>Tasks</h2><p>Write.</p>"></iframe><p>Between</p><iframe src="/in/frame"></iframe>' +
  '<p style="opacity:0">Transparent</p><details><summary>Question</summary><p>Answer</p></details>';

describe('what a visitor sees', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    site = await startSite({
      pages: {
        '/late': page('Late', late),
        '/never-visibility': never('visibility:hidden'),
        '/never-opacity': never('opacity:0'),
        '/never-display': never('display:none'),
        '/job': page('Job', job),
        '/in/frame': page('Frame', '<p>Salary 4200 EUR <a href="apply">Apply</a></p>'),
        '/card': (request, response) =>
          void response
            .setHeader('content-type', 'text/html')
            .end(
              page(
                'Card',
                '<main><button disabled>Save</button><iframe role=presentation title=Card srcdoc="<label>Card number <input></label>"></iframe>' +
                  `<iframe src="http://localhost:${request.socket.localPort}/in/pay"></iframe><button>Last</button></main>`,
              ),
            ),
        '/in/pay': page(
          'Pay',
          '<button onclick="document.title = 1">Pay now</button><div style="cursor:pointer" onclick="document.title = 2">Bank transfer</div><iframe srcdoc="<button>Innermost</button>"></iframe>',
        ),
        '/foreign': (request, response) =>
          void response
            .setHeader('content-type', 'text/html')
            .end(page('F', `<p>Here</p><iframe src="http://localhost:${request.socket.localPort}/in/frame" title="Terms"></iframe>`)),
      },
    });
    const port = new URL(site.url).port;
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${site.host},localhost:${port}` } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await site.close();
  });

  const get = async (path: string): Promise<FetchResponse> => {
    const reply = await client.call(fetchPage, { body: { url: `${site.url}${path}`, formats: ['markdown', 'text'] } });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };

  it('what a visitor sees is read when a page shows itself, and with a warning when it does not', async () => {
    const shown = await get('/late');
    assert.deepEqual([shown.text, shown.warnings.includes('page_hidden')], ['Tides\n\nLate', false]);
    for (const path of ['/never-visibility', '/never-opacity', '/never-display']) {
      const reply = await get(path);
      assert.deepEqual([reply.markdown, reply.text, reply.warnings], ['Tides', 'Tides', ['page_hidden']], path);
    }
  });

  it('what a visitor sees has the text of frames in its place, also of other sites', async () => {
    const reply = await get('/job');
    assert.match(
      reply.markdown ?? '',
      /^# Job\n\n## Tasks\n\nWrite\.\n\nBetween\n\nSalary 4200 EUR \[Apply\]\(http:[^)]*\/in\/apply\)\n\n\*\*Question\*\*\n\nAnswer$/,
    );
    assert.match(reply.text ?? '', /^Job\s+Tasks\s+Write\.\s+Between\s+Salary 4200 EUR Apply\s+Question\s+Answer$/);
    assert.deepEqual(reply.warnings, []);
    const foreign = await get('/foreign');
    assert.match(foreign.markdown ?? '', /^Here\n\n\[Terms\]\(http:\/\/localhost:\d+\/in\/frame\)\n\nSalary 4200 EUR \[Apply\]/);
    assert.deepEqual(foreign.warnings, []);
  });

  it('what a visitor sees is in the accessibility tree, with references into the frames', async () => {
    const run = async (task: string, inputs: object) =>
      (await client.call(runAgent, { body: { task, inputs: { url: `${site.url}/card`, ...inputs } } })).body.output as Record<
        string,
        unknown
      >;
    const { tree, refs, frames_left_out: leftOut } = await run('accessibility_tree', {});
    assert.equal(leftOut, 0);
    assert.match(
      String(tree),
      /button "Save".*textbox "Card number".*button "Pay now".*generic "Bank transfer" \[clickable\] \[ref=.*button "Innermost".*button "Last"/s,
    );
    const named = Object.values(refs as Record<string, { name: string; selectors: unknown[] }>);
    const selectorsOf = (name: string): unknown[] => named.find((ref) => ref.name === name)?.selectors ?? [];
    assert.equal(selectorsOf('Last').length, 2);
    assert.equal(selectorsOf('Card number').length, 2);
    const steps = selectorsOf('Card number').flatMap((selector) => [
      { type: 'fill', selectors: [selector], value: '4111' },
      { type: 'extract', selectors: [selector], as: 'value', save_as: 'typed' },
    ]);
    const clicks = [...selectorsOf('Pay now'), ...selectorsOf('Innermost'), ...selectorsOf('Bank transfer')].map((selector) => ({
      type: 'click',
      selectors: [selector],
    }));
    assert.equal(clicks.length, 5);
    const { vars } = await run('custom', { steps: [...steps, ...clicks] });
    assert.deepEqual(vars, { typed: '4111' });
  });

  it('what a visitor sees is the same in a session as in a fetch', async () => {
    const { session_id } = (await client.call(createSession, { body: {} })).body;
    const params = { session_id };
    const read = async (path: string) => {
      await client.call(navigate, { params, body: { url: `${site.url}${path}` } });
      return (await client.call(getContent, { params, query: { format: 'markdown' } })).body;
    };
    const shown = await read('/late');
    assert.deepEqual([shown.content, shown.warnings], ['Tides\n\nLate', []]);
    const hidden = await read('/never-visibility');
    assert.deepEqual([hidden.content, hidden.warnings], ['Tides', ['page_hidden']]);
    assert.equal((await read('/job')).content, (await get('/job')).markdown);
    assert.equal((await read('/foreign')).content, (await get('/foreign')).markdown);
    await client.call(endSession, { params });
  });
});
