/** What a fetch stands on. */
import type { Captchas } from '../captcha/captcha.ts';
import type { Content } from '../content/content.ts';
import type { Clock } from '../lib/clock.ts';
import type { Metering } from '../metering/metering.ts';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { FetchMachines } from './machines.ts';
import type { Robots } from './robots.ts';
import type { HttpWays } from './ways.ts';

export interface RunDeps {
  sessions: Sessions;
  machines: FetchMachines;
  ways: HttpWays;
  robots: Robots;
  selfHeal: SelfHeal;
  content: Content;
  captchas: Captchas;
  metering: Metering;
  clock: Clock;
  allowEvaluate: boolean;
}
