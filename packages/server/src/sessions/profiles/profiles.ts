/**
 * Profiles: what browsers keep between sessions, encrypted. A profile is locked
 * by the row of the session that saves it at its end, so nothing stays locked
 * after that session is over, however it ended.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, type ProfileRequest } from '@berth/contract';
import type { Audit } from '../../accounts/audit/audit.ts';
import type { BrowserState, ReadBrowserState } from '@berth/devtools';
import { actorOf, ownerOf, type Principal } from '../../accounts/principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId, newId } from '@berth/lib/ids.ts';
import type { Owners } from '../../accounts/owners/owners.ts';
import type { Store, Tables } from '../../store/store.ts';
import { mergeContent, openContent, sealContent, type ProfileKey } from './content.ts';
import {
  countProfiles,
  deleteProfile,
  deleteUnusedProfile,
  findProfile,
  insertProfile,
  listProfiles,
  lockProfile,
  readContent,
  touchProfile,
  writeContent,
  type Profile,
  type ProfileFilter,
  type ProfileSelector,
  type ProfileWriter,
} from './store.ts';

export { profileOriginsMax, ProfileTooLargeError } from './content.ts';
export { countSavedProfiles, type Profile, type ProfileFilter } from './store.ts';

export interface ProfilesDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
  /** Encrypts the contents. The workers of one database have the same. */
  secret: Buffer;
}

export interface SavedProfile {
  sizeBytes: number;
  cookies: number;
  origins: number;
  /** Origins for which there was no room. */
  dropped: number;
}

/** A profile as a session begins to use it. */
export interface UsedProfile extends ProfileKey {
  name: string;
  /** Whether it is created where there is none: the session has named it, and saves it at its end. */
  mayCreate: boolean;
  /** Who creates the session, as the audit log names them. */
  actor: string;
  usedAt: Date;
}

/** Maximum profiles of an owner. Each may take as much of the database as its content. */
const profilesPerOwnerMax = 100;
/** Maximum wait for a session that saves the profile at its end: longer than saving may take. */
const endingMsMax = 20_000;
const endingPollMs = 100;

export class Profiles {
  readonly #deps: ProfilesDeps;

  constructor(deps: ProfilesDeps) {
    this.#deps = deps;
  }

  /** Newest first. */
  list(filter: ProfileFilter): Promise<Profile[]> {
    return listProfiles(this.#deps.store, filter);
  }

  /** Finds a profile by id or name. Unknown and foreign ones are the same error. @throws ServiceError profile_not_found */
  async get(owner: string, idOrName: string): Promise<Profile> {
    return this.#find(this.#deps.store, toSelector(owner, idOrName));
  }

  /** @throws ServiceError profile_not_found, profile_locked while a session saves it at its end */
  async delete(principal: Principal, idOrName: string): Promise<void> {
    const { store, audit } = this.#deps;
    const owner = ownerOf(principal);
    await store.transaction(async (tx) => {
      const { profileId } = await this.#find(tx, toSelector(owner, idOrName));
      await lockProfile(tx, profileId);
      // Read again: a session may have started meanwhile.
      const { writer, name } = await this.#find(tx, { owner, id: profileId });
      if (writer) throw profileLocked(writer);
      await deleteProfile(tx, profileId);
      await audit.record(tx, { actor: actorOf(principal), action: 'profile.deleted', owner, subject: profileId, details: { name } });
    });
  }

  /**
   * The profile for a new session. Waits for a session that has ended and saves it now. One that is to be saved and has
   * no such name yet gets an id, and is created by `use`: a session that is refused leaves none.
   * @throws ServiceError profile_not_found, profile_locked
   */
  async open(owner: string, request: ProfileRequest, signal: AbortSignal): Promise<Pick<Profile, 'profileId' | 'name'>> {
    const { id, name = '', save_changes: savesChanges } = request;
    const { store } = this.#deps;
    const selector = id === undefined ? { owner, name } : { owner, id };
    const existing = await findProfile(store, selector);
    if (!existing && id === undefined && savesChanges) return { profileId: newId('pro'), name };
    const profile = existing && !existing.writer?.isEnding ? existing : await this.#awaitSave(selector, signal);
    if (profile.writer && (savesChanges || profile.writer.isEnding)) throw profileLocked(profile.writer);
    return profile;
  }

  async #awaitSave(selector: ProfileSelector, signal: AbortSignal): Promise<Profile> {
    const { store, clock } = this.#deps;
    const sinceMs = clock.monotonicMs();
    for (;;) {
      const profile = await this.#find(store, selector);
      if (!profile.writer?.isEnding || clock.monotonicMs() - sinceMs > endingMsMax) return profile;
      await sleep(endingPollMs, undefined, { signal });
    }
  }

