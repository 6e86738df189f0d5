/** Files that are sent as forms. */
import { StreamedForm } from './transport.ts';

/** A file of any runtime: `await openAsBlob(path)` or `createReadStream(path)` of Node, `Bun.file(path)`, a file of a page's form. */
export type FileSource = Blob | Uint8Array | ArrayBuffer | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

export function toForm(file: FileSource, name: string): FormData | StreamedForm {
  if (file instanceof Blob || file instanceof Uint8Array || file instanceof ArrayBuffer) {
    const form = new FormData();
    form.append('file', file instanceof Blob ? file : new Blob([file as Uint8Array<ArrayBuffer>]), name);
    return form;
  }
  return streamForm(file, name);
}

function streamForm(file: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>, name: string): StreamedForm {
  const boundary = `berth-${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  // As browsers write names in forms.
  const escaped = name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
  const encoder = new TextEncoder();
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    yield encoder.encode(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${escaped}"\r\ncontent-type: application/octet-stream\r\n\r\n`,
    );
    yield* chunksOf(file);
    yield encoder.encode(`\r\n--${boundary}--\r\n`);
  };
  const source = parts();
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await source.return(undefined)),
  });
  return new StreamedForm(`multipart/form-data; boundary=${boundary}`, stream);
}

async function* chunksOf(file: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (Symbol.asyncIterator in file) return yield* file;
  const reader = (file as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
