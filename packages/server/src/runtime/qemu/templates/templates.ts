/** The templates of a service: made ready in the background, lent to boots, thrown away and made anew when their clones fail. */
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { orAbort } from '../../../lib/or-abort.ts';
import type { TemplateState, VmKind } from '../../runtime.ts';
import { Breaker } from '../breaker.ts';
import { TemplateUnusable } from './store.ts';
import type { TemplateStore } from './store.ts';
import { closeTemplate, templateKey, templateKind, templateKinds } from './template.ts';
import type { Template, TemplateFacts, TemplateKind } from './template.ts';

export interface TemplatesParts {
  memoryBytes: number;
  facts: (kind: TemplateKind) => TemplateFacts;
  /** Throws what went wrong, and leaves nothing of it. */
  build: (facts: TemplateFacts, options: { signal: AbortSignal }) => Promise<Template>;
  /** A machine that hangs while it is built is given up then. */
  buildMsMax: number;
  store: TemplateStore;
  clock: Clock;
  log: Log;
}

/** A template that cannot be made is tried again at once, and then after the breaker's pauses. */
const attemptsMax = 2;

/** The right to make one clone. To be given back by exactly one of the three. */
export interface Loan {
  template: Template;
  worked(): void;
  failed(): void;
  /** Nothing is known of it: the clone was called off. */
  release(): void;
}

export class Templates {
  readonly #kinds: ReadonlyMap<TemplateKind, KindTemplate>;

  constructor(parts: TemplatesParts) {
    this.#kinds = new Map(templateKinds.map((kind) => [kind, new KindTemplate(kind, parts)]));
  }

  /** Makes them all ready, one after the other: the first is for most sessions. Never throws: what went wrong is in `states()`. */
  async makeAhead(): Promise<void> {
    for (const kind of templateKinds) await this.#of(kind).ready();
  }

  /** Waits while the first template of the kind is made. null where there is none to be trusted: the machine is booted without. Throws the signal's reason. */
  lend(kind: VmKind, signal: AbortSignal): Promise<Loan | null> {
    return this.#of(kind).lend(signal);
  }

  key(kind: VmKind): string {
    return this.#of(kind).key;
  }

