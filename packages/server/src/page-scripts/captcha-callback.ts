/** What runs in the page's own world, sent as text: only there can the site's callback be reached. */

export interface CallbackOrder {
  type: string;
  /** What the container names. */
  name: string | null;
  siteKey: string | null;
  token: string;
}

/** Tells the site that its captcha is answered: by the callback that it names, else by one that it has registered. */
export function callBack({ type, name, siteKey, token }: CallbackOrder): 'called' | 'threw' | 'none' {
  const callback = name === null ? registered(type, siteKey) : named(name);
  if (typeof callback !== 'function') return 'none';
  try {
    callback(token);
    return 'called';
  } catch {
    return 'threw';
  }
}

export function named(path: string): unknown {
  let value: unknown = globalThis;
  for (const part of path.split('.').slice(0, 5)) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** reCAPTCHA keeps the options of each widget; no other vendor lets them be reached. */
export function registered(type: string, siteKey: string | null): unknown {
  if (type !== 'recaptcha') return undefined;
  const { clients } = (globalThis as { ___grecaptcha_cfg?: { clients?: unknown } }).___grecaptcha_cfg ?? {};
  let level: unknown[] = [clients];
  for (let depth = 0, left = 2000; depth < 5; depth += 1) {
    const next: unknown[] = [];
    for (const each of level) {
      if (each === null || typeof each !== 'object' || each instanceof Node || left <= 0) continue;
      const { sitekey, callback } = each as { sitekey?: unknown; callback?: unknown };
      const isMine = typeof sitekey === 'string' && (siteKey === null || sitekey === siteKey);
      if (isMine && typeof callback === 'function') return callback;
      if (isMine && typeof callback === 'string') return named(callback);
      const values = Object.values(each);
      left -= values.length;
      next.push(...values);
    }
    level = next;
  }
  return undefined;
}
