/** Lists that are read page by page. */
import type { Page, Pages, RequestOptions } from './call.ts';
import { BerthError } from './errors.ts';
import { asCall, type Request, type Transport } from './transport.ts';

export function readPages<T>(transport: Transport, request: (more?: { cursor: string }) => Request, options: RequestOptions): Pages<T> {
  const readPage = async (cursor?: string) => {
    const reply = await transport.send<T[]>(() => request(cursor === undefined ? undefined : { cursor }), options).withResponse();
    const nextCursor = reply.response.headers.get('x-next-cursor');
    // A list that comes back to its cursor has no end.
    if (nextCursor !== null && nextCursor === cursor)
      throw new BerthError({ code: 'unexpected_response', message: 'The service returned the cursor that it was sent.' });
    const next = async (): Promise<Page<T> | null> => (nextCursor === null ? null : (await readPage(nextCursor)).data);
    return { ...reply, data: { items: reply.data, nextCursor, next } };
  };
  const first = asCall(readPage());
  return Object.assign(first, {
    async *[Symbol.asyncIterator](): AsyncGenerator<T> {
      for (let page: Page<T> | null = await first; page; page = await page.next()) yield* page.items;
    },
  });
}
