import { blend } from './canvas.ts'
import { type Color, mix, scale } from './color.ts'
import { clamp, smoothstep } from './curves.ts'
import { createRandom } from './noise.ts'
import { paintTree } from './paint-trees.ts'
import { atDistance } from './palettes.ts'
import type { View } from './view.ts'
import { visibleUntil } from './visible-until.ts'

const LAYERS = 6

/** Ranges one behind the other, each paler than the one before it, with mist between them. */
export function paintRidges(view: View, bottom: number): void {
  const { scene, horizon, canvas, unit } = view
  const isForest = scene.land === 'forest'
  const drop = Math.min(bottom, canvas.height) - horizon
  const crests = Array.from({ length: LAYERS }, (_, layer) => {
    const nearness = layer / (LAYERS - 1)
    const foot = horizon + drop * (0.04 + 0.92 * nearness ** 1.25)
    const tall = isForest
      ? unit * (15 - 5 * nearness)
      : unit * (layer === 0 ? 25 : layer === 1 ? 23 : 17 - 9 * nearness)
    return crestOf(view, layer, foot, tall)
  })
  const limits = visibleUntil(crests, Math.min(canvas.height, Math.ceil(bottom)))
  for (const [layer, crest] of crests.entries()) {
    const nearness = layer / (LAYERS - 1)
    const limit = limits[layer] as Float32Array
    const color = atDistance(view.palette, 0.88 - 0.86 * nearness ** 0.62)
    paintLayer(view, crest, { color, nearness, limit, isRock: layer < 3 && !isForest })
    const treeSize = isForest ? unit * (2 + 10 * nearness ** 1.7) : unit * (1.4 + 6.5 * nearness ** 2)
    if (isForest ? layer > 0 : layer > 2) plantTrees(view, crest, layer, treeSize, scale(color, 0.9))
  }
}

function crestOf(
  { canvas, noise, unit, scene }: View,
  layer: number,
  foot: number,
  tall: number,
): Float32Array {
  const crest = new Float32Array(canvas.width)
  const random = createRandom(scene.seed + layer * 101)
  const shift = random() * 200
  const isSharp = layer < 3 && scene.land !== 'forest'
  const broad = unit * (isSharp ? 46 - layer * 5 : 40)
  for (let x = 0; x < canvas.width; x++) {
    const u = x / broad + shift
    const height = isSharp
      ? noise.ridged(u, layer * 7.7, 6) ** 1.25 * 1.15
      : noise.fbm(u, layer * 3.3, 5) * 1.1 - 0.1
    crest[x] = foot - height * tall
  }
  return crest
}

interface Layer {
  color: Color
  nearness: number
  limit: Float32Array
  isRock: boolean
}

function paintLayer(view: View, crest: Float32Array, { color, nearness, limit, isRock }: Layer): void {
  const { canvas, palette, noise, unit, sun, scene } = view
  const hasSnow = isRock && (scene.land === 'snow' || scene.light !== 'night')
  const snowLine = scene.land === 'snow' ? unit * 16 : unit * 5.5
  const isSnowGround = scene.land === 'snow'
  const ground = isSnowGround
    ? mix(
        color,
        mix(palette.middle, [1, 1, 1], 0.6),
        (0.7 - 0.25 * nearness) * (scene.light === 'night' ? 0.5 : 1),
      )
    : color
  const lit = mix(ground, palette.light, 0.5 - 0.3 * nearness)
  const shade = scale(ground, isRock ? 0.8 : 0.86)
  const snowLit = mix(palette.light, [1, 1, 1], 0.4)
  const snowShade = mix(palette.haze, palette.zenith, 0.35)
  const slopes = slopesOf(crest, Math.round(unit * 2.2))
  let peak = Number.POSITIVE_INFINITY
  for (const y of crest) peak = Math.min(peak, y)

  for (let x = 0; x < canvas.width; x++) {
    const top = crest[x] as number
    // The side of the slope that looks to the sun.
    const side = clamp((sun.x - x) / (unit * 25), -1, 1)
    const slope = clamp(0.5 + (slopes[x] as number) * side * 0.55)
    for (let y = Math.max(0, Math.floor(top)); y < (limit[x] as number); y++) {
      const below = y - top
      const mist = (1 - nearness * 0.75) * smoothstep(0, unit * (20 + nearness * 14), below) * 0.8
      let tone: Color
      if (isRock) {
        // Gullies run down and outwards from the crest.
        const rock = noise.ridged((x + below * 0.5) / (unit * 8), (y + x * 0.2) / (unit * 9), 3)
        const facing = clamp(slope * 0.6 + (rock - 0.36) * 1.5)
        tone = mix(shade, lit, facing * 0.8)
        if (hasSnow) {
          const edge = (noise.fbm(x / (unit * 3), y / (unit * 3), 3) - 0.5) * unit * 9
          const amount = 1 - smoothstep(snowLine * 0.5, snowLine, y - peak + edge)
          tone = mix(tone, mix(snowShade, snowLit, facing), amount * (0.85 - 0.25 * nearness))
        }
      } else {
        const turf = noise.fbm(x / (unit * 3.5), y / (unit * 1.6), 2)
        const rim = Math.exp(-below / (unit * 1.8)) * 0.4 * (1 - nearness * 0.6)
        tone = mix(mix(shade, ground, 0.35 + turf * 0.65), lit, rim * (0.3 + slope))
      }
      blend(canvas, x, y, mix(tone, palette.haze, mist), y === Math.floor(top) ? 1 - (top - y) : 1)
    }
  }
}

/** How the crest rises over `reach` pixels to either side: a single step would streak the whole face below it. */
function slopesOf(crest: Float32Array, reach: number): Float32Array {
  const at = (x: number) => crest[clamp(x, 0, crest.length - 1)] as number
  return crest.map((_, x) => {
    let sum = 0
    for (let step = 1; step <= reach; step++) sum += (at(x - step) - at(x + step)) / (2 * step)
    return sum / reach
  })
}

function plantTrees(view: View, crest: Float32Array, layer: number, size: number, color: Color): void {
  const { canvas, scene, noise } = view
  const random = createRandom(scene.seed ^ (layer * 7919))
  const spacing = size * (scene.land === 'forest' ? 0.3 : 0.42)
  for (let x = -size; x < canvas.width + size; x += spacing * (0.5 + random())) {
    const thicket = noise.fbm(x / (size * 7), layer * 11.1, 2)
    const tall = size * (0.45 + random() * 0.75)
    if (scene.land !== 'forest' && thicket < 0.46) continue
    const column = clamp(Math.round(x), 0, canvas.width - 1)
    paintTree(
      canvas,
      x,
      (crest[column] as number) + size * 0.12,
      tall,
      scale(color, 0.85 + random() * 0.2),
      random,
    )
  }
}
