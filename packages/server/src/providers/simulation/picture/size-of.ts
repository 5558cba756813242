/** Picture size for an `aspect_ratio`, with about as many pixels each. Unknown ones are square. */
const SIZES: Record<string, [number, number]> = {
  '1:1': [768, 768],
  '4:3': [896, 672],
  '3:4': [672, 896],
  '3:2': [936, 624],
  '2:3': [624, 936],
  '16:9': [1024, 576],
  '9:16': [576, 1024],
  landscape: [1024, 576],
  portrait: [576, 1024],
}

export function sizeOf(aspectRatio: string): { width: number; height: number } {
  const [width, height] = SIZES[aspectRatio] ?? [768, 768]
  return { width, height }
}
