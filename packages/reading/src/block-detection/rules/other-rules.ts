import { refusals, type Rule } from './rule.ts';

/** Login rules come before all others: many sites that ask for a password also carry a vendor's marks. */
export const loginRules: readonly Rule[] = [
  {
    id: 'generic.login_form',
    vendor: 'generic',
    type: 'login_wall',
    strength: 'weak',
    source: { kind: 'element', tag: 'input', attribute: 'type', value: /^password$/i, needle: 'password', css: 'input[type="password"]' },
    when: { statuses: [401, 403] },
  },
];

/** Less common vendors. */
const others: readonly Rule[] = [
  {
    id: 'kasada.header',
    vendor: 'kasada',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'header', name: 'x-kpsdk-ct' },
    when: { statuses: [403, 429] },
    selfClearing: true,
  },
  {
    id: 'kasada.script_start',
    vendor: 'kasada',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'script', value: /\bKPSDK\.scriptStart\s?=/, needle: 'KPSDK' },
    when: { statuses: [403, 429] },
    selfClearing: true,
  },
  {
    id: 'sucuri.block_header',
    vendor: 'sucuri',
    type: 'access_denied',
    strength: 'strong',
    source: { kind: 'header', name: 'x-sucuri-block' },
  },
  {
    id: 'sucuri.title',
    vendor: 'sucuri',
    type: 'access_denied',
    strength: 'strong',
    source: { kind: 'title', value: /^Sucuri WebSite Firewall - Access Denied$/i },
    when: { error: true },
  },
  {
    id: 'sucuri.text',
    vendor: 'sucuri',
    type: 'access_denied',
    strength: 'strong',
    source: { kind: 'text', value: /^(?:Access Denied - )?Sucuri Web[Ss]ite Firewall\b/, textMax: 2000 },
    when: { error: true },
  },
  {
    id: 'sucuri.script_challenge',
    vendor: 'sucuri',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'script', value: /\bsucuri_cloudproxy_js\s?=/, needle: 'sucuri_cloudproxy_js' },
    selfClearing: true,
  },
  {
    id: 'sucuri.server',
    vendor: 'sucuri',
    type: 'access_denied',
    strength: 'weak',
    source: { kind: 'header', name: 'server', value: /^Sucuri\b/i },
    when: { statuses: [403], small: true, textMax: 500 },
  },
  {
    id: 'f5.rejected',
    vendor: 'f5',
    type: 'access_denied',
    strength: 'strong',
    // The whole page is this notice, usually with status 200.
    source: {
      kind: 'text',
      value: /^(?:Request Rejected )?The requested URL was rejected\. Please consult with your administrator\. Your support ID is:? ?\d/,
      textMax: 400,
    },
  },
  {
    id: 'f5.cookie',
    vendor: 'f5',
    type: 'access_denied',
    strength: 'weak',
    source: { kind: 'cookie_name', name: /^TS[0-9a-f]{6,32}$/ },
    when: { statuses: [403], small: true, textMax: 500 },
  },
  {
    id: 'ddos_guard.title',
    vendor: 'ddos_guard',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'title', value: /^DDoS-Guard$/i },
    when: { statuses: refusals },
    selfClearing: true,
  },
  {
    id: 'ddos_guard.script',
    vendor: 'ddos_guard',
    type: 'challenge',
    strength: 'strong',
    source: {
      kind: 'element',
      tag: 'script',
      attribute: 'src',
      value: /^(?:https?:\/\/[^/]*)?\/\.well-known\/ddos-guard\/js-challenge\//,
      needle: 'ddos-guard',
      css: 'script[src*="/.well-known/ddos-guard/js-challenge/"]',
    },
    selfClearing: true,
  },
  {
    id: 'reblaze.script',
    vendor: 'reblaze',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'script', value: /\bwindow\.rbzns\s?=/, needle: 'rbzns' },
    selfClearing: true,
  },
  {
    id: 'reblaze.cookie',
    vendor: 'reblaze',
    type: 'challenge',
    strength: 'weak',
    // Visitors that were let in have the same cookie.
    source: { kind: 'cookie_name', name: /^rbzid$/ },
    when: { statuses: [403, 503], small: true, textMax: 500 },
  },
  {
    id: 'google.sorry',
    vendor: 'google',
    type: 'captcha',
    strength: 'strong',
    source: { kind: 'url', value: /^(?:www\.|ipv[46]\.)?google\.(?:com?\.)?[a-z]{2,3}\/sorry\/index\b/ },
  },
  {
    id: 'google.unusual_traffic',
    vendor: 'google',
    type: 'captcha',
    strength: 'strong',
    source: { kind: 'selector', css: 'div#infoDiv0 a[href*="//www.google.com/policies/terms/"]' },
  },
  {
    id: 'google.consent',
    vendor: 'google',
    type: 'consent_wall',
    strength: 'strong',
    source: { kind: 'url', value: /^consent\.(?:google|youtube)\.(?:com?\.)?[a-z]{2,3}\// },
  },
];

