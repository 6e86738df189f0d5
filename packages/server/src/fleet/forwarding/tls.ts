/** What both ends of a connection between workers present and check. */
import type { PeerCertificate } from 'node:tls';

/** PEM. */
export interface TlsCredentials {
  cert: string;
  key: string;
  /** All that are trusted. */
  ca: string[];
}

/** How a certificate names its worker. */
export const workerUri = (workerId: string): string => `urn:berth:worker:${workerId}`;

const namePattern = /(?:^|, )(?:URI:urn:berth:worker:|DNS:)(wrk_[0-9a-z]{24})(?=$|, )/g;

/** The workers that a certificate names. One of an operator may name several, or have the id as a DNS name. */
export const workersOf = ({ subjectaltname = '' }: Pick<PeerCertificate, 'subjectaltname'>): string[] =>
  [...subjectaltname.matchAll(namePattern)].map(([, workerId = '']) => workerId);
