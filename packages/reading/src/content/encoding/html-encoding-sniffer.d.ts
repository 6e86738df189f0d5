declare module 'html-encoding-sniffer' {
  /** The WHATWG name of the encoding, or `defaultEncoding` unchanged. */
  export default function sniffEncoding(
    bytes: Uint8Array,
    options?: { xml?: boolean; transportLayerEncodingLabel?: string; defaultEncoding?: string; maxPrescanBytes?: number },
  ): string;
}
