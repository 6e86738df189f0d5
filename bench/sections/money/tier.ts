/** A plan with limits that are checked and never met. */
export const tier = {
  concurrency_limit: null,
  creates_per_minute: null,
  requests_per_minute: null,
  key_calls_per_minute: null,
  max_session_seconds: 3600,
  tab_limit: null,
  premium_egress: false,
  recording_retention_days: 1,
  job_weight: 1,
  limits: { actions: 1e9, egress_bytes: 1e15, browser_seconds: 1e9, captcha_solves: 1e9 },
  overage_allowed: false,
  enforced: true,
};
