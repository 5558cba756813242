import { crc32, deflateSync } from 'node:zlib'

/** An 8-bit RGB PNG of `width × height × 3` bytes. */
export function encodePng(pixels: Uint8Array, width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits per channel, colour type 2 (RGB); compression, filter method and interlace are 0.
  header.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(filterRows(pixels, width, height), { level: 4 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Each row as its difference to the row above (filter 2), which suits pictures made of soft gradients. */
function filterRows(pixels: Uint8Array, width: number, height: number): Uint8Array {
  const stride = width * 3
  const rows = new Uint8Array((stride + 1) * height)
  for (let y = 0; y < height; y++) {
    const to = y * (stride + 1)
    const from = y * stride
    rows[to] = 2
    for (let i = 0; i < stride; i++) {
      const above = y > 0 ? (pixels[from - stride + i] ?? 0) : 0
      rows[to + 1 + i] = (pixels[from + i] ?? 0) - above
    }
  }
  return rows
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(body, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
