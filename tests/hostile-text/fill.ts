export const kilobytes = 1024;
export const megabytes = 1024 * 1024;

/** The unit, repeated to this length. */
export const fill = (unit: string, chars: number): string => unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars);
/** The unit, repeated up to this length, and never cut. */
export const fillWhole = (unit: string, chars: number): string => unit.repeat(Math.floor(chars / unit.length));
