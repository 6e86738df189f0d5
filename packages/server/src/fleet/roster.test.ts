import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isOutdated, type Berth, type Roster } from './roster.ts';

const fleetOf = (now: string) => ({ deps: { runtime: { generation: () => now } } }) as unknown as Roster;
const berthOf = (begun: string, made: string | null) =>
  ({ kind: 'headless', generation: begun, machine: made === null ? null : { vm: { generation: made } } }) as unknown as Berth;

describe('a machine is outdated', () => {
  it('when new ones are made of something else than it is', () => {
    assert.equal(isOutdated(fleetOf('two'), berthOf('one', 'one')), true);
    assert.equal(isOutdated(fleetOf('one'), berthOf('one', 'one')), false);
  });

  it('not while it is being made', () => {
    assert.equal(isOutdated(fleetOf('two'), berthOf('one', null)), false);
  });

  it('not when it was begun before the change and is made of what is new', () => {
    assert.equal(isOutdated(fleetOf('two'), berthOf('one', 'two')), false);
  });

  it('not when it had to be made otherwise than was said: another would be no better', () => {
    assert.equal(isOutdated(fleetOf('template'), berthOf('template', 'cold')), false);
    assert.equal(isOutdated(fleetOf('mended'), berthOf('template', 'cold')), true);
  });
});
