/**
 * A template: a machine that was saved with a running, quiet browser. Clones map
 * its memory copy-on-write and load its device state.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { VmKind } from '../../runtime.ts';
import { machineArguments, type MachineShape } from '../command.ts';
import type { SealedMemory } from './sealed-memory.ts';

export const templateKinds = ['headless', 'full_browser'] as const;
export type TemplateKind = (typeof templateKinds)[number];

/** `shell` machines use the headless template. */
export const templateKind = (kind: VmKind): TemplateKind => (kind === 'full_browser' ? 'full_browser' : 'headless');

/** Everything that a template's state and memory depend on. A template is used only if all of it matches. */
export interface TemplateInfo {
  kind: TemplateKind;
  image: string;
  chromium: string;
  qemu: string;
  /** Digest of the machine's devices, memory and processors. */
  machine: string;
  /** Model and microcode of the host's processor, which the guest's kernel has detected; null under emulation. */
  processor: string | null;
}

export interface Template {
  info: TemplateInfo;
  memory: SealedMemory;
  state: SealedMemory;
}

export const templateInfo = (shape: MachineShape, kind: TemplateKind, qemu: string): TemplateInfo => ({
  kind,
  image: shape.image.id,
  chromium: shape.image.chromiumVersion,
  qemu,
  machine: digest(machineArguments(shape).join('\n')),
  processor: shape.accelerator === 'kvm' ? hostProcessor() : null,
});

/** The key of a template with this info. */
export const templateKey = ({ kind, image, chromium, qemu, machine, processor }: TemplateInfo): string =>
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
