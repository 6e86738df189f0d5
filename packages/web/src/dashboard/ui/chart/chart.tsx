import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import type { Series } from './plot.ts';
import { scrollable } from '../scrollable.ts';
import { dateTimeText, numberText } from '../values/texts.ts';

interface ChartProps {
  /** What it shows, in a sentence: the chart's name for screen readers. */
  label: string;
  /** Epoch ms, ascending. */
  timesMs: readonly number[];
  series: readonly Series[];
  kind?: 'line' | 'bars';
  heightPx?: number;
  /** A time, such as its day. Default: to the second. */
  timeText?: (ms: number) => string;
  /** A value with its unit. */
  valueText?: (value: number) => string;
}

const colours = ['--accent', '--warn', '--good', '--bad', '--muted'];

/** A chart over time, drawn by uPlot, which is loaded with the first chart. The same numbers are in a table below it. */
export function Chart({ label, timesMs, series, kind = 'line', heightPx = 220, ...texts }: ChartProps) {
  const { timeText = dateTimeText, valueText = numberText } = texts;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const stop = new AbortController();
    let plot: uPlot | undefined;
    const draw = async (): Promise<void> => {
      const { createPlot } = await import('./plot.ts');
      if (stop.signal.aborted) return;
      plot?.destroy();
      plot = createPlot(element, { timesMs, series, kind, heightPx, timeText, valueText, colours: coloursOf(element) });
    };
    void draw();
    dark.addEventListener('change', () => void draw(), { signal: stop.signal });
    const observer = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: heightPx }));
    observer.observe(element);
    return () => {
      stop.abort();
      observer.disconnect();
      plot?.destroy();
    };
  }, [JSON.stringify([timesMs, series]), kind]);
  return (
    <figure class="chart">
      <figcaption class="visually-hidden">{label}</figcaption>
      <div ref={box} role="img" aria-label={label} />
      <details>
        <summary>Numbers</summary>
        <div class="table-scroll" {...scrollable(`${label}, as a table`)}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ title }) => (
                  <th key={title} scope="col" class="number">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {timesMs.map((atMs, index) => (
                <tr key={atMs}>
                  <td>{timeText(atMs)}</td>
                  {series.map(({ title, values }) => (
                    <td key={title} class="number">
                      {values[index] == null ? '' : valueText(values[index])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

const coloursOf = (element: Element): { series: string[]; text: string; line: string } => {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return { series: colours.map(read), text: read('--muted'), line: read('--line') };
};
