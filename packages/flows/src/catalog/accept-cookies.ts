import { z } from 'zod';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url, literal } from '../inputs.ts';
import { findConsentControls, isPressedShown, listSwitches, rememberPressed, type BannerControl } from '../read/consent.ts';

/** Maximum time to click one button: it may move into the window first. */
const clickMsMax = 3000;
/** Maximum time for a banner to leave, and for its settings to come: they are sent and moved first. */
const changeMsMax = 5000;
const pollMs = 250;
/** The banner, its settings, the choices behind them, one that saves, and a second banner. */
const pressesMax = 6;

const outcomes = ['rejected', 'accepted', 'no_banner', 'not_offered', 'not_clicked', 'not_confirmed'] as const;
type Outcome = (typeof outcomes)[number];

const inputs = z.strictObject({
  url: Url,
  choice: z.enum(['reject', 'accept']).default('reject').describe('What to choose. Default: `reject`.'),
  wait_ms: z.int().min(0).max(30_000).default(5000).describe('How long to wait for a banner, in milliseconds, 0 to 30000. Default: 5000.'),
});
type Inputs = z.infer<typeof inputs>;

export const acceptCookies = defineFlow({
  name: 'accept_cookies',
  title: 'Answer a cookie banner',
  description:
    'Rejects or accepts cookies in the banner of a page, also in frames, shadow trees and behind its settings, and checks that the banner is gone.',
  version: '2',
  category: 'navigation',
  inputs,
  output: z.object({
    outcome: z
      .enum(outcomes)
      .describe(
        'What it came to: `rejected` or `accepted`, when the button that was pressed is gone; `no_banner`; `not_offered`, when the banner has no way to the choice; `not_clicked`, when its button could not be clicked; `not_confirmed`, when the button is still shown after the click.',
      ),
    vendor: z.string().nullable().describe('Consent tool, `generic` for one that was found by its words; null if there is no banner.'),
    clicked: z.boolean().describe('Whether a button that makes the choice was clicked.'),
    labels: z.array(z.string()).describe('Labels of the buttons that were clicked, in order.'),
    closed: z.boolean().nullable().describe('Whether the page shows no banner at the end; null if there was none.'),
    final_url: z.string().describe('URL of the page.'),
  }),
  example: { url: 'https://example.com/', choice: 'reject' },
  run: async (run, request) => {
    await run.open(request.url);
    const answer = new BannerAnswer(run, request);
    await answer.give();
    return answer.report();
  },
});

/** Presses one button after another until the choice is made. */
class BannerAnswer {
  readonly #run: FlowRun;
  readonly #choice: Inputs['choice'];
  readonly #waitMs: number;
  readonly #labels: string[] = [];
  readonly #pressed = new Set<string>();
  #vendor: string | null = null;
  #made: BannerControl | null = null;
  #hasFailed = false;
  /** The page where the settings were opened. */
  #openedAt: string | null = null;
  /** Whether the button that was pressed last is still shown. */
  #isShown = false;

  constructor(run: FlowRun, { choice, wait_ms: waitMs }: Inputs) {
    this.#run = run;
    this.#choice = choice;
    this.#waitMs = waitMs;
  }

