import { useSignal } from '@preact/signals';
import type { FetchFormat, FetchResponse, JobResponse } from '@berth/contract';
import { ForeignLink } from '../../../ui/values/foreign-link.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { durationText, sizeText } from '../../../ui/values/texts.ts';
import { BlockNote } from '../inspect/block-note.tsx';
import { TextDiffView } from './diff-view.tsx';
import { formatNames, formatsOf, textOf } from './fetch-texts.ts';
import { FormatView } from './format-view.tsx';
import { JobBadge, JobView, Stats, usageText, Warnings, WorkErrorNote } from '../jobs/job-view.tsx';
import { RowsView, TextBlock } from '../values/value-view.tsx';

const formats = Object.keys(formatNames) as FetchFormat[];

/** A fetch that has ended, all formats side by side. */
export function FetchView({ job }: { job: JobResponse }) {
  const view = useSignal('formats');
  const result = resultOf(job);
  if (!result) return <FetchSummary job={job} />;
  const returned = formatsOf(result, formats);
  return (
    <section class="automation-result" aria-label="Result">
      <FetchSummary job={job} />
      <Tabs
        label="Result"
        current={view.value}
        onChange={(id) => (view.value = id)}
        tabs={[
          { id: 'formats', title: 'Formats' },
          { id: 'attempts', title: 'Attempts and headers' },
          { id: 'json', title: 'JSON' },
        ]}
      >
        {view.value === 'formats' &&
          (returned.length === 0 ? (
            <p class="muted">This fetch has no content.</p>
          ) : (
            <div class="automation-panels">
              {returned.map((format) => (
                <FormatPanel key={format} result={result} format={format} />
              ))}
            </div>
          ))}
        {view.value === 'attempts' && <Attempts result={result} />}
        {view.value === 'json' && <TextBlock text={JSON.stringify(result, null, 2)} label="Result" fileName="fetch.json" />}
      </Tabs>
    </section>
  );
}

const resultOf = ({ result }: JobResponse): FetchResponse | null => result as FetchResponse | null;

const FormatPanel = ({ result, format }: { result: FetchResponse; format: FetchFormat }) => (
  <div class="panel automation-panel">
    <h3>{formatNames[format]}</h3>
    <FormatView result={result} format={format} />
  </div>
);

/** What became of a fetch, without its content. */
function FetchSummary({ job }: { job: JobResponse }) {
  const result = resultOf(job);
  const error = result?.error ?? job.error;
  return (
    <div class="automation-summary">
      {result?.title && <h2 class="automation-foreign">{result.title}</h2>}
      <Stats
        items={[
          ['Result', <JobBadge status={job.status} />],
          result !== null && result.status_code !== null && ['HTTP status', String(result.status_code)],
          result !== null && result.resolved_by !== null && ['Fetched with', `${result.resolved_by.mode}, ${result.resolved_by.strategy}`],
          result !== null && ['Time', durationText(result.timings.total_ms)],
          result !== null && ['Received', sizeText(result.bytes.in)],
          job.usage !== null && ['Used', usageText(job.usage)],
          result?.final_url !== null && result !== null && ['Address', <ForeignLink to={result.final_url} />],
        ]}
      />
      {result?.block && <BlockNote block={result.block} />}
      {error && <WorkErrorNote error={error} />}
      {result && <Warnings warnings={result.warnings} />}
    </div>
  );
}

function Attempts({ result }: { result: FetchResponse }) {
  const attempts = result.attempts.map(({ n, strategy, mode, egress, status_code, status, error_code, duration_ms }) => ({
    attempt: n,
    strategy,
    mode,
    egress: egress.type,
    http_status: status_code,
    result: error_code ?? status,
    duration: durationText(duration_ms),
  }));
  const headers = Object.entries(result.headers).map(([name, value]) => ({ header: name, value }));
  return (
    <div class="automation-stack">
      <RowsView columns={['attempt', 'strategy', 'mode', 'egress', 'http_status', 'result', 'duration']} rows={attempts} label="Attempts" />
      {headers.length > 0 && <RowsView columns={['header', 'value']} rows={headers} label="Headers of the response" />}
    </div>
  );
}

/** Two fetches of one page: what each returned, and in which lines they differ. */
export function FetchComparison({ first, second }: { first: string; second: string }) {
  return (
    <JobView jobId={first} kinds={['fetch']}>
      {(one) => (
        <JobView jobId={second} kinds={['fetch']}>
          {(other) => <ComparedView jobs={[one, other]} />}
        </JobView>
      )}
    </JobView>
  );
}

function ComparedView({ jobs }: { jobs: readonly [JobResponse, JobResponse] }) {
  const results = [resultOf(jobs[0]), resultOf(jobs[1])] as const;
  const [one, other] = results;
  const returned = formats.filter((format) => results.some((result) => result && formatsOf(result, [format]).length > 0));
  const comparable = returned.filter((format) => one && other && textOf(one, format) !== null && textOf(other, format) !== null);
  const format = useSignal<FetchFormat>(comparable.find((name) => name === 'text') ?? comparable[0] ?? returned[0] ?? 'html');
  const view = useSignal('diff');
  const names = results.map((result, n) => (result?.resolved_by?.mode === 'http' || n === 0 ? 'Plain HTTP' : 'Browser'));
  return (
    <section class="automation-result" aria-label="Comparison">
      <div class="automation-pair">
        {jobs.map((job, n) => (
          <section key={job.job_id} aria-label={names[n]}>
            <h2>{names[n]}</h2>
            <FetchSummary job={job} />
          </section>
        ))}
      </div>
      <Tabs
        label="Format"
        current={format.value}
        onChange={(id) => (format.value = id as FetchFormat)}
        tabs={returned.map((id) => ({ id, title: formatNames[id] }))}
      >
        <div class="row" role="group" aria-label="View">
          {[
            { id: 'diff', title: 'Difference' },
            { id: 'both', title: 'Side by side' },
          ].map(({ id, title }) => (
            <button key={id} type="button" class="button" aria-pressed={view.value === id} onClick={() => (view.value = id)}>
              {title}
            </button>
          ))}
        </div>
        {view.value === 'diff' && comparable.includes(format.value) && one && other ? (
          <TextDiffView
            before={textOf(one, format.value) ?? ''}
            after={textOf(other, format.value) ?? ''}
            names={['plain HTTP', 'the browser']}
          />
        ) : (
          <div class="automation-pair">
            {results.map((result, n) => (
              <section key={n} class="panel automation-panel" aria-label={`${formatNames[format.value]} of ${names[n]}`}>
                <h3>{names[n]}</h3>
                {result && formatsOf(result, [format.value]).length > 0 ? (
                  <FormatView result={result} format={format.value} />
                ) : (
                  <p class="muted">Plain HTTP does not have this format.</p>
                )}
              </section>
            ))}
          </div>
        )}
      </Tabs>
    </section>
  );
}
