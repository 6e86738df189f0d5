/** Whether this run proves a promise by a sample. By hand a file runs whole, as it does each night. */
const isSample = process.env['BERTH_TEST_SAMPLE'] === '1';

/**
 * Options of a test or a suite that all runs but `npm run test:nightly` leave out, where other tests, of its file or of one
 * that a comment names, are a sample of the same promise.
 */
export const nightly: { skip?: string } = isSample ? { skip: 'in the nightly run' } : {};

/** The rows of a table that one test goes through: each night all, in other runs the first of every `every`. */
export const sampleOf = <T>(rows: readonly T[], every: number): T[] => rows.filter((_, index) => !isSample || index % every === 0);

/**
 * Options of the tests of a table, each of whose rows holds in several ways that share what the rows differ in: every run
 * proves each row in one way, and each way with some of the rows. The night proves all.
 */
export const inTurn = (row: number, way: number, ways: number): { skip?: string } => (row % ways === way ? {} : nightly);
