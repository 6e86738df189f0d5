/** Secrets that somebody gave a session to type: what a page shows of them is masked in what the session says of the page. */
import { formsOf } from '@berth/lib/secrets/secret-forms.ts';
import { readEscapes } from '@berth/lib/secrets/percent.ts';
import { mapTexts } from '@berth/lib/text/map-texts.ts';
import { TextFinder } from '@berth/lib/text/text-finder.ts';

/** Minimum length of a secret: shorter ones are parts of ordinary words and of ids. */
const secretCharsMin = 4;
/** Maximum characters of all forms together: some 100 bytes each. The newest secrets count. */
const formCharsMax = 100_000;

interface KnownSecret {
  text: string;
  name: string;
  forms: string[];
}

export class KnownSecrets {
  #known: KnownSecret[] = [];
  #names: string[] = [];
  #finder: TextFinder | null = null;

  /** Adds secrets until the session ends: a page may show later what was typed before. */
  add(secrets: Readonly<Record<string, string>>): void {
    const added = Object.entries(secrets)
      .filter(([, text]) => text.length >= secretCharsMin && !this.#known.some((known) => known.text === text))
      .map(([name, text]) => ({ text, name: `{{secret.${name}}}`, forms: formsOf(text) }));
    if (added.length === 0) return;
    this.#known = newest([...this.#known, ...added]);
    const forms = this.#known.flatMap(({ name, forms: all }) => all.map((form) => ({ form, name })));
    this.#names = forms.map(({ name }) => name);
    this.#finder = last(TextFinder.create(forms.map(({ form }) => form)));
  }

  /** The value with `{{secret.name}}` in place of each secret in its texts; ids are left as they are. Linear. */
  mask<T>(value: T): T {
    const finder = this.#finder;
    return finder === null ? value : mapTexts(value, (text) => this.#text(finder, text), { keepsIds: true });
  }

  /** Where only some characters are written in escapes of URLs, the whole text is shown without its escapes. */
  #text(finder: TextFinder, text: string): string {
    const replaced = this.#replaced(finder, text);
    const plain = replaced.includes('%') ? readEscapes(replaced)?.text : undefined;
    if (plain === undefined) return replaced;
    const masked = this.#replaced(finder, plain);
    return masked === plain ? replaced : masked;
  }

  #replaced(finder: TextFinder, text: string): string {
    return last(
      finder.replace(
        text,
        (pattern) => this.#names[pattern] ?? '',
        () => {},
      ),
    );
  }
}

function newest(known: readonly KnownSecret[]): KnownSecret[] {
  let chars = 0;
  const from = known.findLastIndex(({ forms }) => {
    chars += forms.reduce((sum, form) => sum + form.length, 0);
    return chars > formCharsMax;
  });
  // One that is too long alone stays all the same: it is bounded by what a call may send.
  return known.slice(Math.min(from + 1, known.length - 1));
}

/** Runs a generator to its result, without its pauses: the texts of events are short. */
function last<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
