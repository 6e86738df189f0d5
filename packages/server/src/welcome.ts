/** What a person reads when the service starts. */

export interface Secret {
  secret: string;
  /** Whether this start made it: then, and only then, it is shown. */
  made: boolean;
}

export function welcome({ address, api, admin, warnings }: { address: string; api: Secret; admin: Secret; warnings: readonly string[] }): string[] {
  const keys = [...(api.made ? [`API key (owner local):  ${api.secret}`] : []), ...(admin.made ? [`Admin key:              ${admin.secret}`] : [])];
  return [
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...keys,
    ...(keys.length > 0 ? ['Shown this once; kept in the data folder as `api-key` and `admin-key`.'] : []),
    `Documentation:          ${address}/docs`,
    'Try it:',
    `  curl -X POST ${address}/v1/session -H 'Authorization: Bearer ${api.made ? api.secret : '$BERTH_API_KEY'}' -H 'Content-Type: application/json' -d '{}'`,
  ];
}
