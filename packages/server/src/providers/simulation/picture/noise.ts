/** FNV-1a: the same words, the same picture. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return hash >>> 0
}

/** Mulberry32: numbers in [0, 1) that a seed determines. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export interface Noise {
  /** Smooth, in [0, 1]. */
  at(x: number, y: number): number
  /** Several octaves of `at`, in [0, 1]. */
  fbm(x: number, y: number, octaves: number): number
  /** Like `fbm`, with sharp crests where octaves change sign: mountains rather than hills. */
  ridged(x: number, y: number, octaves: number): number
}

const SIZE = 256
const MASK = SIZE - 1

/** Value noise on a table of random numbers: a lookup is much cheaper than a hash for each corner. */
export function createNoise(seed: number): Noise {
  const random = createRandom(seed)
  const values = Float32Array.from({ length: SIZE * SIZE }, random)
  const value = (x: number, y: number) => values[(y & MASK) * SIZE + (x & MASK)] as number

  const at = (x: number, y: number) => {
    const x0 = Math.floor(x)
    const y0 = Math.floor(y)
    const fx = x - x0
    const fy = y - y0
    const sx = fx * fx * (3 - 2 * fx)
    const sy = fy * fy * (3 - 2 * fy)
    const top = value(x0, y0) * (1 - sx) + value(x0 + 1, y0) * sx
    const bottom = value(x0, y0 + 1) * (1 - sx) + value(x0 + 1, y0 + 1) * sx
    return top * (1 - sy) + bottom * sy
  }
  return {
    at,
    fbm(x, y, octaves) {
      let sum = 0
      let weight = 0.5
      let total = 0
      for (let octave = 0; octave < octaves; octave++) {
        sum += weight * at(x, y)
        total += weight
        weight *= 0.5
        // Not quite 2, and shifted, so that the octaves' grids never line up.
        x = x * 2.03 + 17.3
        y = y * 2.03 + 9.1
      }
      return sum / total
    },
    ridged(x, y, octaves) {
      let sum = 0
      let weight = 0.5
      let total = 0
      for (let octave = 0; octave < octaves; octave++) {
        const crest = 1 - Math.abs(2 * at(x, y) - 1)
        sum += weight * crest * crest
        total += weight
        weight *= 0.5
        x = x * 2.07 + 31.7
        y = y * 2.07 + 5.3
      }
      return sum / total
    },
  }
}
