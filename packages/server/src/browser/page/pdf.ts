/** Prints a page to PDF, read in chunks so that a file which is too large is never held in memory. */
import { ProtocolError, type Params } from '../cdp/connection.ts';
import { PageError, type PdfOptions } from './model.ts';
import { Deadline, type PageSession } from './session.ts';

const pieceBytes = 1024 * 1024;

/** @throws PageError */
export async function printPdf(
  session: PageSession,
  options: PdfOptions,
  limits: { signal: AbortSignal; timeoutMs: number; maxBytes: number },
): Promise<Buffer> {
  const by = new Deadline(limits);
  try {
    const { stream } = await session.send('Page.printToPDF', { ...printParams(options), transferMode: 'ReturnAsStream' }, by);
    if (stream === undefined) throw new PageError('not_possible', 'The browser returned no PDF file.');
    return await readStream(session, stream, { by, maxBytes: limits.maxBytes });
  } catch (error) {
    if (error instanceof ProtocolError)
      throw new PageError('not_possible', 'The page cannot be printed with these options.', { cause: error });
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
    session.sendNoReply('IO.close', { handle });
  }
}

function printParams(options: PdfOptions): Params<'Page.printToPDF'> {
  const { marginInches: margin, headerTemplate, footerTemplate } = options;
  const params: Record<string, unknown> = {
    landscape: options.landscape,
    printBackground: options.printBackground,
    scale: options.scale,
    paperWidth: options.paperWidthInches,
    paperHeight: options.paperHeightInches,
    marginTop: margin,
    marginBottom: margin,
    marginLeft: margin,
    marginRight: margin,
    pageRanges: options.pageRanges,
    preferCSSPageSize: options.preferCssPageSize,
  };
  // For a missing template the browser would print its own, with date and URL.
  if (headerTemplate !== undefined || footerTemplate !== undefined)
    Object.assign(params, {
      displayHeaderFooter: true,
      headerTemplate: headerTemplate ?? '<span></span>',
      footerTemplate: footerTemplate ?? '<span></span>',
    });
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
}
