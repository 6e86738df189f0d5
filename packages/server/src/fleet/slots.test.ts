import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isOutdated, type VmSlot, type FleetContext } from './slots.ts';

const contextOf = (now: string) => ({ deps: { runtime: { generation: () => now } } }) as unknown as FleetContext;
const slotOf = (begun: string, current: string | null) =>
  ({ kind: 'headless', generation: begun, machine: current === null ? null : { vm: { generation: current } } }) as unknown as VmSlot;

describe('a machine is outdated', () => {
  it('when new ones have another generation', () => {
    assert.equal(isOutdated(contextOf('two'), slotOf('one', 'one')), true);
    assert.equal(isOutdated(contextOf('one'), slotOf('one', 'one')), false);
  });

  it('not while it boots', () => {
    assert.equal(isOutdated(contextOf('two'), slotOf('one', null)), false);
  });

  it('not when it has the new generation although its boot began before the change', () => {
    assert.equal(isOutdated(contextOf('two'), slotOf('one', 'two')), false);
  });

  it('not when it fell back to another generation', () => {
    assert.equal(isOutdated(contextOf('template'), slotOf('template', 'cold')), false);
    assert.equal(isOutdated(contextOf('repaired'), slotOf('template', 'cold')), true);
  });
});
