/** The options of a session as the form groups them. A test compares them with the contract. */
export const frequentOptions = ['start_url', 'name', 'kind', 'region', 'timeout_seconds', 'record'] as const;

export const optionGroups = [
  { title: 'Page and device', fields: ['viewport', 'user_agent', 'locale', 'timezone', 'accept_downloads', 'ignore_https_errors'] },
  { title: 'Network and proxy', fields: ['proxy', 'allowed_domains', 'block_ads', 'block_resources', 'extra_headers', 'har'] },
  { title: 'Lifetime', fields: ['idle_timeout_seconds', 'keep_alive'] },
  { title: 'Sign-in state, captchas and metadata', fields: ['profile', 'storage_state', 'captcha', 'metadata'] },
] as const;
