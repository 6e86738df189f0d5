/** What a verdict is made from. */
import type { BlockVendor } from '@berth/contract';

export interface PageFacts {
  /** Of the last main-document response. */
  status: number | null;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Of the cookies that the reply set. */
  cookieNames: readonly string[];
  /** The final address. */
  url: string;
  contentType: string | null;
  /** When empty, that of the html counts. */
  title: string;
  /** No more than 256 KiB are looked at. */
  html: string;
  /** Characters that a visitor sees; null when no browser was asked. */
  visibleTextLength: number | null;
  dom: DomProbe | null;
  /** `net::ERR_…` */
  netError: string | null;
}

/** What a browser saw. */
export interface DomProbe {
  /** Ids of the rules whose selector matched. */
  selectors: readonly string[];
  /** Whose challenge is on display. */
  visibleCaptcha: BlockVendor | null;
  /** Whose captcha is built in, on display or not. */
  presentCaptcha: BlockVendor | null;
}
