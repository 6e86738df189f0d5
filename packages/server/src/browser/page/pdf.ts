/** A page as a PDF file, read in pieces so that one which is too large is never held. */
import { ProtocolError, type Params } from '../cdp/connection.ts';
import { PageError, type PdfOrder } from './model.ts';
import { Deadline, type PageSession } from './session.ts';

const pieceBytes = 1024 * 1024;

/** @throws PageError */
export async function printPdf(
  session: PageSession,
  order: PdfOrder,
  limits: { signal: AbortSignal; timeoutMs: number; maxBytes: number },
): Promise<Buffer> {
  const by = new Deadline(limits);
  try {
    const { stream } = await session.send('Page.printToPDF', { ...printOrder(order), transferMode: 'ReturnAsStream' }, by);
    if (stream === undefined) throw new PageError('not_possible', 'The browser printed nothing.');
    return await readStream(session, stream, { by, maxBytes: limits.maxBytes });
  } catch (error) {
    if (error instanceof ProtocolError) throw new PageError('not_possible', 'The page cannot be printed so.', { cause: error });
    throw error;
  }
}

async function readStream(session: PageSession, handle: string, { by, maxBytes }: { by: Deadline; maxBytes: number }): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for (let ended = false; !ended;) {
      const { data, eof, base64Encoded } = await session.send('IO.read', { handle, size: pieceBytes }, by);
      const piece = Buffer.from(data, base64Encoded ? 'base64' : 'utf8');
      bytes += piece.length;
      if (bytes > maxBytes) throw new PageError('too_large', 'The PDF file is too large.');
      pieces.push(piece);
      ended = eof;
    }
    return Buffer.concat(pieces, bytes);
  } finally {
    session.sendQuietly('IO.close', { handle });
  }
}

function printOrder(order: PdfOrder): Params<'Page.printToPDF'> {
  const { marginInches: margin, headerTemplate, footerTemplate } = order;
  const asked: Record<string, unknown> = {
    landscape: order.landscape,
    printBackground: order.printBackground,
    scale: order.scale,
    paperWidth: order.paperWidthInches,
    paperHeight: order.paperHeightInches,
    marginTop: margin,
    marginBottom: margin,
    marginLeft: margin,
    marginRight: margin,
    pageRanges: order.pageRanges,
    preferCSSPageSize: order.preferCssPageSize,
  };
  // The browser's own header and footer, with date and address, stand in for one that is not given.
  if (headerTemplate !== undefined || footerTemplate !== undefined)
    Object.assign(asked, {
      displayHeaderFooter: true,
      headerTemplate: headerTemplate ?? '<span></span>',
      footerTemplate: footerTemplate ?? '<span></span>',
    });
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}
