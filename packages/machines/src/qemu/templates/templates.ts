/** The templates of a service: prepared in the background, leased to boots, rebuilt when their clones fail. */
import { Deadline } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import type { TemplateState, VmKind } from '../../runtime.ts';
import { Breaker } from '../breaker.ts';
import { TemplateUnusableError, type TemplateStore } from './store.ts';
import {
  closeTemplate,
  templateKey,
  templateKind,
  templateKinds,
  type Template,
  type TemplateInfo,
  type TemplateKind,
} from './template.ts';

interface TemplatesDeps {
  memoryBytes: number;
  info: (kind: TemplateKind) => TemplateInfo;
  /** A build that throws leaves nothing behind. */
  build: (info: TemplateInfo, options: { signal: AbortSignal }) => Promise<Template>;
  /** Time limit of a build. */
  buildMsMax: number;
  store: TemplateStore;
  clock: Clock;
  log: Log;
}

/** A failed build is retried once immediately, and then after the breaker's pauses. */
const attemptsMax = 2;

/** Allows one clone. The holder calls exactly one of the three methods. */
export interface TemplateLease {
  template: Template;
  worked(): void;
  failed(): void;
  /** The clone was aborted without a result. */
  release(): void;
}

export class Templates {
  readonly #kinds: ReadonlyMap<TemplateKind, KindTemplate>;

  constructor(deps: TemplatesDeps) {
    this.#kinds = new Map(templateKinds.map((kind) => [kind, new KindTemplate(kind, deps)]));
  }

  /** Prepares all templates in sequence, the most used kind first. Never throws: `states()` has the failures. */
  async prepareAll(): Promise<void> {
    for (const kind of templateKinds) await this.#of(kind).ready();
  }

  /** Waits for the first template of the kind. Returns null where none works, for a cold boot. @throws the signal's reason */
  lease(kind: VmKind, signal: AbortSignal): Promise<TemplateLease | null> {
    return this.#of(kind).lease(signal);
  }

  key(kind: VmKind): string {
    return this.#of(kind).key;
  }

