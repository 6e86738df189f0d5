/** The report on a site: a pure function of what was captured of it. `page` has the same report as a page of HTML. */
export { createReport, type Report, type ReportOptions } from './report.ts';
export { fitReport } from './fit.ts';
export type * from './capture.ts';
