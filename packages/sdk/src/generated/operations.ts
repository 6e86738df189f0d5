// Made from the contract by `npm run clients`. Do not edit.

/** Version of the API. */
export const version = '0.1.0';

/**
 * An operation a line: its place, method, path, flags, seconds after which the service gives up, and names of the query beside a body.
 * Flags: `a` admin key, `b` body, `f` file, `i` takes an idempotency key, `o` its last parameter is the rest of the path, `p` paged,
 * `q` query, `s` events, `t` text.
 */
export const operations = `
sessions.create POST /v1/session ibq 180 wait
admin.sessions.end DELETE /admin/sessions/{session_id} ea 0
sessions.end DELETE /v1/session/{session_id} e 0
sessions.get GET /v1/session/{session_id} - 0
admin.sessions.list GET /admin/sessions apq 0
sessions.list GET /v1/sessions pq 0
sessions.update PATCH /v1/session/{session_id} b 0
profiles.delete DELETE /v1/profiles/{profile_id} e 0
profiles.get GET /v1/profiles/{profile_id} - 0
profiles.list GET /v1/profiles pq 0
sessions.tabs.close DELETE /v1/session/{session_id}/tabs/{tab_id} e 155
sessions.tabs.list GET /v1/session/{session_id}/tabs - 0
sessions.navigate POST /v1/session/{session_id}/navigate ib 155
sessions.tabs.open POST /v1/session/{session_id}/tabs ib 155
sessions.rotateIp POST /v1/session/{session_id}/rotate-ip i 155
sessions.snapshot GET /v1/session/{session_id}/snapshot q 155
sessions.console GET /v1/session/{session_id}/console q 0
sessions.content GET /v1/session/{session_id}/content q 155
sessions.downloads.get GET /v1/session/{session_id}/downloads/{download_id} f 300
sessions.har GET /v1/session/{session_id}/har - 0
sessions.storageState GET /v1/session/{session_id}/storage-state - 155
sessions.downloads.list GET /v1/session/{session_id}/downloads - 0
sessions.pdf POST /v1/session/{session_id}/pdf ib 155
sessions.act POST /v1/session/{session_id}/actions ib 215
sessions.screenshot POST /v1/session/{session_id}/screenshot ib 155
sessions.events GET /v1/session/{session_id}/events s 0
sessions.upload POST /v1/session/{session_id}/uploads ib 0
sessions.computer POST /v1/session/{session_id}/computer ib 155
sessions.captcha GET /v1/session/{session_id}/captcha - 0
sessions.cdp.list GET /v1/session/{session_id}/cdp/json/list - 0
sessions.cdp.protocol GET /v1/session/{session_id}/cdp/json/protocol - 0
sessions.cdp.version GET /v1/session/{session_id}/cdp/json/version - 0
sessions.connect GET /v1/session/{session_id}/connect - 0
connectTokens.create POST /v1/connect-tokens ib 0
connectTokens.list GET /v1/connect-tokens - 0
connectTokens.revoke DELETE /v1/connect-tokens/{token_id} e 0
admin.signInLinks.create POST /admin/sign-in-links aib 0
endLinkSignIn DELETE /dashboard/sign-in-link e 0
skills.delete DELETE /v1/skills/{skill_id} e 0
skills.list GET /v1/skills pq 0
sessions.liveView POST /v1/session/{session_id}/view-token ib 0
sessions.vnc POST /v1/session/{session_id}/vnc-token ib 0
sessions.revokeViewTokens DELETE /v1/session/{session_id}/view-tokens e 0
sessions.recordings.list GET /v1/session/{session_id}/recordings - 0
sessions.recordings.asset GET /v1/session/{session_id}/recordings/{rec_id}/{asset_path} fo 300
fetch POST /v1/fetch ib 240
jobs.getFetch GET /v1/fetch/job/{job_id} q 35
flows.list GET /v1/agent/tasks - 0
templates.list GET /v1/templates q 0
run POST /v1/agent ib 360
runTemplate POST /v1/template ib 360
reports.artifact GET /v1/inspect/{job_id}/artifacts/{name} f 0
reports.html GET /v1/inspect/{job_id}/report.html t 0
inspect POST /v1/inspect ib 240
jobs.cancel DELETE /v1/job/{job_id} - 0
jobs.get GET /v1/job/{job_id} q 35
jobs.list GET /v1/jobs pq 0
regions.list GET /v1/regions - 0
usage.get GET /v1/usage q 0
admin.creditCodes.create POST /admin/credit-codes aib 0
admin.promoCodes.create POST /admin/promo-codes aib 0
credits.get GET /v1/credits - 0
admin.credits.grant POST /v1/admin/credits aib 0
credits.entries GET /v1/credits/ledger pq 0
credits.redeem POST /v1/credits/redeem ib 0
admin.keys.create POST /admin/keys aib 0
keys.create POST /v1/keys ib 0
admin.keys.list GET /admin/keys apq 0
keys.list GET /v1/keys pq 0
admin.keys.revoke DELETE /admin/keys/{key_id} ea 0
keys.revoke DELETE /v1/keys/{key_id} - 0
keys.rotate POST /v1/keys/{key_id}/rotate ib 0
billing.portal POST /v1/billing/portal ib 0
billing.checkout POST /v1/billing/checkout ib 0
billing.redeem POST /v1/billing/redeem ib 0
admin.owners.get GET /admin/owners/{owner} a 0
admin.owners.list GET /admin/owners apq 0
admin.plans.list GET /admin/plans a 0
admin.owners.pin POST /admin/owners/{owner}/pin aib 0
admin.owners.unpin POST /admin/owners/{owner}/unpin ai 0
admin.owners.update PATCH /admin/owners/{owner} ab 0
admin.audit.list GET /admin/audit apq 0
admin.overview GET /admin/overview a 0
admin.economics GET /admin/economics a 0
admin.settings GET /admin/settings a 0
admin.pool.get GET /admin/pool a 0
admin.pool.resize POST /admin/pool aib 0
admin.workers.cordon POST /admin/workers/{worker_id}/cordon ai 0
admin.workers.drain POST /admin/workers/{worker_id}/drain aib 0
admin.workers.list GET /admin/workers a 0
admin.workers.uncordon POST /admin/workers/{worker_id}/uncordon ai 0
admin.blocks.history GET /admin/blocks/history aq 0
admin.siteHealth.get GET /admin/health/{domain} aq 0
admin.strategies GET /admin/strategies aq 0
admin.blocks.list GET /admin/blocks apq 0
admin.siteHealth.list GET /admin/health apq 0
admin.selfHeal GET /admin/selfheal/overview a 0
health GET /health - 0
live GET /livez - 0
admin.metrics GET /metrics ta 0
openapi GET /openapi.json - 0
`;