  states(): TemplateState[] {
    return [...this.#kinds.values()].map((each) => each.state());
  }

  /** Resolves when none is being made. */
  async settled(): Promise<void> {
    await Promise.all([...this.#kinds.values()].map((each) => each.settled()));
  }

  /** Machines that run are not touched. */
  async close(): Promise<void> {
    await Promise.all([...this.#kinds.values()].map((each) => each.close()));
  }

  #of(kind: VmKind): KindTemplate {
    const found = this.#kinds.get(templateKind(kind));
    if (!found) throw new Error(`no templates of ${kind}`);
    return found;
  }
}

class KindTemplate {
  readonly key: string;
  readonly #kind: TemplateKind;
  readonly #parts: TemplatesParts;
  readonly #facts: TemplateFacts;
  readonly #breaker: Breaker;
  readonly #closed = new AbortController();
  #current: Lent | null = null;
  #making: Promise<void> | null = null;
  #retry: NodeJS.Timeout | undefined;
  /** Why there is no template that works. */
  #trouble: string | null = null;
  /** While the breaker is open, one clone at a time shows whether the new template is better. */
  #isOnTrial = false;

  constructor(kind: TemplateKind, parts: TemplatesParts) {
    this.#kind = kind;
    this.#parts = parts;
    this.#facts = parts.facts(kind);
    this.#breaker = new Breaker(parts.clock);
    this.key = templateKey(this.#facts);
  }

  async ready(): Promise<void> {
    if (this.#current || this.#breaker.isOpen || this.#closed.signal.aborted) return;
    await this.#make();
  }

  async lend(signal: AbortSignal): Promise<Loan | null> {
    await orAbort(this.ready(), signal);
    const lent = this.#current;
    const onTrial = this.#breaker.isOpen;
    if (!lent || (onTrial && this.#isOnTrial)) return null;
    if (onTrial) this.#isOnTrial = true;
    lent.take();
    const end = (what: 'worked' | 'failed' | null): void => {
      lent.giveBack();
      if (onTrial) this.#isOnTrial = false;
      // What comes of a template that is gone says nothing of the one that is there now.
      if (what && lent === this.#current) this.#learn(what);
    };
    return { template: lent.template, worked: () => end('worked'), failed: () => end('failed'), release: () => end(null) };
  }

  state(): TemplateState {
    const { failures, isOpen } = this.#breaker;
    const making = this.#making ? 'a template is being made' : null;
    const note = [this.#trouble, making].filter(Boolean).join('; ');
    return { kind: this.#kind, way: isOpen ? 'cold' : 'clone', failures, note: note === '' ? null : note };
  }

  async settled(): Promise<void> {
    await this.#making;
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('the service is stopping'));
    clearTimeout(this.#retry);
    await this.#making;
    this.#drop();
  }

  #learn(what: 'worked' | 'failed'): void {
    if (what === 'worked') {
      if (this.#breaker.isOpen) this.#parts.log.info({ kind: this.#kind }, 'machines are cloned from a template again');
      this.#breaker.cloneWorked();
      this.#trouble = null;
    } else if (this.#breaker.cloneFailed()) {
      this.#drop();
      this.#parts.store
        .remove(this.#facts)
        .catch((error: unknown) => this.#parts.log.warn({ error }, 'a template that failed is still on disk'));
      this.#distrust('its clones failed');
    }
  }

  #make(): Promise<void> {
    this.#making ??= this.#loadOrBuild()
      .then(
        (template) => {
          if (this.#closed.signal.aborted) return closeTemplate(template);
          this.#current = new Lent(template);
          if (!this.#breaker.isOpen) this.#trouble = null;
        },
        (error: unknown) => {
          if (this.#closed.signal.aborted) return;
          this.#parts.log.error({ kind: this.#kind, error }, 'no template could be made');
          this.#breaker.buildFailed();
          this.#distrust('no template could be made');
        },
      )
      .finally(() => {
        this.#making = null;
      });
    return this.#making;
  }

  async #loadOrBuild(): Promise<Template> {
    const { store, memoryBytes, log } = this.#parts;
    const startedMs = performance.now();
    const took = (): number => Math.round(performance.now() - startedMs);
    try {
      const loaded = await store.load(this.#facts, memoryBytes);
      if (loaded) {
        log.info({ kind: this.#kind, ms: took() }, 'a template was loaded');
        return loaded;
      }
    } catch (error) {
      if (!(error instanceof TemplateUnusable)) throw error;
      this.#trouble = `the template on disk cannot be used: ${error.message}`;
      log.warn({ kind: this.#kind, error }, 'the template on disk cannot be used: a new one is made');
    }
    const built = await this.#build();
    log.info({ kind: this.#kind, ms: took() }, 'a template was built');
    await store
      .save(built, this.#parts.clock.now())
      .catch((error: unknown) => log.warn({ kind: this.#kind, error }, 'a template was not kept: the next start builds it anew'));
    return built;
  }

  async #build(): Promise<Template> {
    for (let attempt = 1; ; attempt += 1) {
      this.#closed.signal.throwIfAborted();
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(this.#parts.buildMsMax)]);
      try {
        return await this.#parts.build(this.#facts, { signal });
      } catch (error) {
        if (attempt === attemptsMax || this.#closed.signal.aborted) throw error;
        this.#parts.log.warn({ kind: this.#kind, error, attempt }, 'a template could not be made: tried again');
      }
    }
  }

  #distrust(trouble: string): void {
    const pauseMs = this.#breaker.pauseMs ?? 0;
    this.#trouble = `machines are booted without a template: ${trouble}`;
    this.#parts.log.error({ kind: this.#kind, failures: this.#breaker.failures, pauseMs }, this.#trouble);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#make(), pauseMs).unref();
  }

  #drop(): void {
    this.#current?.giveBack();
    this.#current = null;
  }
}

/** Closed when nobody uses it any more: its descriptors' numbers would be another file's then. */
class Lent {
  readonly template: Template;
  #users = 1;

  constructor(template: Template) {
    this.template = template;
  }

  take(): void {
    this.#users += 1;
  }

  giveBack(): void {
    this.#users -= 1;
    if (this.#users === 0) void closeTemplate(this.template);
  }
}
