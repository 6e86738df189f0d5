/** What a person reads when the service starts. */

export interface Secret {
  secret: string;
  /** Whether this start made it: then, and only then, it is shown. */
  made: boolean;
}

export interface Welcome {
  address: string;
  api: Secret;
  admin: Secret;
  /** Where the API key is kept; null: the operator has it in BERTH_BOOTSTRAP_API_KEY. */
  keyFile: string | null;
  /** Whether the development sign-in is served. */
  signIn: boolean;
  warnings: readonly string[];
}

export function welcome({ address, api, admin, keyFile, signIn, warnings }: Welcome): string[] {
  const keys = [
    ...(api.made ? [`API key (owner local):  ${api.secret}`] : []),
    ...(admin.made ? [`Admin key:              ${admin.secret}`] : []),
  ];
  // A key on a command line is in the shell's history: the shell reads it where it is kept.
  const key = keyFile === null ? '$BERTH_BOOTSTRAP_API_KEY' : `$(cat '${keyFile.replaceAll("'", "'\\''")}')`;
  return [
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...keys,
    ...(keys.length > 0 ? ['Shown this once; kept in the data folder as `api-key` and `admin-key`.'] : []),
    ...(signIn ? [`Sign in (no password):  ${address}/dev-idp`] : []),
    `Documentation:          ${address}/docs`,
    'Try it:',
    `  curl -X POST ${address}/v1/session -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{}'`,
  ];
}
