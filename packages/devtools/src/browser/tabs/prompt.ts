/** A question of a page, and who answers it. */
import type { Box, Dialog } from '../page/page.ts';

/** An option of a drop-down list. `index` counts all options of the list. */
export interface ListOption {
  index: number;
  label: string;
  group: string | null;
  selected: boolean;
  disabled: boolean;
}

export type PickerType = 'date' | 'time' | 'datetime-local' | 'month' | 'week' | 'color';

/** The choice that a control of a form offers. */
export type ControlQuestion =
  /** `box`: the box of the closed list in the main viewport. */
  | { kind: 'list'; options: readonly ListOption[]; box: Box }
  /** The values of the input's attributes; empty for none. */
  | { kind: 'picker'; type: PickerType; value: string; min: string; max: string; step: string };

export type Question = { kind: 'dialog'; dialog: Dialog } | ControlQuestion | { kind: 'files'; multiple: boolean };

export interface Prompt {
  readonly id: number;
  readonly tabId: string;
  readonly question: Question;
}

export interface PromptAnswer {
  accept: boolean;
  /** The text for a dialog that takes one; for a picker, the value in the form of the input. */
  text?: string | undefined;
  /** The `index` of the chosen option of a list. */
  option?: number | undefined;
  /** The files for a file chooser, as paths inside the machine. */
  paths?: readonly string[] | undefined;
}

/** A person who can answer. */
export interface Attendant {
  /** Whether the person has used the session recently. */
  isPresent(): boolean;
}

/** The end of a prompt: an answer, or none. */
export interface PromptHandler {
  answer(answer: PromptAnswer): Promise<void>;
  /** Nobody answers any more. */
  cancel(): void;
}
