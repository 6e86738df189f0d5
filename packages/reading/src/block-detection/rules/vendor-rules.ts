import { cloudflareRules } from './cloudflare-rules.ts';
import { refusals, type Rule } from './rule.ts';

const akamai: readonly Rule[] = [
  {
    id: 'akamai.ghost',
    vendor: 'akamai',
    type: 'access_denied',
    strength: 'strong',
    // The edge names itself only in its own responses; 400 and 5xx mean a bad address or an origin that is down.
    source: { kind: 'header', name: 'server', value: /^AkamaiGHost$/i },
    when: { statuses: [401, 403, 405, 429] },
  },
  {
    id: 'akamai.reference',
    vendor: 'akamai',
    type: 'access_denied',
    strength: 'strong',
    source: {
      kind: 'text',
      value: /^Access Denied [^#]{1,600}Reference #\d{1,4}\.[0-9a-f]{4,12}\.\d{6,12}\.[0-9a-f]{4,12}/,
      textMax: 1000,
    },
    when: { error: true },
  },
  {
    id: 'akamai.interruption',
    vendor: 'akamai',
    type: 'bot_wall',
    strength: 'strong',
    source: { kind: 'text', value: /^Pardon Our Interruption\b/i, textMax: 2000 },
    when: { error: true },
  },
  {
    id: 'akamai.interruption_title',
    vendor: 'akamai',
    type: 'bot_wall',
    strength: 'weak',
    source: { kind: 'title', value: /^Pardon Our Interruption(?:\.\.\.)?$/i },
  },
  {
    id: 'akamai.crypto_challenge',
    vendor: 'akamai',
    type: 'challenge',
    strength: 'strong',
    source: {
      kind: 'element',
      tag: '*',
      attribute: 'id',
      value: /^sec-if-cpt-container$/,
      needle: 'sec-if-cpt-container',
      css: '#sec-if-cpt-container',
    },
    selfClearing: true,
  },
  {
    id: 'akamai.sensor_cookie',
    vendor: 'akamai',
    type: 'access_denied',
    strength: 'weak',
    source: { kind: 'cookie_name', name: /^(?:_abck|ak_bmsc|bm_sz)$/ },
    when: { statuses: [403], small: true, textMax: 500 },
  },
];

const datadome: readonly Rule[] = [
  {
    id: 'datadome.x_dd_b',
    vendor: 'datadome',
    type: 'captcha',
    strength: 'strong',
    source: { kind: 'header', name: 'x-dd-b' },
  },
  {
    id: 'datadome.interstitial',
    vendor: 'datadome',
    type: 'challenge',
    strength: 'strong',
    source: {
      kind: 'element',
      tag: '*',
      attribute: 'src',
      value: /^https:\/\/(?:ct\.captcha-delivery\.com\/i\.js|geo\.captcha-delivery\.com\/interstitial\/)/,
      needle: 'captcha-delivery.com',
      css: '[src^="https://ct.captcha-delivery.com/i.js"], [src^="https://geo.captcha-delivery.com/interstitial/"]',
    },
    selfClearing: true,
  },
  {
    id: 'datadome.captcha_delivery',
    vendor: 'datadome',
    type: 'captcha',
    strength: 'strong',
    source: {
      kind: 'element',
      tag: '*',
      attribute: 'src',
      value: /^https:\/\/(?:ct|geo)\.captcha-delivery\.com\/c/,
      needle: 'captcha-delivery.com',
      css: '[src^="https://ct.captcha-delivery.com/c"], [src^="https://geo.captcha-delivery.com/captcha"]',
    },
  },
  {
    id: 'datadome.x_datadome',
    vendor: 'datadome',
    type: 'bot_wall',
    strength: 'strong',
    source: { kind: 'header', name: 'x-datadome' },
    when: { statuses: [403] },
  },
  {
    id: 'datadome.cookie',
    vendor: 'datadome',
    type: 'bot_wall',
    strength: 'weak',
    source: { kind: 'cookie_name', name: /^datadome$/ },
    when: { statuses: [403], small: true, textMax: 500 },
  },
];

const human: readonly Rule[] = [
  {
    id: 'human.px_captcha',
    vendor: 'human',
    type: 'captcha',
    strength: 'strong',
    source: { kind: 'element', tag: '*', attribute: 'id', value: /^px-captcha$/, needle: 'px-captcha', css: '#px-captcha' },
  },
  {
    id: 'human.captcha_host',
    vendor: 'human',
    type: 'captcha',
    strength: 'strong',
    source: {
      kind: 'element',
      tag: 'script',
      attribute: 'src',
      value: /^(?:https?:)?\/\/captcha\.px-cdn\.net\//,
      needle: 'captcha.px-cdn.net',
      css: 'script[src*="//captcha.px-cdn.net/"]',
    },
  },
  {
    id: 'human.app_id',
    vendor: 'human',
    type: 'bot_wall',
    strength: 'strong',
    // The sensor on ordinary pages sets the same name.
    source: { kind: 'script', value: /window\._pxAppId\s?=\s?["']PX/, needle: '_pxAppId' },
    when: { statuses: refusals },
  },
  {
    id: 'human.title',
    vendor: 'human',
    type: 'bot_wall',
    strength: 'weak',
    source: { kind: 'title', value: /^Access to this page has been (?:denied|blocked)\.?$/i },
  },
  {
    id: 'human.cookie',
    vendor: 'human',
    type: 'bot_wall',
    strength: 'weak',
    source: { kind: 'cookie_name', name: /^_px(?:\d|hd|vid|de)?$/ },
    when: { statuses: [403], small: true, textMax: 500 },
  },
];

const imperva: readonly Rule[] = [
  {
    id: 'imperva.resource_frame',
    vendor: 'imperva',
    type: 'bot_wall',
    strength: 'strong',
    source: {
      kind: 'element',
      tag: 'iframe',
      attribute: 'src',
      value: /^(?:https?:\/\/[^/]*)?\/_Incapsula_Resource\?/,
      needle: '_Incapsula_Resource',
      css: 'iframe[src*="/_Incapsula_Resource?"]',
    },
  },
  {
    id: 'imperva.incident',
    vendor: 'imperva',
    type: 'bot_wall',
    strength: 'strong',
    source: { kind: 'text', value: /\bIncapsula incident ID: ?\d/, textMax: 1000 },
    when: { error: true },
  },
  {
    id: 'imperva.request_unsuccessful',
    vendor: 'imperva',
    type: 'bot_wall',
    strength: 'strong',
    // The whole page is this sentence, also with status 200.
    source: { kind: 'text', value: /^Request unsuccessful\. Incapsula incident ID: ?\d[\d-]{0,60}$/, textMax: 300 },
  },
  {
    id: 'imperva.resource_script',
    vendor: 'imperva',
    type: 'challenge',
    strength: 'weak',
    // Ordinary pages carry the same script: it is a challenge only on an otherwise empty page.
    source: {
      kind: 'element',
      tag: 'script',
      attribute: 'src',
      value: /^(?:https?:\/\/[^/]*)?\/_Incapsula_Resource\?/,
      needle: '_Incapsula_Resource',
      css: 'script[src*="/_Incapsula_Resource?"]',
    },
    when: { small: true, textMax: 100 },
    selfClearing: true,
  },
  {
    id: 'imperva.x_iinfo',
    vendor: 'imperva',
    type: 'access_denied',
    strength: 'weak',
    source: { kind: 'header', name: 'x-iinfo' },
    when: { statuses: [403], small: true, textMax: 500 },
  },
  {
    id: 'imperva.cookie',
    vendor: 'imperva',
    type: 'access_denied',
    strength: 'weak',
    source: { kind: 'cookie_name', name: /^(?:incap_ses_|visid_incap_)/ },
    when: { statuses: [403], small: true, textMax: 500 },
  },
];

const awsWaf: readonly Rule[] = [
  {
    id: 'aws_waf.challenge',
    vendor: 'aws_waf',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'header', name: 'x-amzn-waf-action', value: /^challenge$/ },
    selfClearing: true,
  },
  {
    id: 'aws_waf.captcha',
    vendor: 'aws_waf',
    type: 'captcha',
    strength: 'strong',
    source: { kind: 'header', name: 'x-amzn-waf-action', value: /^captcha$/ },
  },
  {
    id: 'aws_waf.goku',
    vendor: 'aws_waf',
    type: 'challenge',
    strength: 'strong',
    source: { kind: 'script', value: /window\.gokuProps\s?=/, needle: 'gokuProps' },
    selfClearing: true,
  },
  {
    id: 'aws_waf.token_script',
    vendor: 'aws_waf',
    type: 'challenge',
    strength: 'strong',
    // Sites embed the same script in ordinary pages.
    source: {
      kind: 'element',
      tag: 'script',
      attribute: 'src',
      value: /^https:\/\/[^/]{1,200}\.token\.awswaf\.com\//,
      needle: '.token.awswaf.com',
      css: 'script[src*=".token.awswaf.com/"]',
    },
    when: { statuses: [202, 403, 405] },
    selfClearing: true,
  },
  {
    id: 'aws_waf.geo',
    vendor: 'aws_waf',
    type: 'geo_blocked',
    strength: 'strong',
    source: { kind: 'text', value: /CloudFront distribution is configured to block access from your country/, textMax: 1000 },
    when: { statuses: [403] },
  },
  {
    id: 'aws_waf.request_blocked',
    vendor: 'aws_waf',
    type: 'access_denied',
    strength: 'strong',
    source: { kind: 'text', value: /The request could not be satisfied\. Request blocked\./, textMax: 1000 },
    when: { statuses: [403] },
  },
  {
    id: 'aws_waf.error_type',
    vendor: 'aws_waf',
    type: 'access_denied',
    strength: 'weak',
    // Other error types mean a missing signature or key of the caller.
    source: { kind: 'header', name: 'x-amzn-errortype', value: /^(?:Forbidden|WAFForbidden)Exception\b/ },
    when: { statuses: [403] },
  },
];

export const vendorRules: readonly Rule[] = [...cloudflareRules, ...akamai, ...datadome, ...human, ...imperva, ...awsWaf];
