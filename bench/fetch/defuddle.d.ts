/** What the bench uses of Defuddle. */
declare module 'defuddle/node' {
  export function Defuddle(input: Document, url?: string): Promise<{ title: string; content: string }>;
}
