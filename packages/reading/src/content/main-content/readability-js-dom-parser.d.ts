/** Readability's own DOM: what Readability uses, and many times as fast as a browser's. */
declare module '@mozilla/readability/JSDOMParser.js' {
  export default class JSDOMParser {
    /** Problems of the source that were met; '' for none. */
    readonly errorState: string;
    parse(html: string, url?: string): Document;
  }
}
