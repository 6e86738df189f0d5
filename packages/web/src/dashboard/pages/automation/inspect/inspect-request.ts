/** Which fields of an inspection its form offers. */

/** The form has inputs of its own for these, or sets them itself. */
export const ownFields: ReadonlySet<string> = new Set(['url', 'har', 'async', 'metadata']);
/** Options beside a HAR, which is reported without a browser. */
export const harOptions: readonly string[] = ['include', 'capture_bodies', 'max_body_bytes', 'timeout_ms'];
