/** Steps of a flow in a real browser, whose page changes between two runs. */
import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import type { Finding, KnownElement, StepMemory, StepKey } from '../steps.ts';
import { stepPage } from '../../../testing/step-page.ts';
import { summarize } from '../../../testing/steps.ts';

/** What a skill would be: the last finding of each step. */
let known: Map<string, KnownElement>;
let findings: Map<string, Finding>;

const page = stepPage();
beforeEach(() => {
  known = new Map();
  findings = new Map();
});

const memory: StepMemory = {
  recall: ({ step }: StepKey) => Promise.resolve(known.get(step) ?? null),
  learn: ({ step }: StepKey, finding: Finding) => {
    findings.set(step, finding);
    if (finding.result === 'listed' && finding.fingerprint)
      known.set(step, { selectors: finding.selectors, fingerprint: finding.fingerprint, isFresh: false });
  },
};

async function runIn(html: string, steps: object[]) {
  const { results } = await page.inPage(html, steps, { context: { ...page.context(), memory } });
  return results;
}

const form = (inner: string): string => `<main><h1>Sign in</h1><form action="/login">${inner}</form></main>`;
const old = form(
  '<label for=m>E-mail</label><input id=m name=email type=email><button id=go type=button onclick="document.title=`gone`">Continue</button>',
);
const fill = { type: 'fill', id: 'mail', selectors: ['#m'], value: 'ada@example.com', timeout_ms: 20_000 };
const click = { type: 'click', id: 'go', selectors: ['#go'], timeout_ms: 20_000 };
const read = { type: 'evaluate', expression: 'document.querySelector("input").value + " " + document.title' };

it('healing finds elements by what an earlier run learned, and says so', async () => {
  const first = await runIn(old, [fill, click]);
  assert.deepEqual(summarize(first), ['fill ok', 'click ok']);
  assert.ok(first.every(({ healed }) => healed === undefined));
  const renamed = form(
    '<div><label for=x7>E-mail</label><input id=x7 name=user_mail type=email></div><button class=z9 type=button onclick="document.title=`gone`">Continue</button>',
  );
  const second = await runIn(renamed, [fill, click, read]);
  assert.deepEqual(summarize(second), ['fill ok', 'click ok', 'evaluate ok']);
  assert.equal(second[2]?.output, 'ada@example.com gone');
  assert.deepEqual(
    second.map(({ healed }) => healed),
    [true, true, undefined],
  );
  // The accessible name, which the skill offers without a search.
  assert.equal(second[1]?.selector_used, 'aria/Continue[role="button"]');
});

it('healing searches the whole page where no other selector is known', async () => {
  await runIn(old, [click]);
  const learned = known.get('go #go');
  assert.ok(learned);
  known.set('go #go', { ...learned, selectors: [] });
  const [result] = await runIn(form('<p>New</p><button class=z9 type=button>Continue</button>'), [click]);
  assert.deepEqual([result?.status, result?.healed], ['ok', true]);
  const finding = findings.get('go #go');
  assert.deepEqual(finding?.result === 'healed' && [finding.level, finding.from, finding.selectors], [
    4,
    '#go',
    ['aria/Continue[role="button"]'],
  ]);
});

it('healing finds elements by selectors without generated names, also without a skill', async () => {
  const [result] = await runIn('<button class="submit-b82ff1">Next</button>', [
    { type: 'click', id: 'next', selectors: ['button.submit-a91c3e'], timeout_ms: 20_000 },
  ]);
  assert.deepEqual([result?.status, result?.healed, result?.selector_used], ['ok', true, 'button[class*="submit"]']);
});

it('healing never applies to assertions, payments, or elements that are gone', async () => {
  const page = form(
    '<label for=c>Card</label><input id=c autocomplete=cc-number><button id=pay type=button>Pay now</button><p id=sum>Sum</p>',
  );
  const steps = (timeoutMs: number): object[] => [
    { type: 'click', id: 'pay', selectors: ['#pay'], timeout_ms: timeoutMs, on_error: 'continue' },
    { type: 'fill', id: 'card', selectors: ['#c'], value: '1', timeout_ms: timeoutMs, on_error: 'continue' },
    { type: 'assert', id: 'sum', selectors: ['#sum'], timeout_ms: timeoutMs, on_error: 'continue' },
  ];
  assert.deepEqual(summarize(await runIn(page, steps(20_000))), ['click ok', 'fill ok', 'assert ok']);
  const changed = page.replaceAll(/\bid=(c|pay|sum)/g, 'id=new$1').replace('for=c', 'for=newc');
  assert.deepEqual(summarize(await runIn(changed, steps(3000))), [
    'click error not_found',
    'fill error not_found',
    'assert error assertion_failed',
  ]);
  assert.deepEqual(findings.get('pay #pay'), { result: 'failed', reason: 'not_allowed' });
  assert.equal(findings.has('sum #sum'), false);
});

it('healing remembers labels, and not the text that is read', async () => {
  const page = '<h1>Account</h1><p itemprop=balance>1 204.50 EUR</p><button id=go type=button>Continue</button>';
  assert.deepEqual(summarize(await runIn(page, [{ type: 'extract', selectors: ['p'] }, click])), ['extract ok', 'click ok']);
  assert.ok(
    !JSON.stringify([...findings.values()].filter((each) => each.result === 'listed' && each.fingerprint?.tag === 'p')).includes('204'),
  );
  assert.equal(known.get('go #go')?.fingerprint.name, 'Continue');
  const [result] = await runIn(
    page.replace('<p ', '<div><section ').replace('</p>', '</section></div><p>Other</p>').replace('section', 'p'),
    [{ type: 'extract', selectors: ['p'] }],
  );
  assert.equal(result?.output, '1 204.50 EUR');
});

it('a step in a huge page succeeds although its elements are learned for healing', async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => `<label for=i${i}>Row ${i}</label><input id=i${i} type=email>`).join('');
  const [filled] = await runIn(form(`<label for=m>E-mail</label><input id=m type=email>${rows}`), [{ ...fill, timeout_ms: 60_000 }]);
  assert.equal(filled?.status, 'ok', JSON.stringify(filled));
});
