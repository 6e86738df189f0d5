/**
 * How a machine's display comes up: an X server that speaks RFB on a Unix
 * socket and nowhere else, a window manager, and then the browser, all as the
 * machine's user. None of them outlives another: the display goes with the
 * browser, the window manager with the display, and the browser with that.
 */
import { readFileSync } from 'node:fs';

/** Where X servers have their sockets, on every system; inside a jail it is the machine's own. */
export const sharedFolder = '/tmp/.X11-unix';

/** The programs without which there is no display. */
export const displayPrograms = ['/usr/bin/Xtigervnc', '/usr/bin/xkbcomp', '/usr/bin/openbox'];

/** The browser's tabs and toolbar stand above the page; a window with tabs is never narrower than this. */
const windowFrameHeight = 87;
const windowWidthMin = 500;

/** What the display must measure for a page to be seen whole. */
export const displaySize = (page: { width: number; height: number }): { width: number; height: number } => ({
  width: Math.max(windowWidthMin, page.width),
  height: page.height + windowFrameHeight,
});

/** The page that every machine starts with. */
export const initialDisplay = displaySize({ width: 1280, height: 720 });

/** The display server's: its clients may ask for a picture of 16 000 × 16 000 pixels, which does not fit. */
const addressSpaceKilobytes = 768 * 1024;

/** Nothing pops up that waits for a person, and no window has a border of its own. */
const preferences = {
  browser: { custom_chrome_frame: false, check_default_browser: false },
  credentials_enable_service: false,
  credentials_enable_autosignin: false,
  profile: { password_manager_leak_detection: false },
  autofill: { profile_enabled: false, credit_card_enabled: false },
  translate: { enabled: false },
  search: { suggest_enabled: false },
  signin: { allowed: false, allowed_on_next_startup: false },
};

/** The cookie keeps other users of the host away where there is no jail; its 36 characters are what od prints of 16 bytes. */
const script = `vnc=$1 profile=$2 preferences=$3 windows=$4
shift 4
# There is no message bus, and nobody reads the screen aloud: windows look for both.
export XAUTHORITY="$TMPDIR/xauthority" DBUS_SESSION_BUS_ADDRESS=disabled: NO_AT_BRIDGE=1
(
  umask 077
  mkdir -p "$profile/Default"
  printf %s "$preferences" >"$profile/Default/Preferences"
  printf %s "$windows" >"$TMPDIR/windows.xml"
  printf '\\377\\377\\0\\0\\0\\0\\0\\022MIT-MAGIC-COOKIE-1\\0\\044%s' "$(od -An -N16 -tx4 /dev/urandom)" >"$XAUTHORITY"
  mkfifo "$TMPDIR/display"
)
[ -d ${sharedFolder} ] || mkdir -m 1777 ${sharedFolder}
(
  ulimit -v ${addressSpaceKilobytes}
  exec setpriv --pdeathsig=KILL Xtigervnc -rfbunixpath "$vnc" ${serverFlags().join(' ')} -auth "$XAUTHORITY" -displayfd 5 3<&- 4<&- 5>"$TMPDIR/display"
) &
read -r number <"$TMPDIR/display" || exit 1
export DISPLAY=:$number
setpriv --pdeathsig=KILL /bin/sh -c 'openbox --sm-disable --config-file "$1"; kill -KILL "$2"' windows "$TMPDIR/windows.xml" $$ 3<&- 4<&- &
exec "$@"`;

function serverFlags(): string[] {
  return [
    ...['-geometry', `${initialDisplay.width}x${initialDisplay.height}`, '-depth', '24'],
    ...['-rfbport', '-1', '-rfbunixmode', '0600', '-nolisten', 'tcp', '-SecurityTypes', 'None'],
    // Whoever has come to the socket may look, beside all others, however often somebody left at the door.
    ...['-AlwaysShared', '-UseBlacklist=0'],
    // A selection is not yet something to be copied.
    ...['-SendPrimary=0', '-SetPrimary=0'],
    // The drivers of 3D graphics take 50 MB and half of the start, and the browser draws by itself.
    ...['-extension', 'GLX', '-noreset', '-Log', "'*:stderr:0'"],
    // Nobody saves this screen.
    ...['-s', '0', '-dpms'],
  ];
}

/** A command that brings up the display, and then becomes `browser`. The socket is made at `vnc`. */
export function withDisplay(browser: string[], { vnc, profilePath }: { vnc: string; profilePath: string }): string[] {
  const windows = readFileSync(new URL('./openbox.xml', import.meta.url), 'utf8');
  return ['/bin/sh', '-c', script, 'display', vnc, profilePath, JSON.stringify(preferences), windows, ...browser];
}
