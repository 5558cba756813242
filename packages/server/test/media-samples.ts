/** The beginnings of files, long enough to be known by. */
const hex = (digits: string) => Buffer.from(digits.replaceAll(' ', ''), 'hex')

/** A whole picture of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export const MEDIA_SAMPLES: Record<string, Buffer> = {
  'image/png': PNG,
  'image/jpeg': hex('ffd8 ffe0 0010 4a46 4946 0001 0100 0001 0001 0000'),
  'image/gif': Buffer.concat([Buffer.from('GIF89a'), hex('0100 0100 8000 00ff ffff 0000 00')]),
  'image/webp': Buffer.concat([
    Buffer.from('RIFF'),
    hex('2400 0000'),
    Buffer.from('WEBPVP8 '),
    hex('1800 0000'),
  ]),
  'image/avif': Buffer.concat([hex('0000 001c'), Buffer.from('ftypavif'), hex('0000 0000')]),
  'image/jxl': hex('ff0a 0010 b013 0000 0000'),
  // Its directory is far behind the first bytes, as most writers put it.
  'image/tiff': Buffer.concat([hex('4949 2a00 0000 1000'), Buffer.alloc(5_000, 1)]),
  'video/mp4': Buffer.concat([
    hex('0000 0018'),
    Buffer.from('ftypisom'),
    hex('0000 0200'),
    Buffer.from('isommp42'),
  ]),
  'video/quicktime': Buffer.concat([hex('0000 0014'), Buffer.from('ftypqt  '), hex('0000 0000')]),
  'video/webm': hex(
    '1a45 dfa3 9f42 8681 0142 f781 0142 f281 0442 f381 0842 8284 7765 626d 4287 8104 4285 8102',
  ),
  'audio/mpeg': Buffer.concat([Buffer.from('ID3'), hex('0400 0000 0fff'), Buffer.alloc(5_000)]),
  'audio/wav': Buffer.concat([
    Buffer.from('RIFF'),
    hex('2400 0000'),
    Buffer.from('WAVEfmt '),
    hex('1000 0000'),
  ]),
  'audio/flac': Buffer.concat([Buffer.from('fLaC'), hex('0000 0022 1000 1000')]),
  'audio/ogg': Buffer.concat([
    Buffer.from('OggS'),
    hex('0002 0000 0000 0000 0000 0000 0000 0000 0000 0000 0000 0113'),
    Buffer.from('OpusHead'),
    hex('0102 3801'),
  ]),
  'model/gltf-binary': Buffer.concat([Buffer.from('glTF'), hex('0200 0000 0c00 0000')]),
}

/** What must not get in, whatever it is called. */
export const BAD_SAMPLES: Record<string, Buffer> = {
  'an HTML page': Buffer.from('<!doctype html><html><script>alert(1)</script></html>'),
  'an HTML page after blank lines': Buffer.from('\n\n  <html><body>404</body></html>'),
  'an SVG': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
  'an SVG after an XML declaration': Buffer.from(
    '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
  ),
  'an S3 error document': Buffer.from('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'),
  'a page in UTF-16': Buffer.from('\ufeff<html><script>alert(1)</script></html>', 'utf16le'),
  'a page that begins like a GIF': Buffer.from('GIF89a=1;/*<script>alert(1)</script>*/'),
  'a page that begins like a bitmap': Buffer.from('BM<html><script>alert(1)</script></html>'),
  'a page that begins like an AIFF': Buffer.from('FORM<html><script>alert(1)</script></html>'),
  'a shell script': Buffer.from('#!/bin/sh\nrm -rf /\n'),
  'a script': Buffer.from('fetch("/v1/tasks")'),
  'an error as JSON': Buffer.from('{"error":"not ready"}'),
  'a Windows program': Buffer.concat([Buffer.from('MZ'), hex('9000 0300 0000 0400 0000 ffff')]),
  'an ELF program': Buffer.concat([hex('7f'), Buffer.from('ELF'), hex('0201 0100 0000 0000 0000 0000')]),
  'a Mach-O program': hex('cffa edfe 0700 0001 0300 0000'),
  'a WebAssembly module': hex('0061 736d 0100 0000'),
  'a PDF': Buffer.concat([Buffer.from('%PDF-1.7\n%'), hex('e2e3 cfd3 0a00')]),
  'a Flash film': Buffer.concat([Buffer.from('FWS'), hex('0a00 0100 0078 0005')]),
  'a gzip file': hex('1f8b 0800 0000 0000 0003 4b4c 4a06 00c2 4124 3503 0000 00'),
  'a ZIP': Buffer.concat([Buffer.from('PK'), hex('0304 1400 0000 0000')]),
  'a font': Buffer.concat([Buffer.from('wOF2'), hex('0001 0000 0000 1000')]),
  'random bytes': hex('c3 28 a0 a1 e2 28 00 01 fe dc ba 98 76 54 32 10'),
  'nothing at all': Buffer.alloc(0),
}
