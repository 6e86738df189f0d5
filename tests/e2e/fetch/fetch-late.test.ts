/** What comes late: a first byte, and content that scripts show after the load. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, navigate, getContent, type FetchResponse } from '@berth/contract';
import { startCorpus, type Corpus } from '../../../bench/fetch/corpus.ts';
import type { Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

/** More than half of the default timeout. */
const firstByteMs = 15_200;

describe('a fetch', () => {
  let corpus: Corpus;
  let site: Site;
  let service: Service;
  let client: Client;
  /** They take most of this file's time, so the other tests run meanwhile. */
  let slow: Promise<FetchResponse[]>;
  before(async () => {
    corpus = await startCorpus();
    site = await startSite({
      pages: {
        '/first-byte': (_, response) =>
          void setTimeout(() => response.setHeader('content-type', 'text/html').end(page('Slow', '<p>At last.</p>')), firstByteMs),
        // Its timer fires right after the load: a fetch waits a third of a second for what timers bring.
        '/moves-on': page('Moves on', `<script>addEventListener('load', () => setTimeout(() => location.replace('/arrived')))</script>`),
        '/arrived': page('Arrived', '<main></main><script>setTimeout(() => document.querySelector("main").append("Here."), 50)</script>'),
      },
    });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${corpus.addresses.join()},${site.host}` } });
    client = service.client;
    // Starts the browser, which is no part of a site's fifteen seconds.
    await get(site.url);
    slow = Promise.all(['browser', 'http'].map((mode) => get(`${site.url}/first-byte`, { mode, timeout_ms: 30_000 })));
    slow.catch(() => undefined);
  });
  after(async () => {
    await service.close();
    await Promise.all([corpus.close(), site.close()]);
  });

  const get = async (url: string, body: Record<string, unknown> = {}): Promise<FetchResponse> => {
    const reply = await client.call(fetchPage, { body: { url, formats: ['html'], ...body } });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };

  it('a fetch has the content that scripts show after the load, by whatever means', async () => {
    // One after the other: beside a dozen others, no timer of a page fires at its time.
    const answers: FetchResponse[] = [];
    for (const { url } of corpus.latePages) answers.push(await get(url));
    const missing = corpus.latePages.filter(({ contains }, n) => !answers[n]?.html?.includes(contains));
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
    );
    const pending = answers.filter(({ warnings }) => warnings.includes('requests_pending'));
    assert.deepEqual(
      pending.map(({ url }) => url),
      [],
    );
  });

  it('a fetch follows a page that navigates by a timer', async () => {
    const answer = await get(`${site.url}/moves-on`);
    assert.deepEqual([answer.status, answer.final_url, answer.status_code, answer.title], ['ok', `${site.url}/arrived`, 200, 'Arrived']);
    assert.match(answer.html ?? '', /Here\./);
  });

  it('a fetch names the caller’s timeout and makes no second attempt when it ran out of time', async () => {
    const answer = await get(`${site.url}/first-byte?never`, { timeout_ms: 1500 });
    assert.deepEqual([answer.status, answer.error?.code, answer.attempts.length], ['error', 'timeout', 1]);
    assert.deepEqual(answer.error?.message.match(/\d+/g), ['1500']);
  });

  it('a fetch of a page whose first byte takes fifteen seconds succeeds within thirty', async () => {
    for (const answer of await slow) {
      assert.deepEqual([answer.status, answer.attempts.length, answer.warnings], ['ok', 1, []], JSON.stringify(answer.error));
      assert.match(answer.html ?? '', /At last\./);
    }
  });

  // `fetch-visible.test.ts` compares a session with a fetch in every run.
  it('a fetch has the content that a session has when it has just loaded the page', nightly, async () => {
    const { session_id } = (await client.call(createSession, { body: {} })).body;
    const params = { session_id };
    for (const { name, url, contains } of corpus.latePages.filter((each) => each.name.startsWith('timer of'))) {
      await client.call(navigate, { params, body: { url } });
      const { body } = await client.call(getContent, { params, query: { format: 'html' } });
      assert.ok(body.content?.includes(contains), name);
    }
    await client.call(endSession, { params });
  });
});
