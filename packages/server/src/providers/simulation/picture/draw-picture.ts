import { type Canvas, createCanvas, fillShape } from './canvas.ts'
import { createNoise, createRandom } from './noise.ts'
import { paintCity } from './paint-city.ts'
import { paintDesert } from './paint-desert.ts'
import { paintBalloons, paintBirds, paintBoat, paintLighthouse } from './paint-extras.ts'
import { paintRidges } from './paint-ridges.ts'
import { paintSky } from './paint-sky.ts'
import { paintSpace } from './paint-space.ts'
import { paintTree } from './paint-trees.ts'
import { bankColor, paintWater } from './paint-water.ts'
import { paletteFor } from './palettes.ts'
import type { Scene } from './scene-of-prompt.ts'
import type { View } from './view.ts'

/** Paints a scene from back to front. The same scene, size and time always give the same picture. */
export function drawPicture(scene: Scene, width: number, height: number, time: number): Canvas {
  const random = createRandom(scene.seed ^ 0x91c7)
  const palette = paletteFor(scene.light, random(), scene.tint)
  const unit = Math.min(width, height) / 100
  const horizon =
    height * (scene.land === 'sea' ? 0.54 : scene.land === 'city' ? 0.66 : 0.52 + random() * 0.06)
  const isLow = scene.light === 'sunset' || scene.light === 'dawn'
  const view: View = {
    canvas: createCanvas(width, height),
    scene,
    palette,
    noise: createNoise(scene.seed),
    unit,
    horizon,
    sun: {
      x: width * (0.2 + 0.6 * random()) + time * unit * 0.5,
      y:
        horizon -
        unit * (isLow ? 11 + random() * 10 : 24 + random() * 14) +
        time * unit * (isLow ? 0.7 : -0.4),
      radius: unit * (isLow ? 4.6 : scene.light === 'day' ? 3 : 3.6),
    },
    time,
  }
  if (scene.land === 'space') {
    paintSpace(view)
    return view.canvas
  }
  paintSky(view)
  paintLand(view)
  if (scene.extras.balloons) paintBalloons(view)
  if (scene.extras.birds && scene.land !== 'city') paintBirds(view)
  return view.canvas
}

function paintLand(view: View): void {
  const { scene, horizon, canvas, unit } = view
  switch (scene.land) {
    case 'desert': {
      paintDesert(view)
      return
    }
    case 'sea': {
      if (scene.extras.lighthouse) paintLighthouse(view, horizon)
      else paintIslands(view)
      paintWater(view, horizon, 1)
      if (scene.extras.boat) paintBoat(view, horizon)
      return
    }
    case 'city': {
      const ground = horizon + unit * 6
      paintCity(view, ground)
      paintWater(view, ground, 0.6)
      return
    }
    default: {
      const shore = scene.lake ? horizon + (canvas.height - horizon) * 0.42 : canvas.height
      paintRidges(view, shore)
      if (scene.lake) paintWater(view, shore, 0.3)
      paintBank(view)
    }
  }
}

/** Low land at the edge of the sea. */
function paintIslands({ canvas, palette, noise, horizon, unit, scene }: View): void {
  const random = createRandom(scene.seed ^ 0x151a)
  for (let island = 0; island < 3; island++) {
    const cx = canvas.width * random()
    const half = unit * (16 + random() * 26)
    const tall = unit * (3 + random() * 7)
    const shift = random() * 60
    const far = 0.75 - island * 0.2
    const color = [0, 1, 2].map(
      (c) => (palette.near[c] as number) * (1 - far) + (palette.haze[c] as number) * far,
    ) as [number, number, number]
    fillShape(
      canvas,
      { left: cx - half, right: cx + half, top: horizon - tall * 1.5, bottom: horizon },
      color,
      (x, y) => {
        const out = Math.abs(x - cx) / half
        if (out > 1) return -1
        const crest = tall * (1 - out * out) * (0.35 + noise.fbm(x / (unit * 9) + shift, 2.2, 5))
        return y - (horizon - crest)
      },
    )
  }
}

/** Grass and a few trees at the viewer's side of the lake. */
function paintBank(view: View): void {
  const { canvas, noise, unit, scene } = view
  const random = createRandom(scene.seed ^ 0xba2c)
  const color = bankColor(view)
  const isLeft = random() < 0.5
  const { width, height } = canvas
  const rise = (x: number) => {
    const side = isLeft ? 1 - x / width : x / width
    return unit * (-3 + 17 * side ** 2.2) + noise.fbm(x / (unit * 10), 71, 4) * unit * 4
  }
  fillShape(canvas, { left: 0, right: width, top: height - unit * 24, bottom: height }, color, (x, y) => {
    const grass = noise.at(x / (unit * 0.32), 90) ** 2 * unit * 1.7
    return y - (height - rise(x) - grass)
  })
  for (let tree = 0; tree < 9; tree++) {
    const along = random() ** 1.6 * 0.42
    const x = width * (isLeft ? along : 1 - along)
    paintTree(canvas, x, height - rise(x) + unit, unit * (14 + random() * 20) * (1 - along), color, random)
  }
}
