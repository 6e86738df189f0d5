/** Opens a link of this service in a new tab, which is opened at once: later, browsers would take it for a pop-up. */
export async function openLink(create: () => Promise<string | null>): Promise<void> {
  const tab = window.open('about:blank', '_blank');
  try {
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
