/**
 * A template: a machine that was saved with its browser up and quiet. Clones
 * map its memory and copy what they write to; the state of its devices is
 * loaded by each.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { VmKind } from '../../runtime.ts';
import { machineArguments } from '../command.ts';
import type { MachineShape } from '../command.ts';
import type { SealedMemory } from './sealed-memory.ts';

export const templateKinds = ['headless', 'full_browser'] as const;
export type TemplateKind = (typeof templateKinds)[number];

/** A machine that has no need of windows, and one that has no use for them, are the same here. */
export const templateKind = (kind: VmKind): TemplateKind => (kind === 'full_browser' ? 'full_browser' : 'headless');

/** Everything that a template's state and memory depend on. Where any of it differs, a clone would be half of one machine and half of another. */
export interface TemplateFacts {
  kind: TemplateKind;
  image: string;
  chromium: string;
  qemu: string;
  /** Digest of the machine's devices, memory and processors. */
  machine: string;
  /** Model and microcode of the host's processor, which the guest's kernel has seen; null where it is emulated. */
  processor: string | null;
}

export interface Template {
  facts: TemplateFacts;
  memory: SealedMemory;
  state: SealedMemory;
}

export const templateFacts = (shape: MachineShape, kind: TemplateKind, qemu: string): TemplateFacts => ({
  kind,
  image: shape.image.id,
  chromium: shape.image.chromiumVersion,
  qemu,
  machine: digest(machineArguments(shape).join('\n')),
  processor: shape.accelerator === 'kvm' ? hostProcessor() : null,
});

/** A name for the template that these facts make. */
export const templateKey = ({ kind, image, chromium, qemu, machine, processor }: TemplateFacts): string =>
  digest([kind, image, chromium, qemu, machine, processor].join('\n'));

export async function closeTemplate({ memory, state }: Template): Promise<void> {
  await Promise.all([memory.close(), state.close()]);
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24);

function hostProcessor(): string {
  const text = readFileSync('/proc/cpuinfo', 'latin1');
  return ['vendor_id', 'cpu family', 'model', 'model name', 'stepping', 'microcode', 'flags']
    .map((name) => new RegExp(`^${name}\\s*:\\s*(.*)$`, 'm').exec(text)?.[1] ?? '')
    .join('|');
}
