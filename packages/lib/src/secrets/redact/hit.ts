import type { SecretKind } from '../kinds.ts';

/** A secret in a text. */
export interface Hit {
  /** Where it stands in the text, encoded as the text is. */
  start: number;
  end: number;
  /** Decoded. */
  value: string;
  kind: SecretKind;
  /** The name that gave it away or under which it stands, else null. */
  name: string | null;
  /** Whether its name or its form gave it away. */
  by: 'name' | 'form';
}

export type ReportHit = (hit: Hit) => void;

/** Reports hits of a part of a text at their offsets in the whole. */
export const shifted =
  (report: ReportHit, offset: number): ReportHit =>
  (hit) =>
    report({ ...hit, start: hit.start + offset, end: hit.end + offset });

/** Percent-decoded, plus signs as spaces where they stand for them; unchanged where it is not decodable. */
export function decoded(text: string, plusIsSpace: boolean): string {
  const spaced = plusIsSpace ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}
