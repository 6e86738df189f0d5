/**
 * Options of a test or a suite that `npm test` and `npm run test:microvm` leave to `npm run test:nightly`, where other
 * tests of its file are a sample of the same promise. By hand a file runs whole.
 */
export const nightly: { skip?: string } = process.env['BERTH_TEST_SAMPLE'] === '1' ? { skip: 'in the nightly run' } : {};

/**
 * Options of the tests of a table, each of whose rows holds in several ways that share what the rows differ in: every run
 * proves each row in one way, and each way with some of the rows. The night proves all.
 */
export const inTurn = (row: number, way: number, ways: number): { skip?: string } => (row % ways === way ? {} : nightly);
