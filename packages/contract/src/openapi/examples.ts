/**
 * The request bodies that the documentation shows, by operation id. Each is
 * accepted as it stands, so that a first try in the API reference succeeds.
 */
export const examples: Readonly<Record<string, unknown>> = {
  createSession: {},
  updateSession: { idle_timeout_seconds: 600, metadata: { task: 'checkout' } },
  navigate: { url: 'https://example.com/' },
  openTab: { url: 'https://example.com/' },
  runActions: {
    actions: [
      { type: 'navigate', url: 'https://example.com/' },
      { type: 'scroll', to: 'bottom' },
    ],
  },
  useComputer: { actions: [{ type: 'click', x: 640, y: 360 }], max_width: 1024 },
  screenshot: { full_page: true },
  pdf: {},
  uploadFile: { name: 'hello.txt', data_base64: 'SGVsbG8K' },
  fetchPage: { url: 'https://example.com/', formats: ['markdown', 'metadata'] },
  runAgent: { task: 'extract_article', inputs: { url: 'https://example.com/' } },
  runTemplate: { template: 'page_snapshot', inputs: { url: 'https://example.com/' } },
  inspect: { url: 'https://example.com/' },
  createViewToken: { scope: 'control' },
  createVncToken: {},
  createConnectToken: { name: 'my agent' },
  createSignInLink: { owner: 'local' },
  redeemSignInLink: { token: 'brt_link_6nQ2v9RkT0xW4yB7cD1eF5gH8jK3mP6sU9zA2bC4dE7f1hJ3L' },
  redeemCredits: { code: 'CREDIT-7ZQ4N-8M2KD-R5T9V-3HWXB-6CFJP-Y' },
  createOwnKey: { name: 'my key' },
  rotateOwnKey: { grace_seconds: 3600 },
  redeemPromo: { code: 'TRIAL-4KD8M-Q2ZTN-9VR3H-W5XBJ-7PCFY-6' },
  checkout: { tier: 'developer' },
  billingPortal: {},
  billingWebhook: { id: 'evt_1', type: 'invoice.created', created: 1_767_225_600, data: { object: {} } },
  grantCredits: { owner: 'local', amount: 100 },
  createCreditCodes: { amount: 25 },
  createPromoCodes: { tier: 'scale', trial_days: 14 },
  createKey: { owner: 'acme', name: 'first key' },
  updateOwner: { tier: 'scale' },
  pinOwner: { worker_id: 'wrk_01m7c8z0r2x4v6b8n0m2k4j6h8' },
  resizePool: { target: 2 },
  drainWorker: { limit_seconds: 3600 },
};
