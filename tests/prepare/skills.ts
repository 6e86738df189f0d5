/** Skills of an owner, learned as a run of a flow learns them. */
import type { TestApp } from '../harness.ts';

type Finding = Parameters<ReturnType<TestApp['app']['skills']['openRun']>['learn']>[1];

const listed: Finding = {
  result: 'listed',
  selectors: ['aria/E-mail[role="textbox"]'],
  fingerprint: {
    tag: 'input',
    kind: 'text',
    role: 'input email',
    name: 'E-mail',
    attributes: { name: 'email' },
    classes: [],
    context: 'Sign in',
    path: ['form', 'main'],
    x: 0.5,
    y: 0.5,
    alike: 0,
  },
};

export async function learnSkill(
  { app }: Pick<TestApp, 'app'>,
  {
    owner,
    task,
    step,
    site = 'www.shop.example',
    finding = listed,
  }: { owner: string; task: string; step: string; site?: string; finding?: Finding },
): Promise<void> {
  const run = app.skills.openRun({ owner, task, runId: 'job_test', redact: (each) => Promise.resolve(each) });
  await run.recall({ site, step });
  run.learn({ site, step }, finding);
  await run.finish(true);
}
