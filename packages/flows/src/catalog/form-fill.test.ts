import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { launch, settings, type Launched } from '@berth/devtools/testing/launch.ts';
import { call } from '@berth/devtools/testing/on-page.ts';
import type { FormField } from '@berth/page-scripts/act/forms.ts';
import { flowScripts } from '../page-scripts.ts';
import { findControl } from './form-fill.ts';

const form = `<!doctype html><form>
  <fieldset><legend>Shipping: *</legend>
    <label><input type=radio name=ship value=std id=standard checked> Standard</label>
    <input type=radio name=ship value=exp id=express><label for=express>Express</label></fieldset>
  <p id=q>Size of <b>shirt</b></p><div role=radiogroup aria-labelledby=q>
    <div role=radio aria-checked=false tabindex=0 id=small>Small</div><div role=radio aria-checked=false tabindex=0 id=large>Large</div></div>
  <div role=radiogroup aria-label=Colour><input type=radio name=c value=red id=red aria-label=Red><input type=radio name=c value=blue id=blue aria-label=Blue></div>
  <fieldset><legend>Express</legend><input name=note id=note aria-label=Note></fieldset></form>`;

let launched: Launched;
before(async () => {
  launched = await launch();
  await launched.browser.prepare(settings());
});
after(() => launched.end());

it('the form-fill flow finds a radio button by its legend or group and by its label or value', async () => {
  const page = launched.browser.page(launched.browser.activeTab().tabId);
  const url = `data:text/html,${encodeURIComponent(form)}`;
  await page.navigate({ url, waitUntil: 'load', timeoutMs: 20_000 }, call());
  const controls = await page.call<FormField[]>(page.mainFrame(), flowScripts.listFields, [100], call());
  const selectorOf = (key: string, value: string | boolean): string | undefined => findControl(controls, key, value)?.selector;
  const idOf = async (key: string, value: string | boolean): Promise<string | undefined> => {
    const selector = selectorOf(key, value);
    if (selector === undefined) return undefined;
    return page.call<string>(page.mainFrame(), '(css) => document.querySelector(css).id', [selector], call());
  };
  const wanted: [string, string | boolean, string | undefined][] = [
    ['Shipping', 'Express', 'express'],
    ['shipping:', 'exp', 'express'],
    ['ship', 'Standard', 'standard'],
    ['Size of shirt', 'large', 'large'],
    ['Colour', 'Blue', 'blue'],
    ['c', 'red', 'red'],
    ['Shipping', 'By boat', undefined],
    ['Express', true, 'express'],
    ['Note', 'Good day', 'note'],
  ];
  for (const [key, value, id] of wanted) assert.equal(await idOf(key, value), id, `${key}: ${value}`);
});
