import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSession, createViewToken, getSession, navigate, type SessionResponse } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { Service, eventually } from '../service.ts';
import { startSite, type Site } from '../site.ts';
import { ViewerBrowser, remoteUrl, waitForColour, type Viewer } from './viewing.ts';
import { assertAt, dragFinger, type Spot } from './viewing-input.ts';
import { Reports, blue, centers, red, viewingPages } from './viewing-pages.ts';

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

describe('remote input', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let viewers: ViewerBrowser;
  let session: SessionResponse;
  let viewer: Viewer;
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    [service, viewers] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } }), ViewerBrowser.launch()]);
    client = service.client;
    session = (await client.call(createSession, { body: { start_url: `${site.url}/pad` } })).body;
    viewer = await drive(session);
    await viewer.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  after(async () => {
    await viewers?.close();
    await service?.close();
    await site?.close();
  });

  const go = async (path: string): Promise<void> => {
    await client.call(navigate, { params: { session_id: session.session_id }, body: { url: site.url + path } });
    await viewer.page.getByRole('img', { name: /^Picture of/ }).waitFor();
  };
  const linkTo = async ({ session_id }: SessionResponse): Promise<string> =>
    (await client.call(createViewToken, { params: { session_id }, body: { scope: 'control' } })).body.url ?? '';
  const drive = async (driven: SessionResponse, options: object = {}): Promise<Viewer> => {
    const driver = await viewers.newViewer({ origin: service.url, ...options });
    await driver.open((await linkTo(driven)).replace(service.url, driver.origin));
    await driver.page.locator('canvas:visible').waitFor();
    await driver.page
      .getByRole('status')
      .filter({ hasText: /^Live$/ })
      .waitFor();
    return driver;
  };
  const picture = (who = viewer) => who.page.locator('canvas');
  /** Maps a point of the session's page to the viewer's window. */
  const at = async ({ x, y }: Spot, who = viewer, page = { width: 1280, height: 720 }): Promise<[x: number, y: number]> => {
    const box = await picture(who).boundingBox();
    assert.ok(box);
    return [box.x + (x * box.width) / page.width, box.y + (y * box.height) / page.height];
  };
  const clickAt = async (spot: Spot, options: object = {}): Promise<void> => viewer.page.mouse.click(...(await at(spot)), options);
  const typed = (value: string) => reports.waitFor('typed', { value });
  const address = () => viewer.page.getByRole('textbox', { name: 'Address' });
  const tab = (name: string) => viewer.page.getByRole('tab', { name });

  describe('on a page that reports its events', () => {
    beforeEach(async () => {
      reports.clear();
      await go('/pad');
      await reports.waitFor('shown', { from: '/pad' });
      reports.clear();
    });

    it("the live view's control page has the expected layout", async () => {
      await viewer.inspect('live-view-control');
      viewer.assertNoIssues();
    });

    it('remote input sends clicks and double clicks at the pointer’s position', async () => {
      await clickAt(centers.button);
      const report = await reports.waitFor('click', { on: 'button' });
      assertAt(report, centers.button);
      assert.deepEqual([report['button'], report['count']], [0, 1]);
      await viewer.page.mouse.dblclick(...(await at({ x: centers.button.x + 30, y: centers.button.y })));
      await reports.waitFor('dblclick', { on: 'button' });
    });

    it('remote input sends right clicks, and clicks with Shift and Control', async () => {
      await clickAt(centers.nothing, { button: 'right' });
      await reports.waitFor('contextmenu', { button: 2 });
      const { keyboard } = viewer.page;
      await clickAt(centers.field);
      for (const [key, field] of [
        ['Shift', 'shift'],
        ['Control', 'ctrl'],
      ] as const) {
        await keyboard.down(key);
        await clickAt(centers.button);
        await keyboard.up(key);
        await reports.waitFor('click', { on: 'button', [field]: true });
      }
    });

    it('remote input selects text by dragging', nightly, async () => {
      const { mouse } = viewer.page;
      await mouse.move(...(await at(centers.textStart)));
      await mouse.down();
      await mouse.move(...(await at(centers.textEnd)), { steps: 8 });
      await mouse.up();
      await eventually('the text is selected', () => String(reports.last('selected')?.['text']).includes('that can be selected'));
    });

    it('remote input scrolls the element under the pointer', async () => {
      await viewer.page.mouse.move(...(await at(centers.scroller)));
      await viewer.page.mouse.wheel(0, 400);
      const { top } = await reports.waitFor('scrolled');
      assert.ok(Number(top) > 0);
    });

    it('remote input sends Shift, shortcuts and keys that browsers usually reserve', async () => {
      const { keyboard } = viewer.page;
      await clickAt(centers.field);
      await keyboard.type('Hello, World! (1+1)');
      await typed('Hello, World! (1+1)');
      await keyboard.type(' ä€漢');
      await typed('Hello, World! (1+1) ä€漢');
      await keyboard.press('Control+a');
      await reports.waitFor('key', { key: 'a', code: 'KeyA', ctrl: true });
      await keyboard.type('new');
      await typed('new');
      for (const key of ['Home', 'Shift+ArrowRight', 'Delete']) await keyboard.press(key);
      await typed('ew');
      await keyboard.press('Control+z');
      await typed('new');
      for (const key of ['Escape', 'Tab', 'F2', 'F5']) {
        await keyboard.press(key);
        await reports.waitFor('key', { key });
      }
      assert.equal(viewer.page.url(), `${service.url}/v1/session/${session.session_id}/live-view`);
    });

    it('remote input releases and captures the keyboard with F6', nightly, async () => {
      const { keyboard } = viewer.page;
      await clickAt(centers.field);
      const field = viewer.page.getByRole('textbox', { name: 'Keyboard of the page' });
      assert.equal(await field.evaluate((element) => element === document.activeElement), true);
      await keyboard.press('F6');
      assert.equal(await field.evaluate((element) => element === document.activeElement), false);
      await keyboard.press('F6');
      assert.equal(await field.evaluate((element) => element === document.activeElement), true);
      await keyboard.type('again');
      await typed('again');
      assert.deepEqual(
        reports.all.filter(({ key }) => key === 'F6'),
        [],
      );
    });

    it('remote input sends input method compositions', async () => {
      await clickAt(centers.field);
      const devtools = await viewer.context.newCDPSession(viewer.page);
      for (const text of ['n', 'に', 'にほん'])
        await devtools.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
      await reports.waitFor('compositionupdate', { data: 'にほん' });
      await devtools.send('Input.insertText', { text: '日本' });
      await typed('日本');
      await reports.waitFor('compositionend', { data: '日本' });
      await devtools.detach();
      await viewer.page.keyboard.type('!');
      await typed('日本!');
    });

    it('remote input pastes the viewer’s clipboard', async () => {
      const text = 'From my clipboard: <b>ü</b> 漢字 😀';
      await viewer.page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
      await clickAt(centers.field);
      await viewer.page.keyboard.press('Control+v');
      await typed(text);
    });

    it('remote input copies the page’s selection to the viewer’s clipboard', async () => {
      await clickAt(centers.field);
      await viewer.page.keyboard.type('to be copied');
      await typed('to be copied');
      await viewer.page.keyboard.press('Control+a');
      await viewer.page.keyboard.press('Control+c');
      const onClipboard = () => viewer.page.evaluate(() => navigator.clipboard.readText());
      await eventually('it is on the clipboard', async () => (await onClipboard()) === 'to be copied');
      await viewer.page.keyboard.press('Control+x');
      await typed('');
      viewer.assertNoIssues();
    });

    it('remote input shows copied text when the clipboard is unavailable, and pastes from a text field', nightly, async () => {
      // Pages without TLS from another machine have no clipboard access.
      const shy = await drive(session, { origin: remoteUrl(service.url) });
      assert.equal(await shy.page.evaluate(() => isSecureContext), false);
      await shy.page.mouse.click(...(await at(centers.field, shy)));
      await shy.page.keyboard.type('refused');
      await typed('refused');
      await shy.page.keyboard.press('Control+a');
      await shy.page.keyboard.press('Control+c');
      const panel = shy.page.getByRole('dialog', { name: 'Clipboard' });
      await panel.waitFor();
      await eventually('the panel shows it', async () => (await panel.getByLabel('Copied in the session').inputValue()) === 'refused');
      await shy.inspect('live-view-clipboard');
      await panel.getByLabel('Text for the session').fill('typed from the panel');
      await panel.getByRole('button', { name: 'Type into the page' }).click();
      await typed('typed from the panel');
      await shy.close();
    });

    it('remote input releases held keys and buttons on disconnect', async () => {
      const guest = await drive(session);
      await guest.page.mouse.move(...(await at(centers.button, guest)));
      await guest.page.mouse.down();
      await reports.waitFor('mousedown', { on: 'button' });
      await guest.close();
      await reports.waitFor('mouseup');
    });

    it('remote input maps touch: a tap clicks, a drag scrolls, a long press opens the menu, the keyboard types', async () => {
      const guest = await drive(session, phone);
      await guest.inspect('live-view-control-phone');
      await guest.page.touchscreen.tap(...(await at(centers.button, guest)));
      await reports.waitFor('click', { on: 'button' });
      await dragFinger(guest, await at(centers.scroller, guest), -60);
      const { top } = await reports.waitFor('scrolled');
      assert.ok(Number(top) > 0);
      await guest.page.touchscreen.tap(...(await at(centers.field, guest)));
      await reports.waitFor('click', { on: 'field' });
      await guest.page.getByRole('button', { name: 'Keyboard' }).tap();
      await guest.page.keyboard.insertText('by thumb');
      await typed('by thumb');
      await guest.page.keyboard.press('Backspace');
      await typed('by thum');
      const [x, y] = await at(centers.nothing, guest);
      const devtools = await guest.context.newCDPSession(guest.page);
      await devtools.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
      await reports.waitFor('contextmenu');
      await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
      guest.assertNoIssues();
      await guest.close();
    });
  });

  it('remote input opens, activates and closes tabs', async () => {
    await go('/red');
    await waitForColour(picture(), red);
    const before = await tab('Red').boundingBox();
    await viewer.page.getByRole('button', { name: 'New tab' }).click();
    await eventually('there are two', async () => (await viewer.page.getByRole('tab').count()) === 2);
    assert.deepEqual(await tab('Red').boundingBox(), before, 'a click that was meant for it could close it');
    await address().fill(`${site.url}/blue`);
    await address().press('Enter');
    await waitForColour(picture(), blue);
    assert.deepEqual(await tab('Red').boundingBox(), before);
    await tab('Red').click();
    await waitForColour(picture(), red);
    await viewer.inspect('live-view-control-tabs');
    await tab('Red').press('ArrowRight');
    await viewer.page.keyboard.press('Enter');
    await waitForColour(picture(), blue);
    await viewer.page.keyboard.press('Delete');
    await eventually('one remains', async () => (await viewer.page.getByRole('tab').count()) === 1);
    await waitForColour(picture(), red);
    viewer.assertNoIssues();
  });

  it('remote input navigates, goes back and forward, and reloads', async () => {
    await go('/red');
    await waitForColour(picture(), red);
    await address().fill(site.url.replace('http://', '') + '/blue');
    await address().press('Enter');
    await waitForColour(picture(), blue);
    await eventually('the field shows it', async () => (await address().inputValue()) === `${site.url}/blue`);
    await viewer.page.getByRole('button', { name: 'Back' }).click();
    await waitForColour(picture(), red);
    await viewer.page.getByRole('button', { name: 'Forward' }).click();
    await waitForColour(picture(), blue);
    reports.clear();
    await viewer.page.getByRole('button', { name: 'Reload' }).click();
    await reports.waitFor('shown', { from: '/blue' });
  });

  it('remote input reports an unreachable and an invalid address', nightly, async () => {
    await go('/red');
    const reported = (text: RegExp) => viewer.page.getByRole('status').filter({ hasText: text }).waitFor();
    await address().fill('http://no-such-host.invalid/');
    await address().press('Enter');
    // Where no server answers names, they cannot be resolved in time.
    await viewer.page
      .getByRole('heading', { name: /^This (site cannot be found|site does not respond|page could not be loaded)$/ })
      .waitFor()
      .catch(async (cause: unknown) => {
        throw new Error(`${await address().inputValue()}: ${await viewer.page.locator('body').innerText()}`, { cause });
      });
    for (const [entry, answer] of [
      ['not an address', /not a valid address/],
      ['file:///etc/passwd', /http:\/\/ or https:\/\//],
      ['javascript:alert(1)', /http:\/\/ or https:\/\//],
    ] as const) {
      await address().fill(entry);
      await address().press('Enter');
      await reported(answer);
    }
    await viewer.inspect('live-view-control-failure');
    await go('/red');
    await waitForColour(picture(), red);
    viewer.assertNoIssues();
  });

  it('remote input resizes the page to the window and keeps click positions correct', nightly, async () => {
    await go('/pad');
    reports.clear();
    await viewer.page.getByRole('button', { name: 'Fit the page to my window' }).click();
    const { width, height } = await reports.waitFor('resized');
    const page = { width: Number(width), height: Number(height) };
    const space = await viewer.page.locator('#stage').boundingBox();
    assert.ok(
      space && Math.abs(space.width - page.width) <= 1 && Math.abs(space.height - page.height) <= 1,
      JSON.stringify({ space, page }),
    );
    await eventually('the picture fills the window', async () => {
      const box = await picture().boundingBox();
      return box && Math.abs(box.width - page.width) <= 1 && Math.abs(box.height - page.height) <= 1;
    });
    await viewer.page.mouse.click(...(await at(centers.button, viewer, page)));
    assertAt(await reports.waitFor('click', { on: 'button' }), centers.button);
    const { viewport } = (await client.call(getSession, { params: { session_id: session.session_id } })).body;
    assert.ok(viewport.width > 0);
    viewer.assertNoIssues();
  });

  it('remote input resets the idle timer, which watching does not', nightly, async () => {
    const activityMs = async (): Promise<number> =>
      Date.parse((await client.call(getSession, { params: { session_id: session.session_id } })).body.last_activity_at);
    await go('/pad');
    const before = await activityMs();
    await sleep(1000);
    const watched = (await activityMs()) - before;
    assert.ok(watched < 500, `it was active for ${watched} ms while it was only watched`);
    await viewer.page.mouse.move(...(await at({ x: 300, y: 600 })));
    await eventually('input is activity', async () => (await activityMs()) - before > 900);
  });
});
