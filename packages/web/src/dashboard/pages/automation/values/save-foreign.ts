import { saveFile } from '../../../ui/values/save-file.ts';

/** The bytes of a base64 text. */
export const fromBase64 = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

/**
 * Offers what comes from pages of others as a file. Its type is always that of plain bytes: a browser that opened it
 * would otherwise run its scripts with the rights of the dashboard.
 */
export const saveForeign = (name: string, content: string | Uint8Array<ArrayBuffer>): void =>
  saveFile(new Blob([content], { type: 'application/octet-stream' }), name);
