import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { domainOfHost, domainOf, pageOf } from './domains.ts';

describe('domainOf', () => {
  it('domainOf gives the registrable domain, and the host where there is none', () => {
    const domains = {
      'https://www.shop.example.co.uk:8443/a?b': 'example.co.uk',
      'https://anna.github.io/': 'anna.github.io',
      'http://EXAMPLE.com./': 'example.com',
      'http://bücher.de/': 'xn--bcher-kva.de',
      'http://localhost:3000/': 'localhost',
      'http://127.0.0.1:8080/': '127.0.0.1',
      'http://[::1]:8080/': '::1',
      'about:blank': '',
      'no address': '',
    };
    for (const [address, domain] of Object.entries(domains)) assert.equal(domainOf(address), domain, address);
  });
});

describe('domainOfHost', () => {
  it('domainOfHost accepts host names and IP addresses', () => {
    const domains = {
      'www.example.com': 'example.com',
      'Example.COM': 'example.com',
      '::1': '::1',
      '127.0.0.1': '127.0.0.1',
      'bücher.de': 'xn--bcher-kva.de',
    };
    for (const [host, domain] of Object.entries(domains)) assert.equal(domainOfHost(host), domain, host);
  });
});

describe('pageOf', () => {
  it('pageOf leaves out credentials, query and fragment', () => {
    assert.equal(pageOf('https://anna:secret@example.com/a/b?token=secret#secret'), 'https://example.com/a/b');
  });

  it('pageOf returns an empty text for an invalid URL, and cuts a long one', () => {
    assert.equal(pageOf('//secret'), '');
    assert.equal(pageOf(`https://example.com/${'a'.repeat(9000)}`).length, 2048);
  });
});
