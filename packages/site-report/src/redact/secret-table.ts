/** The distinct secrets of a capture, while they are collected. */
import { locationsMax, type Secret, type SecretKind, type SecretLocation } from '../secret.ts';
import { BoundedFinder, type FinderBounds, type Word } from '@berth/lib/text/bounded-finder.ts';
import { inSearchOrder } from '@berth/lib/secrets/secret-forms.ts';
import { atOnce } from '@berth/lib/turns/turn-budget.ts';
import { base64Of, encodingsOf } from './encodings.ts';
import type { Hit } from '@berth/lib/secrets/redact/hit.ts';
import { readJwt } from './jwt.ts';
import { isDistinctive, isOpaque } from '@berth/lib/secrets/opaque.ts';

interface Collected {
  value: string;
  kind: SecretKind;
  rank: number;
  /** Whether the name of one of its locations says that it is a secret. */
  isNamed: boolean;
  locations: SecretLocation[];
  seen: Set<string>;
  placeholder: string;
}

/** What a word that is searched for stands for. */
export interface SearchedForm {
  id: number;
  /** A short value is replaced only where no letter or digit touches it. */
  needsBoundary: boolean;
}

/** Maximum values of one group. Those beyond share a placeholder by kind, and are replaced where they were seen. */
const secretsMax = 20_000;
/**
 * How much a secret matters. `random`: text that only looks as if it were drawn at random, such as the lines of a file in
 * base64. `weak`: what opens nothing. Either may come in thousands, which must not take the place of a password.
 */
type Group = 'strong' | 'random' | 'weak';
const weakKinds = new Set<SecretKind>(['email', 'phone', 'username', 'cookie']);
/** Longer values are encoded last: one of them would take the place of thousands of others. */
const shortCharsMax = 16_384;
const boundaryCharsMax = 16;
/** Some 50 MB of memory and two seconds to build, for all forms of 4,000 secrets that have nothing in common. The heap of the thread is ten times the kept characters. */
const finderBounds: FinderBounds = { states: 1_000_000, chars: 50_000_000 };
const pemLineCharsMin = 40;

/** A kind that a value was seen as later replaces one of a lower rank: a cookie that is also sent as a header is a token. */
const ranks: Partial<Record<SecretKind, number>> = { username: 0, cookie: 1, token: 2, secret: 2, otp: 3, jwt: 9, refresh_token: 10 };
const defaultRank = 4;

export class SecretTable {
  readonly #ids = new Map<string, number>();
  readonly #secrets: Collected[] = [];
  readonly #counts: Record<Group, number> = { strong: 0, random: 0, weak: 0 };
  readonly #overflow = new Map<SecretKind, number>();

  /** @returns the id of the value's secret */
  add({ value, kind: stated, by }: Hit, location: SecretLocation): number {
    const kind = stated === 'token' && readJwt(value) ? 'jwt' : stated;
    const id = this.#ids.get(value) ?? this.#append(value, kind, by === 'name');
    const secret = this.#secrets[id];
    if (!secret) return id;
    const rank = ranks[kind] ?? defaultRank;
    if (rank > secret.rank && secret.value !== '') Object.assign(secret, { kind, rank });
    secret.isNamed ||= by === 'name';
    this.#addLocation(secret, location);
    return id;
  }

