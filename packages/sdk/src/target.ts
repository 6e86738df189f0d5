/** The element of a step as a caller writes it. */

/** A reference of a snapshot: `e12`, or `f2e12` in a frame, also with an @ before it. No element of a page is named so. */
const refForm = /^@?((?:f\d{1,7})?e\d{1,9})$/;

/** The fields that name the element of a step: by a reference, or by a selector. */
export function targetOf(target: string): { ref: string } | { selectors: string[] } {
  const [, ref] = refForm.exec(target) ?? [];
  return ref === undefined ? { selectors: [target] } : { ref };
}
