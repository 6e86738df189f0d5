/**
 * Options of a test or a suite that `npm test` and `npm run test:microvm` leave to `npm run test:nightly`, where other
 * tests of its file are a sample of the same promise. By hand a file runs whole.
 */
export const nightly: { skip?: string } = process.env['BERTH_TEST_SAMPLE'] === '1' ? { skip: 'in the nightly run' } : {};
