import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createSession, createViewToken, endSession, getSession, navigate, type SessionResponse } from '@berth/contract';
import type { Client } from '../harness.ts';
import { Service, eventually } from './service.ts';
import { startSite, type Site } from './site.ts';
import { Audience, elsewhere, seesColour, type Person } from './viewing.ts';
import { assertAt, dragFinger, type Spot } from './viewing-hands.ts';
import { Reports, blue, places, red, viewingPages } from './viewing-pages.ts';

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

describe('driving by hand', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let audience: Audience;
  let session: SessionResponse;
  let person: Person;
  before(async () => {
    site = await startSite({ pages: viewingPages(reports) });
    [service, audience] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } }), Audience.gather()]);
    client = service.client;
    session = (await client.call(createSession, { body: { start_url: `${site.url}/pad` } })).body;
    person = await drive(session);
    await person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  after(async () => {
    await audience?.leave();
    await service?.close();
    await site?.close();
  });

  const go = async (path: string): Promise<void> => {
    await client.call(navigate, { params: { session_id: session.session_id }, body: { url: site.url + path } });
    await person.page.getByRole('img', { name: /^Picture of/ }).waitFor();
  };
  const linkTo = async ({ session_id }: SessionResponse): Promise<string> =>
    (await client.call(createViewToken, { params: { session_id }, body: { scope: 'control' } })).body.url ?? '';
  const drive = async (driven: SessionResponse, options: object = {}): Promise<Person> => {
    const driver = await audience.person({ origin: service.url, ...options });
    await driver.open((await linkTo(driven)).replace(service.url, driver.origin));
    await driver.page.locator('canvas:visible').waitFor();
    await driver.page
      .getByRole('status')
      .filter({ hasText: /^Live$/ })
      .waitFor();
    return driver;
  };
  const picture = (who = person) => who.page.locator('canvas');
  /** Where a place of the session's page is in the person's window. */
  const at = async ({ x, y }: Spot, who = person, page = { width: 1280, height: 720 }): Promise<[x: number, y: number]> => {
    const box = await picture(who).boundingBox();
    assert.ok(box);
    return [box.x + (x * box.width) / page.width, box.y + (y * box.height) / page.height];
  };
  const clickAt = async (spot: Spot, options: object = {}): Promise<void> => person.page.mouse.click(...(await at(spot)), options);
  const typed = (value: string) => reports.heard('typed', { value });
  const address = () => person.page.getByRole('textbox', { name: 'Address' });
  const tab = (name: string) => person.page.getByRole('tab', { name });

  describe('on a page that tells what happens to it', () => {
    beforeEach(async () => {
      reports.forget();
      await go('/pad');
      await reports.heard('shown', { from: '/pad' });
      reports.forget();
    });

    it('looks as it should', async () => {
      await person.inspect('live-view-control');
      person.assertCalm();
    });

    it('clicks where the hand clicks, once and twice', async () => {
      await clickAt(places.button);
      const report = await reports.heard('click', { on: 'button' });
      assertAt(report, places.button);
      assert.deepEqual([report['button'], report['count']], [0, 1]);
      await person.page.mouse.dblclick(...(await at({ x: places.button.x + 30, y: places.button.y })));
      await reports.heard('dblclick', { on: 'button' });
    });

    it('opens the menu with the other button, and holds Shift and Control with a click', async () => {
      await clickAt(places.nothing, { button: 'right' });
      await reports.heard('contextmenu', { button: 2 });
      const { keyboard } = person.page;
      await clickAt(places.field);
      for (const [key, field] of [
        ['Shift', 'shift'],
        ['Control', 'ctrl'],
      ] as const) {
        await keyboard.down(key);
        await clickAt(places.button);
        await keyboard.up(key);
        await reports.heard('click', { on: 'button', [field]: true });
      }
    });

    it('selects words by a drag', async () => {
      const { mouse } = person.page;
      await mouse.move(...(await at(places.wordsFrom)));
      await mouse.down();
      await mouse.move(...(await at(places.wordsTo)), { steps: 8 });
      await mouse.up();
      await eventually('the words are selected', () => String(reports.last('selected')?.['text']).includes('that can be selected'));
    });

    it('turns the wheel over what is under the hand', async () => {
      await person.page.mouse.move(...(await at(places.scroller)));
      await person.page.mouse.wheel(0, 400);
      const { top } = await reports.heard('scrolled');
      assert.ok(Number(top) > 0);
    });

    it('types with Shift, shortcuts, and keys that another page would take for itself', async () => {
      const { keyboard } = person.page;
      await clickAt(places.field);
      await keyboard.type('Hello, World! (1+1)');
      await typed('Hello, World! (1+1)');
      await keyboard.type(' ä€漢');
      await typed('Hello, World! (1+1) ä€漢');
      await keyboard.press('Control+a');
      await reports.heard('key', { key: 'a', code: 'KeyA', ctrl: true });
      await keyboard.type('new');
      await typed('new');
      for (const key of ['Home', 'Shift+ArrowRight', 'Delete']) await keyboard.press(key);
      await typed('ew');
      await keyboard.press('Control+z');
      await typed('new');
      for (const key of ['Escape', 'Tab', 'F2', 'F5']) {
        await keyboard.press(key);
        await reports.heard('key', { key });
      }
      assert.equal(person.page.url(), `${service.url}/v1/session/${session.session_id}/live-view`);
    });

    it('gives the keyboard back with F6, and takes it again', async () => {
      const { keyboard } = person.page;
      await clickAt(places.field);
      const field = person.page.getByRole('textbox', { name: 'Keyboard of the page' });
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

    it('composes as an input method does, and settles', async () => {
      await clickAt(places.field);
      const devtools = await person.context.newCDPSession(person.page);
      for (const text of ['n', 'に', 'にほん'])
        await devtools.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
      await reports.heard('compositionupdate', { data: 'にほん' });
      await devtools.send('Input.insertText', { text: '日本' });
      await typed('日本');
      await reports.heard('compositionend', { data: '日本' });
      await devtools.detach();
      await person.page.keyboard.type('!');
      await typed('日本!');
    });

    it('pastes what the person has copied', async () => {
      const text = 'From my clipboard: <b>ü</b> 漢字 😀';
      await person.page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
      await clickAt(places.field);
      await person.page.keyboard.press('Control+v');
      await typed(text);
    });

    it('copies what is selected in the page to the person', async () => {
      await clickAt(places.field);
      await person.page.keyboard.type('to be copied');
      await typed('to be copied');
      await person.page.keyboard.press('Control+a');
      await person.page.keyboard.press('Control+c');
      const onClipboard = () => person.page.evaluate(() => navigator.clipboard.readText());
      await eventually('it is on the clipboard', async () => (await onClipboard()) === 'to be copied');
      await person.page.keyboard.press('Control+x');
      await typed('');
      person.assertCalm();
    });

    it('shows what was copied where the browser refuses the clipboard, and types from there', async () => {
      // What came unencrypted from another machine may not touch the clipboard at all.
      const shy = await drive(session, { origin: elsewhere(service.url) });
      assert.equal(await shy.page.evaluate(() => isSecureContext), false);
      await shy.page.mouse.click(...(await at(places.field, shy)));
      await shy.page.keyboard.type('refused');
      await typed('refused');
      await shy.page.keyboard.press('Control+a');
      await shy.page.keyboard.press('Control+c');
      const panel = shy.page.getByRole('dialog', { name: 'Clipboard' });
      await panel.waitFor();
      await eventually('the panel has it', async () => (await panel.getByLabel('Copied in the session').inputValue()) === 'refused');
      await shy.inspect('live-view-clipboard');
      await panel.getByLabel('Text for the session').fill('typed from the panel');
      await panel.getByRole('button', { name: 'Type into the page' }).click();
      await typed('typed from the panel');
      await shy.leave();
    });

    it('lets go of what was held when the person leaves', async () => {
      const guest = await drive(session);
      await guest.page.mouse.move(...(await at(places.button, guest)));
      await guest.page.mouse.down();
      await reports.heard('mousedown', { on: 'button' });
      await guest.leave();
      await reports.heard('mouseup');
    });

    it('drives by finger: a tap clicks, a drag scrolls, a long press opens the menu, the keyboard types', async () => {
      const guest = await drive(session, phone);
      await guest.inspect('live-view-control-phone');
      await guest.page.touchscreen.tap(...(await at(places.button, guest)));
      await reports.heard('click', { on: 'button' });
      await dragFinger(guest, await at(places.scroller, guest), -60);
      const { top } = await reports.heard('scrolled');
      assert.ok(Number(top) > 0);
      await guest.page.touchscreen.tap(...(await at(places.field, guest)));
      await reports.heard('click', { on: 'field' });
      await guest.page.getByRole('button', { name: 'Keyboard' }).tap();
      await guest.page.keyboard.insertText('by thumb');
      await typed('by thumb');
      await guest.page.keyboard.press('Backspace');
      await typed('by thum');
      const [x, y] = await at(places.nothing, guest);
      const devtools = await guest.context.newCDPSession(guest.page);
      await devtools.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
      await reports.heard('contextmenu');
      await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
      guest.assertCalm();
      await guest.leave();
    });
  });

  it('opens, shows and closes tabs', async () => {
    await go('/red');
    await seesColour(picture(), red);
    await person.page.getByRole('button', { name: 'New tab' }).click();
    await eventually('there are two', async () => (await person.page.getByRole('tab').count()) === 2);
    await address().fill(`${site.url}/blue`);
    await address().press('Enter');
    await seesColour(picture(), blue);
    await tab('Red').click();
    await seesColour(picture(), red);
    await person.inspect('live-view-control-tabs');
    await tab('Red').press('ArrowRight');
    await person.page.keyboard.press('Enter');
    await seesColour(picture(), blue);
    await person.page.keyboard.press('Delete');
    await eventually('one is left', async () => (await person.page.getByRole('tab').count()) === 1);
    await seesColour(picture(), red);
    person.assertCalm();
  });

  it('goes to an address, back, forward, and loads anew', async () => {
    await go('/red');
    await seesColour(picture(), red);
    await address().fill(site.url.replace('http://', '') + '/blue');
    await address().press('Enter');
    await seesColour(picture(), blue);
    await eventually('the field shows it', async () => (await address().inputValue()) === `${site.url}/blue`);
    await person.page.getByRole('button', { name: 'Back' }).click();
    await seesColour(picture(), red);
    await person.page.getByRole('button', { name: 'Forward' }).click();
    await seesColour(picture(), blue);
    reports.forget();
    await person.page.getByRole('button', { name: 'Reload' }).click();
    await reports.heard('shown', { from: '/blue' });
  });

  it('tells of an address that cannot be opened, and of one that is none', async () => {
    await go('/red');
    const told = (text: RegExp) => person.page.getByRole('status').filter({ hasText: text }).waitFor();
    for (const [entry, answer] of [
      ['http://no-such-host.invalid/', /dns_failed|could not be|not.*open|name/i],
      ['not an address', /no address/],
      ['file:///etc/passwd', /http:\/\/ or https:\/\//],
      ['javascript:alert(1)', /http:\/\/ or https:\/\//],
    ] as const) {
      await address().fill(entry);
      await address().press('Enter');
      await told(answer);
    }
    await person.inspect('live-view-control-failure');
    await go('/red');
    await seesColour(picture(), red);
    person.assertCalm();
  });

  it('gives the page the size of the window, and is where it was before with its clicks', async () => {
    await go('/pad');
    reports.forget();
    await person.page.getByRole('button', { name: 'Fit the page to my window' }).click();
    const { width, height } = await reports.heard('resized');
    const page = { width: Number(width), height: Number(height) };
    const space = await person.page.locator('#stage').boundingBox();
    assert.ok(
      space && Math.abs(space.width - page.width) <= 1 && Math.abs(space.height - page.height) <= 1,
      JSON.stringify({ space, page }),
    );
    await eventually('the picture fills it', async () => {
      const box = await picture().boundingBox();
      return box && Math.abs(box.width - page.width) <= 1 && Math.abs(box.height - page.height) <= 1;
    });
    await person.page.mouse.click(...(await at(places.button, person, page)));
    assertAt(await reports.heard('click', { on: 'button' }), places.button);
    const { viewport } = (await client.call(getSession, { params: { session_id: session.session_id } })).body;
    assert.ok(viewport.width > 0);
    person.assertCalm();
  });

  it('keeps a session alive as long as somebody drives it, and no longer', async () => {
    const short = (await client.call(createSession, { body: { start_url: `${site.url}/pad`, idle_timeout_seconds: 10 } })).body;
    const params = { session_id: short.session_id };
    const guest = await drive(short);
    const untilMs = Date.now() + 13_000;
    let step = 0;
    await eventually(
      'thirteen seconds have passed',
      async () => {
        step += 1;
        await guest.page.mouse.move(...(await at({ x: 300 + (step % 50), y: 600 }, guest)));
        return Date.now() >= untilMs;
      },
      30_000,
    );
    assert.equal((await client.call(getSession, { params })).body.status, 'ready');
    await guest.leave();
    await client.call(endSession, { params });
  });
});
