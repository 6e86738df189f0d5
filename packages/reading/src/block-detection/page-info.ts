/** The input of a classification. */
import type { BlockVendor } from '@berth/contract';

export interface PageInfo {
  /** Status of the last main-document response. */
  status: number | null;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Names of the cookies that the response set. */
  cookieNames: readonly string[];
  /** The final address. */
  url: string;
  contentType: string | null;
  /** When empty, the title of the HTML is used. */
  title: string;
  /** HTML of the page, of which only the first 256 KiB are read. */
  html: string;
  /** Characters that a visitor sees; null without a browser. */
  visibleTextLength: number | null;
  dom: DomProbe | null;
  /** `net::ERR_…` */
  netError: string | null;
}

/** The result of the probe script in a browser. */
export interface DomProbe {
  /** Ids of the rules whose selector matched. */
  selectors: readonly string[];
  /** The vendor of the challenge on display. */
  visibleCaptcha: BlockVendor | null;
  /** The vendor of the embedded captcha, on display or not. */
  presentCaptcha: BlockVendor | null;
}
