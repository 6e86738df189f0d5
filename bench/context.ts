import type { Site } from './site.ts';
import type { Stage } from './stage.ts';

/** What every section is given. */
export interface Bench {
  stage: Stage;
  site: Site;
  chromium: string;
  /** How often to repeat, where the caller says so. */
  runs: number | null;
  /** Without the service only the raw and bare parts are measured. */
  withBerth: boolean;
  say(progress: string): void;
}