  states(): TemplateState[] {
    return [...this.#kinds.values()].map((each) => each.state());
  }

  /** Resolves when none is being built. */
  async settled(): Promise<void> {
    await Promise.all([...this.#kinds.values()].map((each) => each.settled()));
  }

  /** Running machines are not affected. */
  async close(): Promise<void> {
    await Promise.all([...this.#kinds.values()].map((each) => each.close()));
  }

  #of(kind: VmKind): KindTemplate {
    const kindTemplate = this.#kinds.get(templateKind(kind));
    if (!kindTemplate) throw new Error(`no templates of ${kind}`);
    return kindTemplate;
  }
}

class KindTemplate {
  readonly key: string;
  readonly #kind: TemplateKind;
  readonly #deps: TemplatesDeps;
  readonly #info: TemplateInfo;
  readonly #breaker: Breaker;
  readonly #closed = new AbortController();
  #current: LeasedTemplate | null = null;
  #making: Promise<void> | null = null;
  #retry: NodeJS.Timeout | undefined;
  /** Why there is no working template. */
  #problem: string | null = null;
  /** While the breaker is open, one clone at a time shows whether the new template is better. */
  #isOnTrial = false;

  constructor(kind: TemplateKind, deps: TemplatesDeps) {
    this.#kind = kind;
    this.#deps = deps;
    this.#info = deps.info(kind);
    this.#breaker = new Breaker(deps.clock);
    this.key = templateKey(this.#info);
  }

  async ready(): Promise<void> {
    if (this.#current || this.#breaker.isOpen || this.#closed.signal.aborted) return;
    await this.#make();
  }

  async lease(signal: AbortSignal): Promise<TemplateLease | null> {
    await orAbort(this.ready(), signal);
    const leased = this.#current;
    const onTrial = this.#breaker.isOpen;
    if (!leased || (onTrial && this.#isOnTrial)) return null;
    if (onTrial) this.#isOnTrial = true;
    leased.acquire();
    const end = (what: 'worked' | 'failed' | null): void => {
      leased.release();
      if (onTrial) this.#isOnTrial = false;
      // The result of a discarded template says nothing about the current one.
      if (what && leased === this.#current) this.#recordOutcome(what);
    };
    return { template: leased.template, worked: () => end('worked'), failed: () => end('failed'), release: () => end(null) };
  }

  state(): TemplateState {
    const { failures, isOpen } = this.#breaker;
    const making = this.#making ? 'a template is being made' : null;
    const note = [this.#problem, making].filter(Boolean).join('; ');
    return { kind: this.#kind, method: isOpen ? 'cold' : 'clone', failures, note: note === '' ? null : note };
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

  #recordOutcome(what: 'worked' | 'failed'): void {
    if (what === 'worked') {
      if (this.#breaker.isOpen) this.#deps.log.info({ kind: this.#kind }, 'template recovered');
      this.#breaker.cloneWorked();
      this.#problem = null;
    } else if (this.#breaker.cloneFailed()) {
      this.#drop();
      this.#deps.store
        .remove(this.#info)
        .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'failed template not removed from disk'));
      this.#scheduleRebuild('its clones failed');
    }
  }

  #make(): Promise<void> {
    this.#making ??= this.#loadOrBuild()
      .then(
        (template) => {
          if (this.#closed.signal.aborted) return closeTemplate(template);
          this.#current = new LeasedTemplate(template);
          if (!this.#breaker.isOpen) this.#problem = null;
        },
        (error: unknown) => {
          if (this.#closed.signal.aborted) return;
          this.#deps.log.error({ kind: this.#kind, err: error }, 'template build failed');
          this.#breaker.buildFailed();
          this.#scheduleRebuild('no template could be made');
        },
      )
      .finally(() => {
        this.#making = null;
      });
    return this.#making;
  }

  async #loadOrBuild(): Promise<Template> {
    const { store, memoryBytes, log } = this.#deps;
    const startedMs = performance.now();
    const elapsedMs = (): number => Math.round(performance.now() - startedMs);
    try {
      const loaded = await store.load(this.#info, memoryBytes);
      if (loaded) {
        log.info({ kind: this.#kind, ms: elapsedMs() }, 'template loaded');
        return loaded;
      }
    } catch (error) {
      if (!(error instanceof TemplateUnusableError)) throw error;
      this.#problem = `the template on disk cannot be used: ${error.message}`;
      log.warn({ kind: this.#kind, err: error }, 'stored template rejected, rebuilding');
    }
    const built = await this.#build();
    log.info({ kind: this.#kind, ms: elapsedMs() }, 'template built');
    await store
      .save(built, this.#deps.clock.now())
      .catch((error: unknown) => log.warn({ kind: this.#kind, err: error }, 'template not saved'));
    return built;
  }

  async #build(): Promise<Template> {
    for (let attempt = 1; ; attempt += 1) {
      this.#closed.signal.throwIfAborted();
      try {
        const within = { signal: this.#closed.signal, timeoutMs: this.#deps.buildMsMax };
        return await Deadline.run(within, ({ signal }) => this.#deps.build(this.#info, { signal }));
      } catch (error) {
        if (attempt === attemptsMax || this.#closed.signal.aborted) throw error;
        this.#deps.log.warn({ kind: this.#kind, err: error, attempt }, 'template build attempt failed');
      }
    }
  }

  #scheduleRebuild(trouble: string): void {
    const pauseMs = this.#breaker.pauseMs ?? 0;
    this.#problem = `machines are booted without a template: ${trouble}`;
    this.#deps.log.error({ kind: this.#kind, failures: this.#breaker.failures, pauseMs, problem: this.#problem }, 'template disabled');
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#make(), pauseMs).unref();
  }

  #drop(): void {
    this.#current?.release();
    this.#current = null;
  }
}

/** A template with a reference count. It is closed after its last user, as its descriptor numbers may be reused then. */
class LeasedTemplate {
  readonly template: Template;
  #users = 1;

  constructor(template: Template) {
    this.template = template;
  }

  acquire(): void {
    this.#users += 1;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) void closeTemplate(this.template);
  }
}