  /**
   * Uses the profile, in the transaction that stores its session, and creates one that `open` has found missing.
   * @throws ServiceError profile_not_found where it has been deleted, profile_limit_reached, and profile_locked where
   * another session has created one of its name meanwhile
   */
  async use(tx: Tables, profile: UsedProfile): Promise<void> {
    const { profileId, owner, name, mayCreate, usedAt } = profile;
    if (await touchProfile(tx, profileId, usedAt)) return;
    if (!mayCreate) throw profileNotFound();
    await this.#deps.owners.lock(tx, owner);
    const other = await findProfile(tx, { owner, name });
    if (other) throw profileLocked(other.writer);
    await this.#create(tx, profile);
  }

  async #create(tx: Tables, { profileId, owner, name, actor, usedAt }: UsedProfile): Promise<void> {
    if ((await countProfiles(tx, owner)) >= profilesPerOwnerMax)
      throw new ServiceError(
        'profile_limit_reached',
        `The limit of ${profilesPerOwnerMax} profiles is reached. Delete one that you no longer use.`,
        { details: { limit: profilesPerOwnerMax } },
      );
    await insertProfile(tx, { profileId, owner, name, createdAt: usedAt });
    await touchProfile(tx, profileId, usedAt);
    await this.#deps.audit.record(tx, { actor, action: 'profile.created', owner, subject: profileId, details: { name } });
  }

  /** Deletes a profile that a session has created, which never became ready, unless another one has used it since. */
  async discard(tx: Tables, { profileId, owner, name, actor, usedAt }: UsedProfile): Promise<void> {
    if (!(await deleteUnusedProfile(tx, profileId, usedAt))) return;
    await this.#deps.audit.record(tx, { actor, action: 'profile.deleted', owner, subject: profileId, details: { name } });
  }

  /** The error of a session that another one was faster than. */
  async lockedError(key: ProfileKey): Promise<ServiceError> {
    const profile = await findProfile(this.#deps.store, { owner: key.owner, id: key.profileId });
    return profileLocked(profile?.writer ?? null);
  }

  /** null: nothing was saved yet. @throws ServiceError profile_not_found, profile_unreadable */
  async read(key: ProfileKey): Promise<BrowserState | null> {
    const sealed = await readContent(this.#deps.store, key.profileId);
    if (sealed === undefined) throw profileNotFound();
    if (sealed === null) return null;
    const state = await openContent(this.#deps.secret, key, sealed);
    if (state) return state;
    throw new ServiceError(
      'profile_unreadable',
      'The profile cannot be decrypted: it was encrypted with another key of this service, or changed. Delete it, and create it again.',
    );
  }

  /**
   * Stores what a session has left. `unlock` gives its lock up in the same transaction; false: the session has lost it,
   * and nothing is stored. After `store_unavailable`, which leaves open whether it was stored, it may be called again
   * with the same `savedAt`. @returns null where the lock is lost
   * @throws ProfileTooLargeError, ServiceError profile_not_found, profile_unreadable, store_unavailable
   */
  async save(
    key: ProfileKey,
    read: ReadBrowserState,
    { savedAt, unlock }: { savedAt: Date; unlock: (tx: Tables) => Promise<boolean> },
  ): Promise<SavedProfile | null> {
    const { store, secret } = this.#deps;
    const { state, json, sizeBytes, dropped } = mergeContent(await this.read(key), read);
    const content = await sealContent(secret, key, json);
    const counts = { sizeBytes, cookies: state.cookies.length, origins: state.origins.length };
    const isStored = await store.transaction(async (tx) => {
      if (!(await unlock(tx))) {
        // An earlier call may have stored it, and given the lock up.
        const profile = await findProfile(tx, { owner: key.owner, id: key.profileId });
        return profile?.savedAt?.getTime() === savedAt.getTime();
      }
      await writeContent(tx, key.profileId, { content, ...counts, savedAt });
      return true;
    });
    return isStored ? { ...counts, dropped } : null;
  }

  async #find(tables: Tables, selector: ProfileSelector): Promise<Profile> {
    const profile = await findProfile(tables, selector);
    if (!profile) throw profileNotFound();
    return profile;
  }
}

/** A text that has the form of an id is an id. */
const toSelector = (owner: string, idOrName: string): ProfileSelector =>
  isId('pro', idOrName) ? { owner, id: idOrName } : { owner, name: idOrName };

const profileNotFound = (): ServiceError =>
  new ServiceError('profile_not_found', 'No such profile. A session with a name and `save_changes` creates one.');

/** One that is saved now is unlocked in a moment. */
function profileLocked(writer: ProfileWriter | null): ServiceError {
  if (!writer || writer.isEnding)
    return new ServiceError('profile_locked', 'The profile is being saved or was just taken. Try again in a moment.', {
      retryable: true,
      retryAfterSeconds: 1,
      details: writer ? { session_id: writer.sessionId } : {},
    });
  return new ServiceError(
    'profile_locked',
    `The session ${writer.sessionId} saves this profile when it ends. End it, or create this session without \`save_changes\`.`,
    { details: { session_id: writer.sessionId } },
  );
}
