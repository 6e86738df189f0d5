/** HAR files that a person chooses for an inspection. */
/** Maximum size that the API accepts. */
const bytesMax = 32 * 1024 * 1024;

export type HarFile = { ok: true; text: string; entries: number; host: string } | { ok: false; message: string };

/** Reads a file as a HAR. The text is sent unchanged: it may have more objects than the API takes as an object. */
export async function readHarFile(file: Pick<Blob, 'size' | 'text'>): Promise<HarFile> {
  if (file.size > bytesMax) return { ok: false, message: 'This file is larger than 32 MB. Export the HAR without response bodies.' };
  const text = await file.text();
  const entries = entriesOf(text);
  if (entries === undefined) return { ok: false, message: 'This is not a HAR file. Export one from the network panel of a browser.' };
  if (entries.length === 0) return { ok: false, message: 'This HAR has no requests. Reload the page while the network panel records.' };
  return { ok: true, text, entries: entries.length, host: hostOfEntry(entries[0]) };
}

function entriesOf(text: string): unknown[] | undefined {
  try {
    // Some programs write a byte order mark.
    const { log } = JSON.parse(text.replace(/^\uFEFF/, '')) as { log?: { entries?: unknown } };
    return Array.isArray(log?.entries) ? log.entries : undefined;
  } catch {
    return undefined;
  }
}

function hostOfEntry(entry: unknown): string {
  const url = (entry as { request?: { url?: unknown } } | null)?.request?.url;
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host : '';
}
