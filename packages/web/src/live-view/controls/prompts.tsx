import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { liveViewBounds, type LivePrompt } from '@berth/contract/live-view';
import { DropDown } from './drop-down.tsx';
import type { LiveView } from '../live-view.ts';
import type { Box } from '../geometry.ts';
import { isTooLarge } from '../uploads.ts';

interface PromptsProps {
  view: LiveView;
  /** Position and size of the picture in the stage, in CSS px. */
  picture: Box;
  /** Called after an answer, so that the focus returns to the page. */
  onAnswered: () => void;
}

type DialogPrompt = Extract<LivePrompt, { kind: 'dialog' }>;
type PickerPrompt = Extract<LivePrompt, { kind: 'picker' }>;

/** What the page of the session asks. Without control it is shown and cannot be answered. */
export function Prompts({ view, picture, onAnswered }: PromptsProps) {
  const prompt = view.prompt.value;
  if (!prompt || view.link.state.value.status !== 'live') return null;
  const answer = (given: Parameters<LiveView['answer']>[0]) => {
    view.answer(given);
    onAnswered();
  };
  const canAnswer = view.canControl.value;
  if (prompt.kind === 'list')
    return canAnswer ? <DropDown key={prompt.prompt_id} prompt={prompt} view={view} picture={picture} onAnswer={answer} /> : null;
  if (prompt.kind === 'dialog')
    return <DialogCard key={prompt.prompt_id} prompt={prompt} host={hostOf(view)} canAnswer={canAnswer} onAnswer={answer} />;
  if (prompt.kind === 'picker') return canAnswer ? <PickerCard key={prompt.prompt_id} prompt={prompt} onAnswer={answer} /> : null;
  return canAnswer ? <FileCard key={prompt.prompt_id} view={view} isMultiple={prompt.multiple} onAnswer={answer} /> : null;
}

const hostOf = (view: LiveView): string => URL.parse(view.activeTab.value?.url ?? '')?.host || 'This page';

const buttonsOf: Readonly<Record<DialogPrompt['dialog'], readonly [accept: string, dismiss: string | null]>> = {
  alert: ['OK', null],
  confirm: ['OK', 'Cancel'],
  prompt: ['OK', 'Cancel'],
  beforeunload: ['Leave', 'Stay'],
};

interface DialogCardProps {
  prompt: DialogPrompt;
  host: string;
  canAnswer: boolean;
  onAnswer: (given: { accept: boolean; text?: string }) => void;
}

function DialogCard({ prompt, host, canAnswer, onAnswer }: DialogCardProps) {
  const { dialog, message, default_value: defaultValue } = prompt;
  const text = useSignal(defaultValue);
  const [accept, dismiss] = buttonsOf[dialog];
  const isLeaving = dialog === 'beforeunload';
  const submit = (event: Event) => {
    event.preventDefault();
    onAnswer(dialog === 'prompt' ? { accept: true, text: text.value } : { accept: true });
  };
  return (
    <AskCard title={isLeaving ? 'Leave this page?' : `${host} says`} onDismiss={() => canAnswer && onAnswer({ accept: dismiss === null })}>
      <p class="ask-message">{isLeaving ? 'What you have entered may not be saved.' : message}</p>
      {canAnswer ? (
        <form onSubmit={submit}>
          {dialog === 'prompt' && (
            <input
              type="text"
              class="ask-field"
              aria-label="Answer"
              value={text}
              onInput={(event) => (text.value = event.currentTarget.value)}
            />
          )}
          <div class="card-actions">
            <button type="submit" class="button button-main">
              {accept}
            </button>
            {dismiss !== null && (
              <button type="button" class="button" onClick={() => onAnswer({ accept: false })}>
                {dismiss}
              </button>
            )}
          </div>
        </form>
      ) : (
        <p>Somebody with control has to answer.</p>
      )}
    </AskCard>
  );
}

const titleOf: Readonly<Record<PickerPrompt['type'], string>> = {
  date: 'Choose a date',
  time: 'Choose a time',
  'datetime-local': 'Choose a date and time',
  month: 'Choose a month',
  week: 'Choose a week',
  color: 'Choose a colour',
};

interface PickerCardProps {
  prompt: PickerPrompt;
  onAnswer: (given: { accept: boolean; text?: string }) => void;
}

/** The viewer's own picker in the place of the one that the session's browser cannot show. */
function PickerCard({ prompt: { type, value, min, max, step }, onAnswer }: PickerCardProps) {
  const field = useRef<HTMLInputElement>(null);
  const title = titleOf[type];
  const bounds = Object.fromEntries(Object.entries({ min, max, step }).filter(([, bound]) => bound !== ''));
  const submit = (event: Event) => {
    event.preventDefault();
    onAnswer({ accept: true, text: field.current?.value ?? '' });
  };
  return (
    <AskCard title={title} onDismiss={() => onAnswer({ accept: false })}>
      {/* The page decides what it accepts. */}
      <form onSubmit={submit} noValidate>
        <input ref={field} class="ask-field" type={type} aria-label={title} defaultValue={value} {...bounds} />
        <div class="card-actions">
          <button type="submit" class="button button-main">
            OK
          </button>
          <button type="button" class="button" onClick={() => onAnswer({ accept: false })}>
            Cancel
          </button>
        </div>
      </form>
    </AskCard>
  );
}

interface FileCardProps {
  view: LiveView;
  isMultiple: boolean;
  onAnswer: (given: { accept: boolean; file_ids?: string[] }) => void;
}

function FileCard({ view, isMultiple, onAnswer }: FileCardProps) {
  const progress = view.uploads.progress.value;
  const choose = async (files: readonly File[]) => {
    if (files.length === 0) return;
    if (files.some(isTooLarge))
      return view.toasts.show(`The file is too large. Choose one of at most ${liveViewBounds.uploadBytes / 1024 ** 2} MB.`);
    const ids = await view.uploads.send(files);
    if (ids) onAnswer({ accept: true, file_ids: ids });
  };
  return (
    <AskCard title={isMultiple ? 'Choose files for the page' : 'Choose a file for the page'} onDismiss={() => onAnswer({ accept: false })}>
      <p>{isMultiple ? 'They are' : 'It is'} sent from this computer to the session’s browser.</p>
      <label class="field">
        <span>{isMultiple ? 'Files' : 'File'}</span>
        <input
          type="file"
          multiple={isMultiple}
          disabled={progress !== null}
          onChange={(event) => void choose([...(event.currentTarget.files ?? [])])}
        />
      </label>
      {progress !== null && <progress class="ask-progress" aria-label="Upload" value={progress} />}
      <div class="card-actions">
        <button type="button" class="button" onClick={() => onAnswer({ accept: false })}>
          Cancel
        </button>
      </div>
    </AskCard>
  );
}

interface AskCardProps {
  title: string;
  onDismiss: () => void;
  children: ComponentChildren;
}

/** Covers the stage, as its page does nothing else meanwhile; tabs and tools stay usable. */
function AskCard({ title, onDismiss, children }: AskCardProps) {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const first = card.current?.querySelector<HTMLElement>('input, button');
    (first ?? card.current)?.focus();
    const listening = new AbortController();
    const press = (event: KeyboardEvent) => event.key === 'Escape' && onDismiss();
    card.current?.addEventListener('keydown', press, listening);
    return () => listening.abort();
  }, []);
  return (
    <div class="notice ask">
      <div ref={card} class="card" role="alertdialog" aria-labelledby="ask-title" tabIndex={-1}>
        <h2 id="ask-title">{title}</h2>
        {children}
      </div>
    </div>
  );
}
