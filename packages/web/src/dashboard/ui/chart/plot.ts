/** The only user of uPlot, so that the library is loaded with the first chart. */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Series {
  title: string;
  /** One for each time; null where there is none. */
  values: readonly (number | null)[];
}

interface PlotOptions {
  timesMs: readonly number[];
  series: readonly Series[];
  kind: 'line' | 'bars';
  heightPx: number;
  /** A time of the chart. */
  timeText: (ms: number) => string;
  valueText: (value: number) => string;
  colours: { series: string[]; text: string; line: string };
}

export function createPlot(element: HTMLElement, { timesMs, series, kind, heightPx, timeText, valueText, colours }: PlotOptions): uPlot {
  const axis = { stroke: colours.text, grid: { stroke: colours.line, width: 1 }, ticks: { stroke: colours.line, width: 1 } };
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: heightPx,
    cursor: { drag: { x: false, y: false } },
    axes: [
      { ...axis, values: timeLabels, ...(kind === 'bars' ? { incrs: stepsOf(timesMs) } : {}) },
      {
        ...axis,
        size: 70,
        ...(series.every(isWhole) ? { incrs: wholeSteps } : {}),
        values: (_plot, values) => values.map((value) => valueText(value)),
      },
    ],
    scales: {
      ...(kind === 'bars' ? { x: { range: (_plot: uPlot, min: number, max: number) => around(min, max, timesMs) } } : {}),
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    series: [
      { value: (_plot, seconds: number | null) => (seconds === null ? '' : timeText(seconds * 1000)) },
      ...series.map(({ title }, index) => {
        const stroke = colours.series[index % colours.series.length] ?? colours.text;
        return {
          label: title,
          stroke,
          width: 2,
          points: { show: timesMs.length < 3 },
          value: (_plot: uPlot, value: number | null) => (value === null ? '' : valueText(value)),
          ...(kind === 'bars' && uPlot.paths.bars ? { fill: stroke, paths: uPlot.paths.bars({ size: [0.7, 60] }) } : {}),
        };
      }),
    ],
  };
  const data = [timesMs.map((ms) => ms / 1000), ...series.map(({ values }) => [...values])] as unknown as uPlot.AlignedData;
  return new uPlot(options, data, element);
}

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const clockTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** Days in the reader's own language; times with the day below where it begins. */
const timeLabels = (_plot: uPlot, seconds: number[], _axis: number, _space: number, step: number): string[] => {
  const days = seconds.map((second) => day.format(second * 1000));
  if (step >= dayMs / 1000) return days;
  return seconds.map((second, index) => clockTime.format(second * 1000) + (days[index] === days[index - 1] ? '' : `\n${days[index]}`));
};

/** No label between two counts. */
const isWhole = ({ values }: Series): boolean => values.every((value) => value === null || Number.isInteger(value));
const wholeSteps = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

const dayMs = 86_400_000;
/** Seconds between two bars. */
const stepSeconds = ([first = 0, second = first + dayMs]: readonly number[]): number => (second - first) / 1000;

/** The first and last bar are whole, too. */
const around = (min: number, max: number, timesMs: readonly number[]): [number, number] => {
  const half = stepSeconds(timesMs) / 2;
  return [min - half, max + half];
};

/** Distances of labels: each names a bar. */
const stepsOf = (timesMs: readonly number[]): number[] => [1, 2, 7, 14, 28, 56].map((count) => count * stepSeconds(timesMs));