/** Captchas in place of the page. A captcha on a successful page is reported apart from the block. */
const captchas: readonly Rule[] = [
  {
    id: 'turnstile.frame',
    vendor: 'turnstile',
    type: 'captcha',
    strength: 'strong',
    source: {
      kind: 'element',
      tag: 'iframe',
      attribute: 'src',
      value: /^https:\/\/challenges\.cloudflare\.com\//,
      needle: 'challenges.cloudflare.com',
      css: 'iframe[src^="https://challenges.cloudflare.com/"]',
    },
    when: { statuses: [403] },
  },
  ...(['recaptcha', 'hcaptcha', 'turnstile', 'arkose'] as const).flatMap((vendor): Rule[] => [
    {
      id: `${vendor}.displayed`,
      vendor,
      type: 'captcha',
      strength: 'strong',
      source: { kind: 'captcha', displayed: true },
      when: { statuses: refusals },
    },
    {
      id: `${vendor}.displayed_alone`,
      vendor,
      type: 'captcha',
      strength: 'shape',
      source: { kind: 'captcha', displayed: true },
      when: { success: true, textMax: 100 },
    },
    {
      id: `${vendor}.widget`,
      vendor,
      type: 'captcha',
      strength: 'weak',
      source: { kind: 'captcha', displayed: false },
      when: { statuses: refusals, textMax: 500 },
    },
  ]),
];

const generic: readonly Rule[] = [
  {
    id: 'generic.status_429',
    vendor: 'generic',
    type: 'rate_limited',
    strength: 'strong',
    source: { kind: 'status' },
    when: { statuses: [429] },
  },
  {
    id: 'generic.status_451',
    vendor: 'generic',
    type: 'geo_blocked',
    strength: 'strong',
    source: { kind: 'status' },
    when: { statuses: [451] },
  },
  {
    id: 'generic.mitigated',
    vendor: 'generic',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'header', name: 'x-vercel-mitigated', value: /^challenge$/ },
    selfClearing: true,
  },
  {
    id: 'generic.network_security',
    vendor: 'generic',
    type: 'bot_wall',
    strength: 'strong',
    source: { kind: 'text', value: /\bblocked by network security\b/i, textMax: 1000 },
    when: { error: true },
  },
  {
    id: 'generic.country',
    vendor: 'generic',
    type: 'geo_blocked',
    strength: 'weak',
    source: {
      kind: 'text',
      value: /\b(?:not available|unavailable|restricted|blocked|access) (?:in|from) your (?:country|region|location)\b/i,
      textMax: 500,
    },
    when: { statuses: [403] },
  },
  {
    id: 'generic.bot_text',
    vendor: 'generic',
    type: 'bot_wall',
    strength: 'weak',
    source: {
      kind: 'text',
      value:
        /\b(?:unusual (?:traffic|activity)|automated (?:access|requests|queries|traffic|tools)|verify (?:that )?you are (?:a )?human|are you a robot|bot (?:activity|traffic)|malicious bots)\b/i,
      textMax: 500,
    },
    when: { statuses: refusals },
  },
  {
    id: 'generic.refusal_text',
    vendor: 'generic',
    type: 'access_denied',
    strength: 'weak',
    source: {
      kind: 'text',
      value:
        /\b(?:access (?:is |was )?(?:denied|blocked|forbidden)|forbidden|(?:request|ip(?: address)?|you) (?:(?:is|was|has|have) )?(?:been )?(?:blocked|banned))\b/i,
      textMax: 500,
    },
    when: { statuses: [403], small: true },
  },
  {
    id: 'generic.bare_403',
    vendor: 'generic',
    type: 'access_denied',
    strength: 'shape',
    source: { kind: 'status' },
    when: { statuses: [403], small: true },
  },
  {
    id: 'generic.bare_503',
    vendor: 'generic',
    type: 'unknown',
    strength: 'shape',
    // A 503 with Retry-After is maintenance, not a block.
    source: { kind: 'status' },
    when: { statuses: [503], small: true, textMax: 500, withoutHeader: 'retry-after' },
  },
  {
    id: 'generic.empty_shell',
    vendor: 'generic',
    type: 'empty_shell',
    strength: 'shape',
    source: { kind: 'status' },
    when: { success: true, textMax: 100, shell: true },
  },
];

export const otherRules: readonly Rule[] = [...others, ...captchas, ...generic];
