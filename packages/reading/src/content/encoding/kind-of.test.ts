import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kindOf } from '../content.ts';

const nothing = Buffer.alloc(0);

describe('the kind of a body', () => {
  it('the kind of a body is the declared one', () => {
    const kinds = {
      'text/html; charset=utf-8': 'html',
      'application/xhtml+xml': 'html',
      'application/json': 'json',
      'application/ld+json; a=b': 'json',
      'text/plain': 'text',
      'application/rss+xml': 'text',
      'application/javascript': 'text',
      'application/pdf': 'pdf',
      'IMAGE/PNG': 'image',
      'image/svg+xml': 'text',
      'application/zip': 'binary',
      'video/mp4': 'binary',
    };
    for (const [type, kind] of Object.entries(kinds)) assert.equal(kindOf(type, Buffer.from('<html>')), kind, type);
  });

  it('the kind of a body is sniffed when the type is missing, generic or invalid', () => {
    const kinds: [string | Buffer, string][] = [
      ['  \n<!DOCTYPE html><p>', 'html'],
      ['\ufeff<html>', 'html'],
      ['<!-- a --><p>', 'html'],
      [Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<html>', 'utf16le')]), 'html'],
      ['{"a": 1}', 'json'],
      ['[1, 2]', 'json'],
      ['{not json}', 'text'],
      ['hello', 'text'],
      ['', 'text'],
      ['%PDF-1.7', 'pdf'],
      [Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'image'],
      [Buffer.from('RIFF\0\0\0\0WEBPVP8', 'latin1'), 'image'],
      [Buffer.from('PK\x03\x04', 'latin1'), 'binary'],
    ];
    for (const type of [null, '', 'application/octet-stream', 'html'])
      for (const [head, kind] of kinds) assert.equal(kindOf(type, Buffer.from(head as string)), kind, `${type} ${JSON.stringify(head)}`);
    assert.equal(kindOf('text/plain', nothing), 'text');
  });
});