  #append(value: string, kind: SecretKind, isNamed: boolean): number {
    const group = groupOf(kind, isNamed);
    const isOver = (this.#counts[group] += 1) > secretsMax;
    const shared = isOver ? this.#overflow.get(kind) : undefined;
    if (shared !== undefined) return shared;
    const id = this.#secrets.length;
    this.#secrets.push({
      ...{ value: isOver ? '' : value, kind, rank: ranks[kind] ?? defaultRank, isNamed: false },
      ...{ locations: [], seen: new Set<string>(), placeholder: '' },
    });
    if (isOver) this.#overflow.set(kind, id);
    else this.#ids.set(value, id);
    return id;
  }

  /** Adds where a value stood that only its equality with a known one gave away. */
  addSeen(id: number, location: SecretLocation): void {
    const secret = this.#secrets[id];
    if (secret) this.#addLocation(secret, location);
  }

  #addLocation({ locations, seen }: Collected, location: SecretLocation): void {
    if (locations.length >= locationsMax) return;
    const at = `${location.position} ${location.entryIndex}`;
    const key = location.name === null ? at : `${at} ${location.name}`;
    if (seen.has(key)) return;
    seen.add(at).add(key);
    locations.push(location);
  }

  /** Numbers the placeholders by first appearance. To call once, when all is collected. */
  assignPlaceholders(): void {
    const counts = new Map<SecretKind, number>();
    for (const secret of this.#secrets) {
      const count = (counts.get(secret.kind) ?? 0) + 1;
      counts.set(secret.kind, count);
      secret.placeholder = `{{${secret.kind}_${count}}}`;
    }
  }

  placeholderOf(id: number): string {
    return this.#secrets[id]?.placeholder ?? '';
  }

  /**
   * Searches for all secrets as they are, then for their other forms: those of kinds that open something first.
   * `searchesAll`: nothing was left out, of any secret.
   */
  createFinder(): { finder: BoundedFinder<SearchedForm>; searchesAll: boolean } {
    const searched = [...this.#secrets.entries()].filter(([, { value, kind, isNamed }]) => isSearched(value, kind, isNamed));
    const ofGroup = (group: Group): typeof searched => searched.filter(([, { kind, isNamed }]) => groupOf(kind, isNamed) === group);
    const byImportance = [...ofGroup('strong'), ...ofGroup('random'), ...ofGroup('weak')];
    const wordsBy =
      (formsFor: typeof encodedForms) =>
      ([id, { value, kind }]: [number, Collected]): Word<SearchedForm>[] =>
        formsFor(value, kind).map(({ text, mayTouch }) => ({
          text,
          value: { id, needsBoundary: value.length < boundaryCharsMax && !mayTouch },
        }));
    const words = inSearchOrder(
      byImportance,
      wordsBy(plainForms),
      wordsBy((value, kind) => (value.length <= shortCharsMax ? encodedForms(value, kind) : [])),
      wordsBy((value, kind) => (value.length > shortCharsMax ? encodedForms(value, kind) : [])),
    );
    const finder = atOnce(BoundedFinder.create(words, finderBounds));
    return { finder, searchesAll: finder.isWhole && this.#overflow.size === 0 };
  }

  list(clean: (text: string) => string): Secret[] {
    return this.#secrets.map(({ value, kind, locations, placeholder }) => {
      const jwt = readJwt(value);
      return {
        placeholder,
        kind,
        length: value.length,
        jwt: jwt && { ...jwt, iss: jwt.iss && clean(jwt.iss), aud: jwt.aud.map(clean), claimNames: jwt.claimNames.map(clean) },
        locations: locations.map((location) => ({ ...location, name: location.name === null ? null : clean(location.name) })),
      };
    });
  }
}

function groupOf(kind: SecretKind, isNamed: boolean): Group {
  if (weakKinds.has(kind)) return 'weak';
  return kind === 'token' && !isNamed ? 'random' : 'strong';
}

/** A form of a secret. Base64 of it stands among letters and digits of other bytes. */
interface Form {
  text: string;
  mayTouch: boolean;
}

const plainForms = (value: string): Form[] => [{ text: value, mayTouch: false }];

function encodedForms(value: string, kind: SecretKind): Form[] {
  const [, ...encoded] = encodingsOf(value);
  const lines = kind === 'private_key' ? linesOf(value) : [];
  return [
    ...[...encoded, ...lines].map((text) => ({ text, mayTouch: false })),
    ...base64Of(value).map((text) => ({ text, mayTouch: true })),
  ];
}

const linesOf = (value: string): string[] => value.split('\n').filter((line) => line.length >= pemLineCharsMin);

/** A cookie may be a setting, and a user's name a word: those are replaced where they stand, others everywhere. */
function isSearched(value: string, kind: SecretKind, isNamed: boolean): boolean {
  if (kind === 'username') return false;
  if (kind === 'otp' || kind === 'recovery_code') return value.length >= 6;
  if (kind !== 'cookie' || isNamed) return isDistinctive(value);
  return isOpaque(value) || (value.length >= 12 && /\d.*\d.*\d/.test(value) && /[A-Za-z]/.test(value) && isDistinctive(value));
}
