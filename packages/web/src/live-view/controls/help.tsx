import { KeyTable, Popover } from '../../shared/popover.tsx';
import { isMac } from '../../shared/platform.ts';
import { leaveKey } from '../input/keys.ts';

export const helpPanelId = 'help';

const control = isMac ? '⌘' : 'Ctrl';

const controlKeys = [
  [leaveKey, 'Leave or return to the page. All other keys, including Tab, go to the page.'],
  [`${control} C`, 'Copy from the page to your clipboard'],
  [`${control} V`, 'Paste your clipboard into the page'],
  ['← →', 'Move between tabs when a tab has the focus'],
  ['Enter', 'Show the focused tab'],
  ['Delete', 'Close the focused tab'],
] as const;

export const HelpPanel = ({ canControl }: { canControl: boolean }) => (
  <Popover id={helpPanelId} title={canControl ? 'Interactive live view' : 'View-only live view'}>
    {canControl ? (
      <ControlHelp />
    ) : (
      <p>You see the active tab of the session live. This link is view-only: your input does not reach the page.</p>
    )}
  </Popover>
);

const ControlHelp = () => (
  <>
    <p>Your mouse and keyboard control the page of the session.</p>
    <KeyTable keys={controlKeys} />
    <p>
      Lists, dialogs and file choosers of the page open here, and links that open a new tab are followed. Files that the page downloads are
      among the downloads, where you can save them.
    </p>
    <h3>On a touch screen</h3>
    <p>Tap to click, drag to scroll, touch and hold to open the context menu, pinch to zoom. The keyboard button opens the keyboard.</p>
  </>
);
