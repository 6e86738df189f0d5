/** The address without `user:password@`. */
export function withoutCredentials(url: URL): string {
  if (url.username === '' && url.password === '') return url.href;
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare.href;
}
