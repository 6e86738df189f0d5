/** Made from the contract by contract-data.ts when the pages are built. */
declare module 'virtual:operations' {
  /** Operations by name: method, path, auth class, kind of reply. */
  const operations: Record<string, readonly [method: string, path: string, auth: string, replyKind: string]>;
  export default operations;
}

/** `virtual:request-schema/NAME`: the JSON Schema of a request body, with all references inlined. */
declare module 'virtual:request-schema/*' {
  const schema: import('./ui/form/json-schema.ts').JsonSchema;
  export default schema;
}
