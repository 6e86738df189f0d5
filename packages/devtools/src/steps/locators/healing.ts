/** Finds the element of a step in a page that has changed: by what earlier runs learned about it. */
import type { PlainStep, Selector, Selectors } from '@berth/contract';
import { PageError, type CallOptions, type ElementRef } from '../../browser/browser.ts';
import type { Fingerprint, Similar } from '@berth/page-scripts/locate/fingerprint.ts';
import type { Finding, KnownElement, StepMemory, StepKey } from '../context.ts';
import type { StepAttempt, Healed, Healing, Locate, Root } from '../run/attempt.ts';
import { scripts } from '../scripts.ts';
import { selectorsOf, withoutGeneratedNames } from './stable-selectors.ts';

/** Time for which listed selectors alone are tried: a slow page is no changed page. */
const healDelayMs = 2000;
const healDelayShare = 1 / 3;
const healedSteps: ReadonlySet<PlainStep['type']> = new Set([
  'click',
  'hover',
  'fill',
  'type',
  'press',
  'select',
  'check',
  'upload',
  'extract',
]);
/** Maximum time of one search, which the page itself ends sooner. */
const searchMs = 1000;
/** Time in the page for the elements that are like the one that is looked for, and for those of the same name. */
const similarMs = 250;
const alikeMs = 100;
const clickedSteps: ReadonlySet<PlainStep['type']> = new Set(['click', 'press']);

/** Words of what spends, ends or sends something, in the languages of most sites. It is done only where the flow says. */
const finalWords =
  /\b(pay|payer|bezahlen|zahlen|pagar|pagare|buy|acheter|kaufen|comprar|acquista|purchase|order|bestellen|commander|pedir|ordina|checkout|delete|supprimer|löschen|eliminar|borrar|elimina|remove|entfernen|retirer|quitar|erase|cancel|kündigen|stornieren|annuler|cancelar|transfer|überweisen|virement|transferir|send|senden|envoyer|enviar|invia|submit|absenden|soumettre|confirm|bestätigen|confirmer|confirmar|unsubscribe|abmelden|donate|spenden)\b/i;

export const isFinalAct = (type: PlainStep['type'], { name, attributes }: Fingerprint): boolean =>
  clickedSteps.has(type) ? finalWords.test(name) : (attributes['autocomplete'] ?? '').startsWith('cc-');

export const canHeal = (step: PlainStep): boolean =>
  healedSteps.has(step.type) && 'selectors' in step && step.selectors !== undefined && !(step.type === 'extract' && step.list);

/** The healing of one step: knows how its element was found, for `finish`. */
export class StepHealing implements Healing {
  readonly #attempt: StepAttempt;
  readonly #memory: StepMemory;
  readonly #key: StepKey;
  readonly #type: PlainStep['type'];
  readonly #startedMs: number;
  #finding: Finding | null = null;
  #known: KnownElement | null | undefined;

  constructor(attempt: StepAttempt, options: { memory: StepMemory; key: StepKey; type: PlainStep['type'] }) {
    this.#attempt = attempt;
    this.#memory = options.memory;
    this.#key = options.key;
    this.#type = options.type;
    this.#startedMs = attempt.context.clock.monotonicMs();
  }

  get isHealed(): boolean {
    return this.#finding?.result === 'healed';
  }

