/** What cookies are for, by their names. The first rule that matches decides. */
import type { InspectCookie } from '@berth/contract';

export type CookiePurpose = InspectCookie['purpose'];

interface Rule {
  purpose: CookiePurpose;
  name: RegExp;
  /** Whether the name belongs to one product alone. */
  isKnown: boolean;
}

const known = (purpose: CookiePurpose, name: RegExp): Rule => ({ purpose, name, isKnown: true });
const guess = (purpose: CookiePurpose, name: RegExp): Rule => ({ purpose, name, isKnown: false });

const rules: readonly Rule[] = [
  known('bot_defence', /^(?:__cf_bm|cf_clearance|__cflb|_cfuvid|cf_chl_\w+|_abck|bm_(?:sz|sv|mi|so|s)|ak_bmsc|datadome)$/i),
  known(
    'bot_defence',
    /^(?:_px\w*|pxcts|visid_incap_\w+|incap_ses_\w+|nlbi_\w+|reese84|aws-waf-token|kp_uidz|rbzid|__ddg\w+|_grecaptcha)$/i,
  ),
  known(
    'analytics',
    /^(?:_ga(?:_\w+)?|_gid|_gat(?:_\w+)?|__utm[a-z]+|_hj\w+|_pk_(?:id|ses|ref|cvar)[.\w]*|mtm_\w+|ajs_\w+|amplitude\w*|amp_\w+)$/i,
  ),
  known(
    'analytics',
    /^(?:mp_\w+_mixpanel|_clck|_clsk|_vwo\w*|_vis_opt_\w+|optimizely\w+|s_cc|s_sq|s_vi|amcv_[\w%]+|ph_\w+_posthog|hubspotutk|__hs\w+)$/i,
  ),
  known(
    'analytics',
    /^(?:_ym_\w+|yandexuid|_dd_s|sentry\w*|_shopify_(?:y|s|sa_p|sa_t)|_gaexp|_conv_\w+|plausible\w*|newrelic\w*|nr_\w+)$/i,
  ),
  known(
    'ads',
    /^(?:_fb[pc]|fr|_gcl_\w+|ide|dsid|test_cookie|nid|1p_jar|_uet(?:sid|vid)|muid|_pin_unauth|_tt_\w+|_ttp|_scid\w*|li_sugr|bcookie|lidc)$/i,
  ),
  known(
    'ads',
    /^(?:__gads|__gpi|__eoi|personalization_id|_rdt_uuid|cto_\w+|criteo\w*|_twpid|anj|uuid2|uid2|tuuid\w*|taboola\w*|outbrain\w*)$/i,
  ),
  known('csrf', /^(?:xsrf-token|csrf[-_]?token|csrftoken|_csrf(?:[-_]?token)?|csrf|xsrf|__requestverificationtoken\w*|x-csrf-token)$/i),
  guess('csrf', /(?:^|[._-])(?:csrf|xsrf)(?:$|[._-]|token)|antiforgery/i),
  known(
    'preference',
    /^(?:cookie_?consent\w*|cookieconsent\w*|optanonconsent|optanonalertboxclosed|euconsent[-\w]*|didomi_token|cookieyes-\w+|cookielawinfo-\w+)$/i,
  ),
  known(
    'preference',
    /^(?:usprivacy|notice_(?:preferences|gdpr_prefs|behavior)|axeptio\w*|borlabs-cookie|complianz\w*|cmplz_\w+|iubenda\w*)$/i,
  ),
  known(
    'auth',
    /^(?:phpsessid|jsessionid|asp\.net_sessionid|\.aspxauth|\.aspnetcore\.[\w.]+|connect\.sid|laravel_session|_session_id|sessionid)$/i,
  ),
  known(
    'auth',
    /^(?:wordpress_(?:logged_in|sec)\w*|sess[0-9a-f]{32}|ci_session|rack\.session|play_session|sb-[\w-]{1,64}-auth-token[.\d]*|__session|cfid|cftoken)$/i,
  ),
  known(
    'auth',
    /^(?:(?:__secure-|__host-)?(?:next-auth|authjs)\.session-token[.\d]*|auth0[.\w]*|okta-oauth-\w+|kc_\w+|keycloak_\w+|sid|_?oauth2_proxy\w*)$/i,
  ),
  guess('preference', /consent|gdpr|ccpa|cookie[-_]?(?:banner|policy|notice|settings)/i),
  guess('analytics', /analytics|telemetry|visitor[-_]?id|tracking/i),
  guess(
    'auth',
    /(?:^|[._-])(?:auth|jwt|sid|sess|session|login|logged[-_]?in|remember|ticket|sso|access|refresh|id)(?:[-_]?(?:id|key|me|token|user|cookie))?(?:$|[._-])/i,
  ),
  guess('auth', /(?:session(?:[-_]?(?:id|key|token))?|sessid|(?:auth|access|refresh|user|login)[-_]?token|rememberme|jwt)$/i),
  guess('preference', /^(?:lang(?:uage)?|locale|theme|currency|country|region|timezone|tz|dark[-_]?mode|color[-_]?scheme|font[-_]?size)$/i),
  guess('preference', /^(?:\w+[-_])?(?:lang|locale|theme|currency|prefs|preferences|settings)$/i),
];

export interface PurposeResult {
  purpose: CookiePurpose;
  confidence: 'low' | 'medium' | 'high';
}

/** A longer name is no name of a product. */
const nameCharsMax = 128;

export function purposeOf(name: string): PurposeResult {
  const rule = name.length > nameCharsMax ? undefined : rules.find((each) => each.name.test(name));
  if (!rule) return { purpose: 'unknown', confidence: 'low' };
  return { purpose: rule.purpose, confidence: rule.isKnown ? 'high' : 'medium' };
}
