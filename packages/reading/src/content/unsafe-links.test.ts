import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isUnsafeLink } from './unsafe-links.ts';

it('links that sign out, delete or change something are unsafe, however they are written', () => {
  for (const path of [
    ...[
      '/logout',
      '/log-out',
      '/log_off',
      '/sign.out',
      '/signoff/',
      '/user_logout',
      '/doLogout',
      '/account/logout.php',
      '/oauth2/end_session',
    ],
    ...['/delete_account', '/deleteAccount', '/remove_item', '/cart/remove/5', '/items/5/delete', '/unsubscribe;id=5', '/orders/5/cancel'],
    ...['/?action=logout', '/index.php?do=delete&id=5', '/item?id=5&delete=1', '/wp-login.php?action=logout&_wpnonce=1', '/?remove-item=5'],
    ...['/shop/?add-to-cart=5', '/go?next=%2Flogout', '/mail?op=opt_out'],
  ])
    assert.equal(isUnsafeLink(`https://shop.test${path}`), true, path);
});

it('links whose words only resemble those of unsafe links are safe', () => {
  for (const path of [
    '/',
    '/login',
    '/blog/logoutput',
    '/removeable-media',
    '/cancellation-policy',
    '/undeleted',
    '/catalogue',
    '/cart',
    '/?q=lamp#delete',
  ])
    assert.equal(isUnsafeLink(`https://delete.test${path}`), false, path);
});
