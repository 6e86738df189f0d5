/** Buttons of consent tools, as their public scripts render them. Their labels decide where a tool uses one button for several acts. */
import type { ConsentTool } from '@berth/page-scripts/act/consent.ts';

export const consentTools: ConsentTool[] = [
  {
    vendor: 'OneTrust',
    present: '#onetrust-consent-sdk, #onetrust-banner-sdk',
    accept: '#onetrust-accept-btn-handler, #accept-recommended-btn-handler',
    reject: '#onetrust-reject-all-handler, .ot-pc-refuse-all-handler',
    settings: '#onetrust-pc-btn-handler',
    save: '.save-preference-btn-handler',
  },
  {
    vendor: 'Cookiebot',
    present: '#CybotCookiebotDialog',
    accept: '#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll, #CybotCookiebotDialogBodyButtonAccept',
    reject: '#CybotCookiebotDialogBodyButtonDecline',
    settings: '#CybotCookiebotDialogBodyLevelButtonCustomize',
    save: '#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowallSelection',
  },
  {
    vendor: 'Didomi',
    present: '#didomi-host',
    accept: '#didomi-notice-agree-button',
    reject: '#didomi-notice-disagree-button, .didomi-continue-without-agreeing',
    settings: '#didomi-notice-learn-more-button',
  },
  { vendor: 'Quantcast', present: '#qc-cmp2-container' },
  {
    vendor: 'Usercentrics',
    present: '#usercentrics-root',
    accept: '[data-testid="uc-accept-all-button"]',
    reject: '[data-testid="uc-deny-all-button"]',
    settings: '[data-testid="uc-more-button"], [data-testid="uc-customize-button"]',
    save: '[data-testid="uc-save-button"]',
  },
  { vendor: 'TrustArc', present: '#truste-consent-track', accept: '#truste-consent-button', reject: '#truste-consent-required' },
  { vendor: 'Osano', present: '.osano-cm-dialog', accept: '.osano-cm-accept-all', reject: '.osano-cm-denyAll', save: '.osano-cm-save' },
  {
    vendor: 'Klaro',
    present: '.klaro .cookie-notice, .klaro .cookie-modal',
    accept: '.cm-btn-accept-all, .cookie-notice .cm-btn-success',
    reject: '.cn-decline, .cm-btn-decline',
  },
];
