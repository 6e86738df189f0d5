const runsDefault = 40;

/** `--runs` is the number of first frames of each kind; the other counts are derived from it. */
export function countsOf(runs: number | null) {
  const share = (runs ?? runsDefault) / runsDefault;
  const of = (count: number): number => Math.max(2, Math.ceil(count * share));
  return {
    firstFrames: runs ?? runsDefault,
    /** Per measurement of a moving page. */
    seconds: of(15),
    recordSeconds: of(30),
    waves: of(10),
    windows: of(20),
    windowPages: of(6),
    creates: of(6),
  };
}
