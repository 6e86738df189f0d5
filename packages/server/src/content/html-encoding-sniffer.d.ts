declare module 'html-encoding-sniffer' {
  /** The name of an encoding, as the WHATWG has it, or `defaultEncoding` as it is. */
  export default function sniffEncoding(
    bytes: Uint8Array,
    options?: { xml?: boolean; transportLayerEncodingLabel?: string; defaultEncoding?: string; maxPrescanBytes?: number },
  ): string;
}
