import { crc32, inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toBytes } from './canvas.ts'
import { drawPicture } from './draw-picture.ts'
import { encodePng } from './encode-png.ts'
import { sceneOfPrompt } from './scene-of-prompt.ts'

const LANDS = ['mountains', 'snow', 'forest', 'sea', 'city', 'desert', 'space'] as const
const LIGHTS = ['dawn', 'day', 'sunset', 'dusk', 'night'] as const

test.each(LANDS.flatMap((land) => LIGHTS.map((light) => [land, light] as const)))(
  'a picture of %s at %s has no holes and is not flat',
  (land, light) => {
    const scene = sceneOfPrompt(`${land} at ${light}, boat, balloons, lighthouse, aurora and birds`, 0)
    const canvas = drawPicture({ ...scene, land, light }, 96, 64, 0)
    expect(canvas.data.every((value) => Number.isFinite(value))).toBe(true)
    const levels = new Set(toBytes(canvas, { grain: 0 }))
    expect(levels.size).toBeGreaterThan(40)
  },
)

test('words choose what is drawn', () => {
  const seen = (prompt: string) => {
    const { land, light, extras } = sceneOfPrompt(prompt, 0)
    return { land, light, extras }
  }
  expect(seen('City skyline at night')).toMatchObject({ land: 'city', light: 'night' })
  expect(seen('a lighthouse in the morning mist')).toMatchObject({
    land: 'sea',
    light: 'dawn',
    extras: { lighthouse: true },
  })
  expect(seen('Desert at sunset')).toMatchObject({ land: 'desert', light: 'sunset' })
  expect(seen('northern lights')).toMatchObject({ light: 'night', extras: { aurora: true } })
  expect(sceneOfPrompt('a red cat', 0).tint).not.toBeNull()
})

test('any prompt has a scene, the same one every time', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(3), (prompt, variant) => {
      const scene = sceneOfPrompt(prompt, variant)
      expect(sceneOfPrompt(prompt, variant)).toEqual(scene)
      expect(LANDS).toContain(scene.land)
      expect(LIGHTS).toContain(scene.light)
    }),
  )
})

test('the variants of a prompt differ', () => {
  const bytes = (variant: number) =>
    Buffer.from(toBytes(drawPicture(sceneOfPrompt('a cat', variant), 48, 48, 0), { grain: 0 }))
  expect(bytes(0).equals(bytes(1))).toBe(false)
})

test('a PNG holds exactly the pixels that went in', () => {
  const width = 5
  const height = 4
  const pixels = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 37) % 256)
  const png = Buffer.from(encodePng(pixels, width, height))
  const dataAt = png.indexOf('IDAT')
  const length = png.readUInt32BE(dataAt - 4)
  const rows = inflateSync(png.subarray(dataAt + 4, dataAt + 4 + length))
  const decoded: number[] = []
  for (let y = 0; y < height; y++) {
    expect(rows[y * 16]).toBe(2)
    for (let i = 0; i < 15; i++) {
      const above = y > 0 ? (decoded[(y - 1) * 15 + i] ?? 0) : 0
      decoded.push(((rows[y * 16 + 1 + i] ?? 0) + above) % 256)
    }
  }
  expect(decoded).toEqual([...pixels])
  expect(png.readUInt32BE(dataAt + 4 + length)).toBe(crc32(png.subarray(dataAt, dataAt + 4 + length)))
})
