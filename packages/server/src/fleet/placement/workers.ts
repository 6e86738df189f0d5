/** The workers of the fleet, and which of them take new work. */
import { ServiceError, ValidationError } from '@berth/contract';
import type { Audit } from '../../accounts/audit/audit.ts';
import { silentSecondsMax, type Fleet } from '../pool/pool.ts';
import { isId } from '@berth/lib/ids.ts';
import type { Store } from '../../store/store.ts';
import { findWorker, listWorkers, writeState, type StateChange, type WorkerRow } from './store.ts';

export type { WorkerRow } from './store.ts';

export interface WorkersDeps {
  store: Store;
  audit: Audit;
  fleet: Pick<Fleet, 'heartbeat'>;
  workerId: string;
}

const actions = { active: 'worker.uncordoned', cordoned: 'worker.cordoned', draining: 'worker.drained' } as const;

export class Workers {
  readonly #deps: WorkersDeps;

  constructor(deps: WorkersDeps) {
    this.#deps = deps;
  }

  /** All of them, sorted by region and id. @throws ServiceError store_unavailable */
  list(): Promise<WorkerRow[]> {
    return listWorkers(this.#deps.store, silentSecondsMax);
  }

  /**
   * Whether owners can be pinned to a worker: the others must pass its work on.
   * @throws ServiceError worker_not_found, store_unavailable
   * @throws ValidationError of `body.worker_id` where they cannot
   */
  async checkPin(id: string): Promise<void> {
    const workers = await this.list();
    const worker = workers.find(({ workerId }) => workerId === id);
    if (!worker) throw workerNotFound();
    const others = workers.filter((each) => each !== worker && each.isAlive);
    if (others.length > 0 && ![worker, ...others].every(({ hasListener }) => hasListener)) throw pinWouldNotHold(id);
  }

  /**
   * Stores the operator's decision with its audit entry. Nothing is placed on the worker from now on; the worker itself
   * reads it with its next heartbeat, this one at once.
   * @throws ServiceError worker_not_found, store_unavailable
   */
  async setState(id: string, change: StateChange): Promise<WorkerRow> {
    const { store, audit, fleet, workerId } = this.#deps;
    if (!isId('wrk', id)) throw workerNotFound();
    const worker = await store.transaction(async (tx) => {
      if (!(await writeState(tx, id, change))) return undefined;
      const details = change.state === 'draining' ? { limit_seconds: change.drainSeconds } : {};
      await audit.record(tx, { actor: change.actor, action: actions[change.state], owner: null, subject: id, details });
      return findWorker(tx, id, silentSecondsMax);
    });
    if (!worker) throw workerNotFound();
    if (id === workerId) {
      fleet.heartbeat.nudge();
      await fleet.heartbeat.idle();
    }
    return worker;
  }
}

const pinWouldNotHold = (input: string): ValidationError =>
  new ValidationError([
    {
      loc: ['body', 'worker_id'],
      msg: 'Value error, a worker without BERTH_FLEET_LISTEN passes nothing on, so the pin would not hold: set it at every worker',
      type: 'value_error',
      input,
      ctx: {},
    },
  ]);

const workerNotFound = (): ServiceError =>
  new ServiceError('worker_not_found', 'No worker with this id shares the database. List them with `GET /admin/workers`.');
