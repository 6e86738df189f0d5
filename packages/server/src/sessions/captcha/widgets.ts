/** The captcha widgets, as the vendors document them for site owners. */
import type { Widget } from '@berth/page-scripts/captcha-widgets.ts';

const none = { fields: [], keyAttributes: [], dataAttribute: '', keyParameters: [], keyInAddress: '' } as const;

export const turnstileHost = 'challenges.cloudflare.com';
export const turnstileKeyInAddress = '/([0-3]x[\\w-]{18,40})/';

/** A challenge page comes before the widgets it contains. */
export const widgets: readonly Widget[] = [
  {
    ...none,
    type: 'cloudflare_challenge',
    vendor: 'cloudflare',
    container:
      'form#challenge-form[action*="__cf_chl_"], script[src*="/cdn-cgi/challenge-platform/"][src*="/orchestrate/"], ' +
      '#cf-challenge-running, #cf-please-wait, #trk_jschal_js',
    frame: `iframe[src^="https://${turnstileHost}/"]`,
    challenge: '',
    script: '',
  },
  {
    type: 'recaptcha',
    vendor: 'recaptcha',
    container: '.g-recaptcha',
    frame: 'iframe[src*="/recaptcha/api2/anchor"], iframe[src*="/recaptcha/enterprise/anchor"]',
    challenge: 'iframe[src*="/recaptcha/api2/bframe"], iframe[src*="/recaptcha/enterprise/bframe"]',
    script: 'script[src*="/recaptcha/api.js"], script[src*="/recaptcha/enterprise.js"]',
    fields: ['g-recaptcha-response'],
    keyAttributes: ['data-sitekey'],
    dataAttribute: 'data-s',
    keyParameters: ['k'],
    keyInAddress: '',
  },
  {
    type: 'hcaptcha',
    vendor: 'hcaptcha',
    container: '.h-captcha',
    frame: 'iframe[src*="hcaptcha.com/captcha/"][src*="frame=checkbox"]',
    challenge: 'iframe[src*="hcaptcha.com/captcha/"][src*="frame=challenge"]',
    script: 'script[src*="hcaptcha.com/1/api.js"]',
    // hCaptcha also fills reCAPTCHA's field, for compatibility.
    fields: ['h-captcha-response', 'g-recaptcha-response'],
    keyAttributes: ['data-sitekey'],
    dataAttribute: '',
    keyParameters: ['sitekey'],
    keyInAddress: '',
  },
  {
    type: 'turnstile',
    vendor: 'turnstile',
    container: '.cf-turnstile',
    frame: `iframe[src^="https://${turnstileHost}/"]`,
    challenge: '',
    script: `script[src^="https://${turnstileHost}/turnstile/"]`,
    fields: ['cf-turnstile-response', 'g-recaptcha-response'],
    keyAttributes: ['data-sitekey'],
    dataAttribute: 'data-cdata',
    keyParameters: [],
    keyInAddress: turnstileKeyInAddress,
  },
  {
    type: 'arkose',
    vendor: 'arkose',
    container: '#FunCaptcha, [data-pkey]',
    frame: 'iframe[src*=".arkoselabs.com/"], iframe[src*=".funcaptcha.com/"]',
    challenge: '',
    script: 'script[src*=".arkoselabs.com/"], script[src*=".funcaptcha.com/"]',
    fields: ['fc-token', 'verification-token'],
    keyAttributes: ['data-pkey', 'data-public-key'],
    dataAttribute: 'data-blob',
    keyParameters: ['pk', 'public_key', 'pkey'],
    keyInAddress: '/v2/([0-9A-Fa-f-]{36})/',
  },
  {
    ...none,
    type: 'other',
    vendor: 'datadome',
    container: '',
    frame: '',
    challenge: 'iframe[src^="https://geo.captcha-delivery.com/captcha/"]',
    script: '',
  },
  { ...none, type: 'other', vendor: 'human', container: '#px-captcha', frame: '', challenge: '', script: '' },
];

/** Hosts of the vendors' own frames, which are not searched. */
export const vendorHosts =
  /(?:^|\.)(?:google\.com|recaptcha\.net|hcaptcha\.com|challenges\.cloudflare\.com|arkoselabs\.com|funcaptcha\.com|captcha-delivery\.com)$/;
