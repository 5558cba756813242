import { randomFillSync } from 'node:crypto'

/** Bytes that are a PNG as far as anybody looks, of exactly this size (at least 64), and different each time. */
export function makePicture(bytes = 2_000): Buffer {
  const picture = randomFillSync(Buffer.alloc(bytes))
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).copy(picture)
  picture.writeUInt32BE(13, 8)
  picture.write('IHDR', 12, 'latin1')
  // After the header's 13 bytes and their checksum: the pixels, up to the end.
  picture.writeUInt32BE(bytes - 45, 33)
  picture.write('IDAT', 37, 'latin1')
  return picture
}
