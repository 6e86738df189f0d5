/** Parts of a report as files. */
import { Readable } from 'node:stream';
import { ServiceError, type InspectArtifact, type InspectResponse } from '@berth/contract';
import { toJsonText } from '@berth/lib/json/text.ts';
import type { FileReply } from '../../http/call.ts';

interface Artifact {
  /** None of them is rendered by a browser: what a site writes into a report is foreign. */
  contentType: string;
  encoding: BufferEncoding;
  /** Text in that encoding, or what is sent as JSON; null if the report does not have the part. */
  of(report: InspectResponse): string | Readonly<Record<string, unknown>> | null;
}

const artifacts: Record<InspectArtifact, Artifact> = {
  'openapi.json': { contentType: 'application/json', encoding: 'utf8', of: ({ api }) => api?.openapi ?? null },
  'client.ts': { contentType: 'text/plain; charset=utf-8', encoding: 'utf8', of: ({ api }) => api?.client ?? null },
  'capture.har': { contentType: 'application/json', encoding: 'utf8', of: ({ har }) => har },
  'screenshot.jpg': { contentType: 'image/jpeg', encoding: 'base64', of: ({ screenshot }) => screenshot?.data_base64 ?? null },
};

export const hasArtifact = (report: InspectResponse, name: InspectArtifact): boolean => artifacts[name].of(report) !== null;

/** @throws ServiceError report_not_available if the report does not have the part */
export async function toArtifact(report: InspectResponse, name: InspectArtifact): Promise<FileReply> {
  const { contentType, encoding, of } = artifacts[name];
  const content = of(report);
  if (content === null) {
    const message = `The report has no ${name}. Inspect again, with it in \`include\`.`;
    // The report is final: the same request never succeeds.
    throw new ServiceError('report_not_available', message, { retryable: false });
  }
  const file = Buffer.from(typeof content === 'string' ? content : (await toJsonText(content)).slice(0, -1), encoding);
  return {
    bytes: file.byteLength,
    contentType,
    filename: name,
    cacheControl: 'private, no-store',
    stream: () => Readable.from([file]),
    close: () => Promise.resolve(),
  };
}
