/** Simulated time: what is due runs in order of its time, and time passes in no other way. */
export class Events {
  nowMs = 0;
  readonly #heap: { atMs: number; run: () => void }[] = [];

  after(ms: number, run: () => void): void {
    const heap = this.#heap;
    const event = { atMs: this.nowMs + ms, run };
    let at = heap.length;
    for (heap.push(event); at > 0;) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.atMs <= event.atMs) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  runUntil(endMs: number): void {
    for (let next = this.#heap[0]; next && next.atMs <= endMs; next = this.#heap[0]) {
      this.#removeFirst();
      this.nowMs = next.atMs;
      next.run();
    }
    this.nowMs = endMs;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && heap[child + 1]!.atMs < heap[child]!.atMs) child += 1;
      if (heap[child]!.atMs >= last.atMs) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}
