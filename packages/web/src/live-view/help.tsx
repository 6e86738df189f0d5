import { KeyTable, Popover } from '../shared/popover.tsx';
import { isMac } from '../shared/platform.ts';
import { leaveKey } from './keys.ts';

export const helpPanelId = 'help';

const control = isMac ? '⌘' : 'Ctrl';

const driving = [
  [leaveKey, 'Leave the page, and go back to it. All other keys, Tab too, go to the page.'],
  [`${control} C`, 'Copy in the page, and onto your clipboard'],
  [`${control} V`, 'Paste your clipboard into the page'],
  ['← →', 'Move along the tabs, when one has the focus'],
  ['Enter', 'Show that tab'],
  ['Delete', 'Close that tab'],
] as const;

export const HelpPanel = ({ canControl }: { canControl: boolean }) => (
  <Popover id={helpPanelId} title={canControl ? 'Driving a session' : 'Watching a session'}>
    {canControl ? (
      <Driving />
    ) : (
      <p>You see the active tab of the session as it happens. This link only watches: nothing that you do here reaches the page.</p>
    )}
  </Popover>
);

const Driving = () => (
  <>
    <p>What you do with mouse and keyboard happens in the page of the session.</p>
    <KeyTable keys={driving} />
    <h3>On a touch screen</h3>
    <p>
      Tap to click, drag to scroll, press long for the menu, use two fingers to enlarge the picture. The keyboard button brings up the
      keyboard.
    </p>
  </>
);