  async give(): Promise<void> {
    for (let presses = 0; presses < pressesMax && !this.#run.isNearEnd(3); presses += 1) {
      const control = await this.#find(presses === 0 ? this.#waitMs : this.#made ? 0 : changeMsMax);
      if (!control) break;
      await this.#press(control);
    }
    // The settings were a page of their own, and do not have the choice.
    const hasLeft = this.#openedAt !== null && withoutHash(this.#run.url()) !== withoutHash(this.#openedAt);
    if (hasLeft && !this.#made) await this.#run.open(this.#openedAt ?? '');
  }

  async report() {
    const run = this.#run;
    const outcome = this.#outcome();
    const wasThere = this.#vendor !== null;
    const { controls, framesUnread } = await run.act('find_banner', () => findConsentControls(run));
    if (framesUnread > 0) run.warn('frames_unread');
    if (outcome === 'not_offered') run.warn('choice_not_offered');
    if (outcome === 'not_confirmed') run.warn('banner_still_shown');
    return {
      outcome,
      vendor: this.#vendor,
      clicked: this.#made !== null,
      labels: this.#labels,
      closed: wasThere ? controls.length === 0 : null,
      final_url: run.url(),
    };
  }

  #outcome(): Outcome {
    if (this.#made) return this.#isShown ? 'not_confirmed' : this.#choice === 'reject' ? 'rejected' : 'accepted';
    if (this.#hasFailed) return 'not_clicked';
    return this.#vendor === null ? 'no_banner' : 'not_offered';
  }

  /** The next button to press, as soon as there is one. */
  async #find(waitMs: number): Promise<BannerControl | null> {
    const run = this.#run;
    const pausesMax = Math.ceil(waitMs / pollMs);
    return run.act('find_banner', async () => {
      for (let pauses = 0; ; pauses += 1) {
        const { controls } = await findConsentControls(run);
        this.#vendor ??= controls[0]?.vendor ?? null;
        const next = this.#choose(controls.filter((control) => !this.#pressed.has(keyOf(control))));
        if (next || pauses >= pausesMax || run.isNearEnd(2)) return next;
        await run.sleep(pollMs);
      }
    });
  }

  #choose(controls: readonly BannerControl[]): BannerControl | null {
    const of = (kind: BannerControl['kind']): BannerControl | undefined =>
      controls
        .filter((control) => control.kind === kind)
        .toSorted((a, b) => Number(a.isCovered) - Number(b.isCovered) || Number(b.isForAll) - Number(a.isForAll))[0];
    const settings = this.#made || this.#openedAt !== null ? undefined : of('settings');
    if (this.#choice === 'accept') return of('accept') ?? settings ?? null;
    const save = of('save');
    // Saves what the choices are: those of the settings, and of a refusal that only turns the switches off.
    const canSave = this.#made ? this.#isShown : this.#openedAt !== null || save?.hasSwitches === true;
    return of('reject') ?? (canSave ? save : undefined) ?? settings ?? null;
  }

  async #press(control: BannerControl): Promise<void> {
    const run = this.#run;
    this.#pressed.add(keyOf(control));
    this.#vendor = control.vendor;
    if (control.kind === 'save' && !(await this.#turnOffSwitches(control))) return;
    const before = run.url();
    await rememberPressed(run, control);
    const { results } = await run.run([{ type: 'click', selectors: [literal(control.path)], optional: true, timeout_ms: clickMsMax }]);
    this.#hasFailed = results[0]?.status !== 'ok';
    if (this.#hasFailed) return;
    this.#labels.push(control.label);
    if (control.kind === 'settings') this.#openedAt = before;
    else {
      this.#made = control;
      this.#isShown = !(await this.#hasClosed(control));
    }
  }

  /** Turns switches off, because saving would accept those that are left on. */
  async #turnOffSwitches(control: BannerControl): Promise<boolean> {
    const run = this.#run;
    const { shown, hidden } = await run.act('find_switches', () => listSwitches(run, control));
    const steps = shown.map((path) => ({
      type: 'check',
      selectors: [literal(path)],
      state: false,
      optional: true,
      timeout_ms: clickMsMax,
    }));
    const { results } = steps.length > 0 ? await run.run(steps) : { results: [] };
    const isOff = hidden === 0 && results.every(({ status }) => status === 'ok');
    if (!isOff) run.warn('switches_left_on');
    return isOff;
  }

  /** Whether the button has left, for two looks: neither itself nor another in its place is shown. */
  #hasClosed(control: BannerControl): Promise<boolean> {
    const run = this.#run;
    const key = keyOf(control);
    return run.act('check_banner', async () => {
      let timesAbsent = 0;
      for (let pauses = 0; pauses < changeMsMax / pollMs && !run.isNearEnd(2); pauses += 1) {
        const isShown =
          (await isPressedShown(run, control)) || (await findConsentControls(run)).controls.some((each) => keyOf(each) === key);
        timesAbsent = isShown ? 0 : timesAbsent + 1;
        if (timesAbsent === 2) return true;
        await run.sleep(pollMs);
      }
      return false;
    });
  }
}

const withoutHash = (url: string): string => url.split('#')[0] ?? '';
const keyOf = ({ frameId, path, label }: BannerControl): string => JSON.stringify([frameId, path, label]);