  /** The listed selectors found the element. */
  async remember(element: ElementRef, listed: Selectors, locate: Locate): Promise<void> {
    if (this.#finding?.result === 'listed') return;
    this.#finding = { result: 'listed', selectors: [], fingerprint: null };
    const known = await this.#recall();
    if (known?.isFresh === true) return;
    await unlessPageFails(async () => {
      const fingerprint = await this.#fingerprint(element);
      const unique = await this.#uniqueSelectors(fingerprint, locate);
      this.#finding = { result: 'listed', selectors: unique.filter((selector) => !listed.includes(selector)), fingerprint };
      return null;
    });
  }

  /** The listed selectors found nothing. */
  heal(root: Root, selectors: Selectors, locate: Locate): Promise<Healed | null> {
    return unlessPageFails(() => this.#heal(root, selectors, locate));
  }

  async #heal(root: Root, selectors: Selectors, locate: Locate): Promise<Healed | null> {
    const known = await this.#recall();
    const from = selectors[0] ?? '';
    if (known && isFinalAct(this.#type, known.fingerprint)) {
      this.#finding = { result: 'failed', reason: 'not_allowed' };
      return null;
    }
    const again = known && (await this.#byAlternatives(known, from, locate));
    if (again) return again;
    if (!this.#isDelayOver || !(await this.#isLoaded(root))) return null;
    return (await this.#byStableNames(known, selectors, locate)) ?? (known && this.#bySimilarity(known, { root, from, locate }));
  }

  /** The step has succeeded with the element. */
  succeed(): void {
    if (this.#finding) this.#memory.learn(this.#key, this.#finding);
  }

  /** The step has not found its element. */
  fail(): void {
    if (!this.#known || this.#finding?.result === 'listed') return;
    this.#memory.learn(this.#key, this.#finding?.result === 'failed' ? this.#finding : { result: 'failed', reason: 'not_found' });
  }

  async #recall(): Promise<KnownElement | null> {
    this.#known ??= await this.#memory.recall(this.#key);
    return this.#known;
  }

  get #isDelayOver(): boolean {
    const { context, timeoutMs, page } = this.#attempt;
    return context.clock.monotonicMs() - this.#startedMs >= Math.min(page.timeoutScale.ms(healDelayMs), timeoutMs * healDelayShare);
  }

  #isLoaded({ frameId }: Root): Promise<boolean> {
    return this.#attempt.page.call<boolean>(frameId, scripts.isLoaded, [], this.#attempt.call());
  }

  async #byAlternatives(known: KnownElement, from: Selector, locate: Locate): Promise<Healed | null> {
    if (known.selectors.length === 0) return null;
    const located = await locate({ selectors: known.selectors, pick: 'one', max: 1 });
    const [element] = located?.elements ?? [];
    if (!located || !element) return null;
    this.#finding = {
      result: 'healed',
      level: 2,
      score: 1,
      from,
      selectors: [located.selector],
      fingerprint: await this.#fingerprint(element),
    };
    return { element, selector: located.selector };
  }

  /** Selectors without the parts that build tools generate. */
  async #byStableNames(known: KnownElement | null, selectors: Selectors, locate: Locate): Promise<Healed | null> {
    for (const [index, selector] of selectors.entries()) {
      const stable = withoutGeneratedNames(selector);
      if (stable === null) continue;
      const located = await locate({ selectors: [stable], pick: 'all', max: 2 });
      const [element] = located?.elements ?? [];
      if (located?.count !== 1 || !element) continue;
      const fingerprint = await this.#fingerprint(element);
      if (isFinalAct(this.#type, fingerprint) || (known && known.fingerprint.kind !== fingerprint.kind)) continue;
      const from = selectors[index] ?? '';
      this.#finding = { result: 'healed', level: 3, score: 1, from, selectors: [stable], fingerprint };
      return { element, selector: stable };
    }
    return null;
  }

  async #bySimilarity(
    { fingerprint: known }: KnownElement,
    { root, from, locate }: { root: Root; from: Selector; locate: Locate },
  ): Promise<Healed | null> {
    const { page } = this.#attempt;
    const similar = await page.call<Similar | null>(
      root.frameId,
      scripts.findSimilar,
      [root.element, known as never, page.timeoutScale.ms(similarMs)],
      this.#call(),
    );
    if (!similar || isFinalAct(this.#type, similar.fingerprint)) return null;
    const [element] = this.#attempt.hold(await page.find(root.frameId, scripts.takeMatches, [], this.#attempt.call()));
    if (!element) return null;
    const { level, score } = similar;
    const fingerprint = this.#withoutData(similar.fingerprint);
    const selectors = await this.#uniqueSelectors(fingerprint, locate);
    this.#finding = { result: 'healed', level, score, from, selectors, fingerprint };
    return { element, selector: selectors[0] ?? from };
  }

  /**
   * The selectors that find one element, of those that the element's fingerprint gives. Whether a role and a name do
   * is in the fingerprint: the browser's own search takes seconds in a large page.
   */
  async #uniqueSelectors(fingerprint: Fingerprint, locate: Locate): Promise<Selector[]> {
    const unique: Selector[] = [];
    for (const selector of selectorsOf(fingerprint)) {
      if (selector.startsWith('aria/')) {
        if (fingerprint.alike === 0) unique.push(selector);
        continue;
      }
      const located = await locate({ selectors: [selector], pick: 'all', max: 2 });
      if (located?.count === 1) unique.push(selector);
    }
    return unique;
  }

  async #fingerprint(element: ElementRef): Promise<Fingerprint> {
    const { page } = this.#attempt;
    return this.#withoutData(
      await page.call<Fingerprint>(element.frameId, scripts.fingerprint, [element, page.timeoutScale.ms(alikeMs)], this.#call()),
    );
  }

  /** The text of an element that is read is the caller's data, not what the element is known by. */
  #withoutData(fingerprint: Fingerprint): Fingerprint {
    return this.#type === 'extract' && fingerprint.kind === 'other' ? { ...fingerprint, name: '' } : fingerprint;
  }

  #call(): CallOptions {
    const { page } = this.#attempt;
    const { timeoutMs, ...rest } = this.#attempt.call();
    return { ...rest, timeoutMs: Math.min(timeoutMs, page.timeoutScale.ms(searchMs)) };
  }
}

/** Runs the work; null where the page does not answer, or has changed meanwhile: what a step remembers never makes it fail. */
async function unlessPageFails<T>(work: () => Promise<T | null>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PageError) return null;
    throw error;
  }
}
