/** Whether a response is the requested page or a block: rules as data, and a pure function over them. */
export { classify, type Classification, type Strictness } from './classify.ts';
export { classifyPage, type NavigationResponse, type PageClassification, type ProbedPage } from './classify-page.ts';
export type { DomProbe, PageInfo } from './page-info.ts';
export { readOutline, type Outline } from './outline.ts';
export { pageProbeObject, probeScript, type PageProbe, type ProbeResult } from './probe.ts';
export { signaturesVersion } from './rules/rules.ts';
