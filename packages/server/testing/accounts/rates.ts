/** Exports for the simulation of large fleets: the counting of one worker, and how often workers exchange their counts. */
export { exchangeMs, RateLimiter } from '../../src/rates/rates.ts';
