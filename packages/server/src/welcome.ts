/** The lines printed when the service starts. */

export interface Secret {
  secret: string;
  /** Whether this start generated it: shown only then. */
  created: boolean;
}

export interface Welcome {
  address: string;
  api: Secret;
  admin: Secret;
  /** File of the API key; null: it is in BERTH_BOOTSTRAP_API_KEY. */
  keyFile: string | null;
  /** Whether the development sign-in is on. */
  signIn: boolean;
  warnings: readonly string[];
}

export function welcome({ address, api, admin, keyFile, signIn, warnings }: Welcome): string[] {
  const keys = [
    ...(api.created ? [`API key (owner local):  ${api.secret}`] : []),
    ...(admin.created ? [`Admin key:              ${admin.secret}`] : []),
  ];
  // A key on the command line would be stored in the shell's history, so the shell reads it from the file.
  const key = keyFile === null ? '$BERTH_BOOTSTRAP_API_KEY' : `$(cat '${keyFile.replaceAll("'", "'\\''")}')`;
  return [
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...keys,
    ...(keys.length > 0 ? ['Shown only once. Stored in the data directory as `api-key` and `admin-key`.'] : []),
    ...(signIn ? [`Sign in (no password):  ${address}/dev-idp`] : []),
    `Documentation:          ${address}/docs`,
    'Try it:',
    `  curl -X POST ${address}/v1/session -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{}'`,
  ];
}
