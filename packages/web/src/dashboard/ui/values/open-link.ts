/**
 * Opens a link of this service in a new tab, which is opened at once: later, browsers would take it for a pop-up. A tab that
 * is opened by a page begins with a copy of its session storage, in which the credentials of this tab may be: it is emptied,
 * so that the new tab has what the link gives it, and nothing else.
 */
export async function openLink(create: () => Promise<string | null>): Promise<void> {
  const tab = window.open('about:blank', '_blank');
  try {
    tab?.sessionStorage.clear();
    const address = await create();
    if (!tab) throw new Error('The browser does not allow this page to open a tab. Allow pop-ups for it.');
    tab.opener = null;
    if (address === null) throw new Error('The link was created before. Try again.');
    tab.location.replace(address);
  } catch (error) {
    tab?.close();
    throw error;
  }
}
