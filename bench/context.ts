import type { Site } from './site.ts';
import type { Stage } from './stage.ts';

/** The context of a section. */
export interface Bench {
  stage: Stage;
  site: Site;
  chromium: string;
  /** Number of runs, if the caller sets it. */
  runs: number | null;
  /** Texts of which a soak's attack has one in its name; all attacks when there are none. */
  only: readonly string[];
  /** Whether the service is measured; otherwise only the baselines are. */
  withBerth: boolean;
  reportProgress(progress: string): void;
}
