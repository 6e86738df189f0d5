import { Counter, Gauge, type Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
export type Rows = readonly (readonly [labels: Labels, value: number])[];

/** Metrics whose values are read from their source at each scrape. */
export class Readings {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Registers a value that only increases during the life of the process. */
  counter(name: string, help: string, read: () => number): void {
    this.counterRows(name, help, [], () => [[{}, read()]]);
  }

  /** One series for each value of the label. */
  counterBy(label: string, name: string, help: string, read: () => Readonly<Record<string, number>>): void {
    this.counterRows(name, help, [label], () => rowsBy(label, read()));
  }

  counterRows(name: string, help: string, labels: readonly string[], read: () => Rows): void {
    const collect = function (this: Counter): void {
      this.reset();
      for (const [of, value] of read()) this.inc(of, value);
    };
    this.#registry.registerMetric(new Counter({ name, help, labelNames: labels, registers: [], collect }));
  }

  /** Registers a value that can decrease. */
  gauge(name: string, help: string, read: () => number): void {
    this.gaugeRows(name, help, [], () => [[{}, read()]]);
  }

  gaugeBy(label: string, name: string, help: string, read: () => Readonly<Record<string, number>>): void {
    this.gaugeRows(name, help, [label], () => rowsBy(label, read()));
  }

  gaugeRows(name: string, help: string, labels: readonly string[], read: () => Rows): void {
    const collect = function (this: Gauge): void {
      this.reset();
      for (const [of, value] of read()) this.set(of, value);
    };
    this.#registry.registerMetric(new Gauge({ name, help, labelNames: labels, registers: [], collect }));
  }
}

const rowsBy = (label: string, values: Readonly<Record<string, number>>): Rows =>
  Object.entries(values).map(([name, value]) => [{ [label]: name }, value]);

/** 0 for each name, so that a series exists before its first event. */
export const zeroOf = <Name extends string>(names: readonly Name[]): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
