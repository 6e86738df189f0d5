/** Secrets that somebody gave a session to type: what a page shows of them is masked in what the session says of the page. */
import { formsOf, inSearchOrder } from '@berth/lib/secrets/secret-forms.ts';
import { readEscapes } from '@berth/lib/secrets/redact/percent.ts';
import { BoundedFinder, mergeSpans, type FinderBounds, type Word } from '@berth/lib/text/bounded-finder.ts';
import { mapTexts } from '@berth/lib/text/map-texts.ts';
import { inTurns } from '@berth/lib/turns/turn-budget.ts';

/** Minimum length of a secret: shorter ones are parts of ordinary words and of ids. */
const secretCharsMin = 4;
/** Maximum secrets of a session. */
const secretsMax = 20_000;
/** At most 20 MB of memory for a session: all forms of some 5,000 secrets of 20 characters. */
const finderBounds: FinderBounds = { states: 250_000, chars: 4_000_000 };

interface KnownSecret {
  text: string;
  /** What stands in its place. */
  placeholder: string;
  /** As URLs, HTML, JSON and base64 write it. */
  encoded: string[];
}

export class KnownSecrets {
  /** By the text; the newest is the last. */
  #known = new Map<string, KnownSecret>();
  #finder: BoundedFinder<string> | null = null;
  #building: Promise<void> = Promise.resolve();
  #isWhole = true;

  /** Whether each secret of the session is searched for in each form. Once that is not so, it stays so. */
  get searchesAll(): boolean {
    return this.#isWhole;
  }

  /** Adds secrets until the session ends, because a page may show later what was typed before. They are masked once this resolves. */
  async add(secrets: Readonly<Record<string, string>>): Promise<void> {
    const added = Object.entries(secrets).filter(([, text]) => text.length >= secretCharsMin && !this.#known.has(text));
    for (const [name, text] of added)
      this.#known.set(text, { text, placeholder: `{{secret.${name}}}`, encoded: formsOf(text).filter((form) => form !== text) });
    if (added.length > 0) this.#building = this.#building.then(() => this.#build());
    await this.#building;
  }

  /** Values come before their encodings, and in each the newest first. What has no room is forgotten, and `searchesAll` says so. */
  async #build(): Promise<void> {
    const newestFirst = [...this.#known.values()].toReversed();
    const wordsBy =
      (formsFor: (secret: KnownSecret) => string[]) =>
      (secret: KnownSecret): Word<string>[] =>
        formsFor(secret).map((text) => ({ text, value: secret.placeholder }));
    const words = inSearchOrder(
      newestFirst.slice(0, secretsMax),
      wordsBy(({ text }) => [text]),
      wordsBy(({ encoded }) => encoded),
    );
    const finder = await inTurns(BoundedFinder.create(words, finderBounds));
    this.#finder = finder;
    for (const { text } of newestFirst.slice(Math.min(secretsMax, finder.size))) this.#known.delete(text);
    this.#isWhole &&= finder.isWhole && newestFirst.length <= secretsMax;
  }

  /** The value with `{{secret.name}}` in place of each secret in its texts; ids are left as they are. Linear. */
  mask<T>(value: T): T {
    const finder = this.#finder;
    return finder === null ? value : mapTexts(value, (text) => maskText(finder, text), { keepsIds: true });
  }
}

/** Where only some characters are written in escapes of URLs, the whole text is shown without its escapes. */
function maskText(finder: BoundedFinder<string>, text: string): string {
  const masked = replaced(finder, text);
  const plain = masked.includes('%') ? readEscapes(masked)?.text : undefined;
  if (plain === undefined) return masked;
  const maskedPlain = replaced(finder, plain);
  return maskedPlain === plain ? masked : maskedPlain;
}

function replaced(finder: BoundedFinder<string>, text: string): string {
  const spans = mergeSpans(finder.search(text));
  if (spans.length === 0) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, value } of spans) {
    parts.push(text.slice(from, start), value);
    from = end;
  }
  return [...parts, text.slice(from)].join('');
}
