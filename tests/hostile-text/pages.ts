/** HTML that makes scanners go back, search to the end again or match half of a rule over and over. */
import { fill, kilobytes, megabytes } from './fill.ts';

const units: Record<string, string> = {
  'titles without an end': '<title ',
  'titles in titles': '<title><title>',
  'requests to enable scripts': '<noscript>You need to enable ',
  'noscript elements': '<noscript>enable javascrip</noscript>',
  'empty roots': '<div id=root>',
  'roots with long attributes': `<div ${'a '.repeat(140)}id=roo>`,
  'refreshes that are none': '<meta http-equiv=refres ',
  'attributes without values': `<meta ${'a= '.repeat(1300)}>`,
  'quotes that never end': '<a b="<a b=\'',
  brackets: '<',
  'comments that never end': '<!--',
  'closed comments': '<!---->',
  'white space': '     \t\n',
  'hidden pictures': '<svg></svg>',
  'hidden templates': '<template>',
  scripts: '<script></script>',
  'marks of captchas': '<iframe src=//hcaptcha.com>',
  'subdomains of captchas': `<iframe src="//${'a.'.repeat(1500)}hcaptcha.co">`,
  'marks in scripts': '<script>_cf_chl_opt KPSDK sucuri_cloudproxy_js rbzns</script>',
  'halves of refusals': 'Access Denied Reference #18.2d request unsuccessful. Incapsula ',
  'text between tags': 'a <b>',
  entities: '&#x41;&amp;&nosuch;',
  'bodies that are hidden': '<body <body hidde',
};

/** A plain page holds up to 12 MB; the first 256 KiB are read in the worker's thread. */
export const hostilePages: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(units).map(([name, unit]) => [name, fill(unit, 300 * kilobytes)])),
  '12 MB of titles': fill('<title ', 12 * megabytes),
  '12 MB of brackets': fill('<', 12 * megabytes),
  'one long text': fill(' ', 300 * kilobytes),
  'one long tag': `<meta ${fill('a ', 300 * kilobytes)}>`,
  'one long root': `<div id="root"${fill(' ', 300 * kilobytes)}`,
};
