import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hasPlenty, hasRoom, rankWorkers, type PlacementRequest, type Room } from './rank.ts';
import { seeded } from '@berth/lib/testing/seeded.ts';

const roomOf = (workerId: string, room: Partial<Room> = {}): Room => ({
  workerId,
  region: 'home',
  kinds: ['headless', 'full_browser'],
  takesWork: true,
  sessions: 0,
  sessionsMax: 10,
  reserved: 0,
  machinesLeft: null,
  isAdmitting: true,
  isBusy: false,
  warm: {},
  ...room,
});
const request = (own: Record<string, number> = {}): PlacementRequest => ({
  region: 'home',
  kind: 'headless',
  ownerSessions: new Map(Object.entries(own)),
});

const rank = (rooms: Room[], own: Record<string, number> = {}, seed = 1) => rankWorkers(rooms, request(own), seeded(seed));

describe('the order of workers', () => {
  it('the order of workers has only those of the region and kind that take work', () => {
    const rooms = [
      roomOf('a'),
      roomOf('b', { region: 'far' }),
      roomOf('c', { kinds: ['full_browser'] }),
      roomOf('d', { takesWork: false }),
    ];
    assert.deepEqual(rank(rooms), ['a']);
    assert.deepEqual(rank(rooms.slice(1)), []);
  });

  it('the order of workers begins with warm machines, unless sessions placed since have taken them', () => {
    const warm = { headless: 2 };
    assert.equal(rank([roomOf('a'), roomOf('b', { sessions: 8, warm })])[0], 'b');
    assert.equal(rank([roomOf('a'), roomOf('b', { sessions: 6, reserved: 2, warm })])[0], 'a');
    assert.equal(rank([roomOf('a'), roomOf('b', { sessions: 8, warm: { full_browser: 2 } })])[0], 'a');
  });

  it('the order of workers prefers room, by sessions, memory and processors', () => {
    assert.deepEqual(rank([roomOf('a', { sessions: 4 }), roomOf('b', { sessions: 1 }), roomOf('c', { sessions: 2 })]), ['b', 'c', 'a']);
    assert.deepEqual(rank([roomOf('a', { sessions: 2, machinesLeft: 1 }), roomOf('b', { sessions: 4 })]), ['b', 'a']);
    assert.deepEqual(rank([roomOf('a', { isBusy: true }), roomOf('b', { sessions: 3 })]), ['b', 'a']);
  });

  it('the order of workers spreads the sessions of an owner over workers that are about as full', () => {
    const rooms = [roomOf('a', { sessions: 5 }), roomOf('b', { sessions: 6 }), roomOf('c', { sessions: 9 })];
    assert.deepEqual(rank(rooms, { a: 3 }), ['b', 'a', 'c']);
  });

  it('the order of workers has those that report full last, for their rows may count a session twice', () => {
    const full = [roomOf('a', { sessions: 10 }), roomOf('b', { sessions: 9, reserved: 1 }), roomOf('c', { machinesLeft: 0 })];
    const [first, ...others] = rank([...full, roomOf('d', { sessions: 9 })]);
    assert.deepEqual([first, ...others.toSorted()], ['d', 'a', 'b', 'c']);
    assert.deepEqual(rank([roomOf('e', { sessions: 12 }), roomOf('f', { sessions: 8, reserved: 2 }), roomOf('g')])[0], 'g');
    assert.deepEqual(rank(full).toSorted(), ['a', 'b', 'c']);
    assert.deepEqual(rank([roomOf('a', { isAdmitting: false })]), ['a']);
  });

  it('a worker has plenty of room while half of it is free, and more than one burst takes', () => {
    const plenty = (room: Partial<Room>): boolean => hasPlenty(roomOf('a', { sessionsMax: 100, ...room }));
    assert.deepEqual([plenty({ sessions: 40, reserved: 10 }), plenty({ sessions: 40, reserved: 11 })], [true, false]);
    assert.deepEqual([plenty({ machinesLeft: 16 }), plenty({ machinesLeft: 15 })], [true, false]);
    assert.deepEqual([plenty({ sessions: 17, machinesLeft: 16 }), plenty({ isAdmitting: false })], [false, false]);
  });

  it('the order of workers differs by chance alone among equals, and is the same for the same chance', () => {
    const rooms = Array.from({ length: 5 }, (_, n) => roomOf(String(n)));
    const firsts = new Set(Array.from({ length: 100 }, (_, seed) => rank(rooms, {}, seed)[0]));
    assert.equal(firsts.size, 5);
    assert.deepEqual(rank(rooms, {}, 7), rank(rooms, {}, 7));
  });
});

const anyRoom = fc
  .record({
    region: fc.constantFrom('home', 'far'),
    kinds: fc.constantFrom(['headless'], ['full_browser'], ['headless', 'full_browser']),
    takesWork: fc.boolean(),
    sessions: fc.nat(20),
    sessionsMax: fc.nat(20),
    reserved: fc.nat(5),
    machinesLeft: fc.option(fc.nat(5)),
    isAdmitting: fc.boolean(),
    isBusy: fc.boolean(),
    warm: fc.record({ headless: fc.nat(3) }),
  })
  .map((room) => roomOf('', room));
const rooms = fc.array(anyRoom, { maxLength: 60 }).map((each) => each.map((room, n) => ({ ...room, workerId: String(n) })));
const runs = { seed: 1, numRuns: 500 };

describe('whatever the workers report', () => {
  it('each candidate for a placement serves region and kind, once, and has room if any has', () => {
    fc.assert(
      fc.property(rooms, fc.integer(), (all, seed) => {
        const ids = rank(all, {}, seed);
        const ranked = ids.map((id) => all[Number(id)] ?? assert.fail('an unknown worker'));
        const serving = all.filter((room) => room.takesWork && room.region === 'home' && room.kinds.includes('headless'));
        assert.equal(new Set(ids).size, ids.length);
        assert.ok(ids.length <= 4);
        assert.ok(ranked.every((room) => serving.includes(room)));
        assert.equal(ids.length > 0, serving.length > 0);
        assert.equal(ranked.filter(hasRoom).length, Math.min(4, serving.filter(hasRoom).length));
        assert.ok(
          ranked.every((room, n) => n === 0 || !hasRoom(room) || hasRoom(ranked[n - 1] ?? room)),
          'those with room first',
        );
        assert.equal(ids.length, Math.min(4, serving.length));
      }),
      runs,
    );
  });

  it('a warm machine is found, also among many workers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), fc.integer(), (count, at, seed) => {
        const all = Array.from({ length: count }, (_, n) => roomOf(String(n), n === at % count ? { warm: { headless: 1 } } : {}));
        assert.equal(rank(all, {}, seed)[0], String(at % count));
      }),
      runs,
    );
  });

  it('placements one after another, each counted, differ by one at most among few, and stay close among many', () => {
    for (const [workers, sessions, differenceMax] of [
      [3, 100, 1],
      [16, 500, 1],
      [1000, 5000, 8],
    ] as const) {
      const all = Array.from({ length: workers }, (_, n) => roomOf(String(n), { sessionsMax: 1000 }));
      const random = seeded(workers);
      for (let n = 0; n < sessions; n += 1) {
        const [first] = rankWorkers(all, request(), random);
        const room = all[Number(first)] ?? assert.fail('no worker');
        room.reserved += 1;
      }
      const counts = all.map(({ reserved }) => reserved);
      assert.ok(Math.max(...counts) - Math.min(...counts) <= differenceMax, `${workers}: ${Math.min(...counts)}…${Math.max(...counts)}`);
    }
  });
});
