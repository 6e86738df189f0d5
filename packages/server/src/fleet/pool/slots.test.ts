import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isOutdated, type VmSlot, type FleetDeps } from './slots.ts';

const depsOf = (now: string) => ({ runtime: { generation: () => now } }) as unknown as FleetDeps;
const slotOf = (begun: string, current: string | null) =>
  ({ kind: 'headless', generation: begun, machine: current === null ? null : { vm: { generation: current } } }) as unknown as VmSlot;

describe('a machine is outdated', () => {
  it('a machine is outdated when new ones have another generation', () => {
    assert.equal(isOutdated(depsOf('two'), slotOf('one', 'one')), true);
    assert.equal(isOutdated(depsOf('one'), slotOf('one', 'one')), false);
  });

  it('a machine is not outdated while it boots', () => {
    assert.equal(isOutdated(depsOf('two'), slotOf('one', null)), false);
  });

  it('a machine is not outdated when it has the new generation although its boot began before the change', () => {
    assert.equal(isOutdated(depsOf('two'), slotOf('one', 'two')), false);
  });

  it('a machine is not outdated when it fell back to another generation', () => {
    assert.equal(isOutdated(depsOf('template'), slotOf('template', 'cold')), false);
    assert.equal(isOutdated(depsOf('repaired'), slotOf('template', 'cold')), true);
  });
});
