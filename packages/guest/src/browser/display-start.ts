/**
 * Start of a machine's display: an X server that speaks RFB on a Unix socket
 * only, a window manager, and then the browser, all as the machine's user. When
 * one of them exits, the others end as well.
 */
import { readFileSync } from 'node:fs';

/** Standard folder of X server sockets. Inside a jail it is the machine's own. */
export const sharedFolder = '/tmp/.X11-unix';

/** Programs that a display requires. */
export const displayPrograms = ['/usr/bin/Xtigervnc', '/usr/bin/xkbcomp', '/usr/bin/openbox'];

/** Height of tabs and toolbar. */
const windowFrameHeight = 87;
/**
 * Minimum width of a window with tabs: 500, and 520 for a moment after a tab is opened. A window that was kept at 520 then
 * stays there, wider than its display, until the next resize.
 */
const windowWidthMin = 520;

/** Size of a display that shows the whole page. */
export const displaySize = (page: { width: number; height: number }): { width: number; height: number } => ({
  width: Math.max(windowWidthMin, page.width),
  height: page.height + windowFrameHeight,
});

/** Size at start, for a page of 1280 × 720. */
export const initialDisplay = displaySize({ width: 1280, height: 720 });

/** Address space of the display server. Clients may request 16,000 × 16,000 pixels, which does not fit. */
const addressSpaceKilobytes = 768 * 1024;

/** No popups that wait for a person, and no window borders. */
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

/** Starts the display. Without a jail, its cookie keeps other users of the host out; od prints 16 bytes as its 36 characters. */
const script = `vnc=$1 profile=$2 preferences=$3 windows=$4
shift 4
# There is no message bus and no screen reader; GTK looks for both.
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
  exec setpriv --pdeathsig=KILL Xtigervnc -rfbunixpath "$vnc" ${serverFlags().join(' ')} \\
    -auth "$XAUTHORITY" -displayfd 5 3<&- 4<&- 5>"$TMPDIR/display"
) &
read -r number <"$TMPDIR/display" || exit 1
export DISPLAY=:$number
setpriv --pdeathsig=KILL /bin/sh -c 'openbox --sm-disable --config-file "$1"; kill -KILL "$2"' windows "$TMPDIR/windows.xml" $$ 3<&- 4<&- &
exec "$@"`;

function serverFlags(): string[] {
  return [
    ...['-geometry', `${initialDisplay.width}x${initialDisplay.height}`, '-depth', '24'],
    ...['-rfbport', '-1', '-rfbunixmode', '0600', '-nolisten', 'tcp', '-SecurityTypes', 'None'],
    // Any number of viewers, and no blacklist after clients that disconnect early.
    ...['-AlwaysShared', '-UseBlacklist=0'],
    // A selection is not copied until the user copies it.
    ...['-SendPrimary=0', '-SetPrimary=0'],
    // GLX takes 50 MB and half of the start, and the browser renders in software.
    ...['-extension', 'GLX', '-noreset', '-Log', "'*:stderr:0'"],
    // No screen saver.
    ...['-s', '0', '-dpms'],
  ];
}

/** Returns a command that starts the display and then executes `browser`. The socket is created at `vnc`. */
export function withDisplay(browser: string[], { vnc, profilePath }: { vnc: string; profilePath: string }): string[] {
  const windows = readFileSync(new URL('./openbox.xml', import.meta.url), 'utf8');
  return ['/bin/sh', '-c', script, 'display', vnc, profilePath, JSON.stringify(preferences), windows, ...browser];
}
