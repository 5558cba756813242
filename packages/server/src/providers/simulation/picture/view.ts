import type { Canvas } from './canvas.ts'
import type { Noise } from './noise.ts'
import type { Palette } from './palettes.ts'
import type { Scene } from './scene-of-prompt.ts'

/** What every painter needs to know. Lengths are in pixels; `unit` is a hundredth of the shorter side. */
export interface View {
  canvas: Canvas
  scene: Scene
  palette: Palette
  noise: Noise
  unit: number
  horizon: number
  /** Sun or moon. */
  sun: { x: number; y: number; radius: number }
  /** Seconds into a clip; 0 for a picture. Clouds, water and lights move with it. */
  time: number
}
