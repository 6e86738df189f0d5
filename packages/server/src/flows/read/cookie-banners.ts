/** Buttons of consent tools, as their public scripts render them. The last entry finds other banners by their words. */
export interface CookieBanner {
  vendor: string;
  present: string[];
  accept: string[];
  reject: string[];
}

const acceptWords = [
  'Accept all',
  'Accept cookies',
  'Accept',
  'Allow all',
  'Agree',
  'I agree',
  'OK',
  'Got it',
  'Alle akzeptieren',
  'Tout accepter',
];
const rejectWords = [
  'Reject all',
  'Reject',
  'Decline',
  'Only necessary',
  'Necessary only',
  'Use necessary cookies only',
  'Alle ablehnen',
  'Tout refuser',
];
const buttonsNamed = (words: readonly string[]): string[] => words.map((word) => `aria/${word}[role="button"]`);

export const cookieBanners: readonly CookieBanner[] = [
  {
    vendor: 'OneTrust',
    present: ['#onetrust-banner-sdk'],
    accept: ['#onetrust-accept-btn-handler'],
    reject: ['#onetrust-reject-all-handler'],
  },
  {
    vendor: 'Cookiebot',
    present: ['#CybotCookiebotDialog'],
    accept: ['#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll', '#CybotCookiebotDialogBodyButtonAccept'],
    reject: ['#CybotCookiebotDialogBodyButtonDecline'],
  },
  {
    vendor: 'Didomi',
    present: ['#didomi-host'],
    accept: ['#didomi-notice-agree-button'],
    reject: ['#didomi-notice-disagree-button', '.didomi-continue-without-agreeing'],
  },
  {
    vendor: 'Quantcast',
    present: ['#qc-cmp2-container'],
    accept: ['.qc-cmp2-summary-buttons button[mode="primary"]'],
    reject: ['.qc-cmp2-summary-buttons button[mode="secondary"]'],
  },
  {
    vendor: 'Usercentrics',
    present: ['#usercentrics-root'],
    accept: ['pierce/[data-testid="uc-accept-all-button"]'],
    reject: ['pierce/[data-testid="uc-deny-all-button"]'],
  },
  { vendor: 'TrustArc', present: ['#truste-consent-track'], accept: ['#truste-consent-button'], reject: ['#truste-consent-required'] },
  { vendor: 'Osano', present: ['.osano-cm-dialog'], accept: ['.osano-cm-accept-all'], reject: ['.osano-cm-denyAll'] },
  { vendor: 'Klaro', present: ['.klaro .cookie-notice'], accept: ['.klaro .cm-btn-success'], reject: ['.klaro .cn-decline'] },
  {
    vendor: 'generic',
    present: ['[role="dialog"]', '[class*="cookie" i]', '[id*="cookie" i]', '[class*="consent" i]', '[id*="consent" i]'],
    accept: buttonsNamed(acceptWords),
    reject: buttonsNamed(rejectWords),
  },
];
