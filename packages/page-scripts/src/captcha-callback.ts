/** Runs in the page's main context, sent as text: only there can the site's callback be reached. */

export interface CallbackOptions {
  type: string;
  /** The callback's name from the container. */
  name: string | null;
  siteKey: string | null;
  token: string;
}

/** Calls the site's callback with the token: the one that the container names, or else a registered one. */
export function runCallback({ type, name, siteKey, token }: CallbackOptions): 'called' | 'threw' | 'none' {
  const callback = name === null ? findRegistered(type, siteKey) : resolvePath(name);
  if (typeof callback !== 'function') return 'none';
  try {
    callback(token);
    return 'called';
  } catch {
    return 'threw';
  }
}

export function resolvePath(path: string): unknown {
  let value: unknown = globalThis;
  for (const part of path.split('.').slice(0, 5)) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** reCAPTCHA exposes the options of each widget; other vendors do not. */
export function findRegistered(type: string, siteKey: string | null): unknown {
  if (type !== 'recaptcha') return undefined;
  const { clients } = (globalThis as { ___grecaptcha_cfg?: { clients?: unknown } }).___grecaptcha_cfg ?? {};
  let level: unknown[] = [clients];
  for (let depth = 0, left = 2000; depth < 5; depth += 1) {
    const next: unknown[] = [];
    for (const each of level) {
      if (each === null || typeof each !== 'object' || each instanceof Node || left <= 0) continue;
      const { sitekey, callback } = each as { sitekey?: unknown; callback?: unknown };
      const isOwn = typeof sitekey === 'string' && (siteKey === null || sitekey === siteKey);
      if (isOwn && typeof callback === 'function') return callback;
      if (isOwn && typeof callback === 'string') return resolvePath(callback);
      const values = Object.values(each);
      left -= values.length;
      next.push(...values);
    }
    level = next;
  }
  return undefined;
}
