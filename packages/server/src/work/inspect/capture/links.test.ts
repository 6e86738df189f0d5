import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LinkQueue } from './links.ts';

it('links that sign out or delete are not visited, by their path or their query', () => {
  const links = new LinkQueue({ depth: 1, max_pages: 10 });
  const paths = ['/a', '/user_logout', '/delete_account', '/?action=logout', '/cart?remove_item=5', '/b?page=2'];
  links.add(
    paths.map((path) => `https://site.test${path}`),
    'https://site.test/',
  );
  assert.deepEqual([links.next(), links.next(), links.next()], ['https://site.test/a', 'https://site.test/b?page=2', null]);
});
