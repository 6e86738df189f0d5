import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { LiveOption, LivePrompt } from '@berth/contract/live-view';
import type { LiveView } from '../live-view.ts';
import type { Box } from '../geometry.ts';
import { optionAfter } from '../input/option-keys.ts';

interface DropDownProps {
  view: LiveView;
  prompt: Extract<LivePrompt, { kind: 'list' }>;
  picture: Box;
  onAnswer: (given: { accept: boolean; option?: number }) => void;
}

/** Letters typed within this time belong together. */
const typingMs = 800;
const optionId = (position: number): string => `option-${position}`;

/** The open list of a page, which its browser cannot show in the picture. */
export function DropDown({ view, prompt, picture, onAnswer }: DropDownProps) {
  const { options } = prompt;
  const list = useRef<HTMLDivElement>(null);
  const marked = useSignal(
    Math.max(
      0,
      options.findIndex(({ selected }) => selected),
    ),
  );
  const typed = useRef({ text: '', atMs: -Infinity });
  useEffect(() => list.current?.focus(), []);
  useEffect(() => {
    document.getElementById(optionId(marked.value))?.scrollIntoView({ block: 'nearest' });
  }, [marked.value]);
  const choose = (option: LiveOption | undefined) => {
    if (option && !option.disabled) onAnswer({ accept: true, option: option.index });
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || /^F\d+$/.test(event.key)) return;
    const isTyping = event.timeStamp - typed.current.atMs < typingMs;
    if (event.key === 'Escape' || event.key === 'Tab') onAnswer({ accept: false });
    else if (event.key === 'Enter' || (event.key === ' ' && !isTyping)) choose(options[marked.value]);
    else marked.value = optionAfter(options, marked.value, { key: event.key, typed: typeInto(typed.current, event) });
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div class="list-shade" aria-hidden="true" onPointerDown={() => onAnswer({ accept: false })} />
      <div
        ref={list}
        class="drop-down"
        style={placeOf(prompt.box, picture, view.pageSize.value?.width ?? 1)}
        role="listbox"
        tabIndex={0}
        aria-label="Options"
        aria-activedescendant={optionId(marked.value)}
        onKeyDown={press}
      >
        {options.map((option, position) => (
          <Option
            key={option.index}
            option={option}
            position={position}
            isMarked={position === marked.value}
            isFirstOfGroup={option.group !== null && option.group !== options[position - 1]?.group}
            onChoose={() => choose(option)}
          />
        ))}
      </div>
    </>
  );
}

interface OptionProps {
  option: LiveOption;
  position: number;
  isMarked: boolean;
  isFirstOfGroup: boolean;
  onChoose: () => void;
}

const Option = ({ option: { label, group, selected, disabled }, position, isMarked, isFirstOfGroup, onChoose }: OptionProps) => (
  <>
    {isFirstOfGroup && (
      <div class="option-group" role="presentation">
        {group}
      </div>
    )}
    {/* The list has the focus and handles the keys. */}
    {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus */}
    <div
      id={optionId(position)}
      class="option"
      role="option"
      aria-selected={selected}
      aria-disabled={disabled}
      data-marked={isMarked}
      data-in-group={group !== null}
      onClick={onChoose}
    >
      <bdi>{label || '\u00a0'}</bdi>
    </div>
  </>
);

/** Collects letters; returns the text to search for, or an empty one. */
function typeInto(typed: { text: string; atMs: number }, event: KeyboardEvent): string {
  if ([...event.key].length !== 1) return '';
  typed.text = event.timeStamp - typed.atMs < typingMs ? typed.text + event.key : event.key;
  typed.atMs = event.timeStamp;
  return typed.text;
}

/** Position of the open list: below the closed one, or above it where that ends in the lowest two fifths of the picture. */
function placeOf(box: Box, picture: Box, pageWidth: number): Record<string, string> {
  const scale = picture.width / Math.max(1, pageWidth);
  const [top, bottom] = [picture.y + box.y * scale, picture.y + (box.y + box.height) * scale];
  const left = picture.x + box.x * scale;
  const isBelow = bottom <= picture.y + picture.height * 0.6;
  return {
    left: `clamp(4px, ${left}px, calc(100% - 164px))`,
    minWidth: `${Math.max(160, box.width * scale)}px`,
    ...(isBelow
      ? { top: `${bottom + 2}px`, maxHeight: `max(132px, calc(100% - ${bottom + 8}px))` }
      : { bottom: `calc(100% - ${top - 2}px)`, maxHeight: `max(132px, ${top - 8}px)` }),
  };
}
