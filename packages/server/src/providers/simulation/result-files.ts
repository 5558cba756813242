import { readFile } from 'node:fs/promises'
import { openDrawingWorker } from './picture/drawing-worker.ts'
import { sceneOfPrompt } from './picture/scene-of-prompt.ts'
import { sizeOf } from './picture/size-of.ts'

/**
 * Reached from the package root, because the compiler copies no clips into `dist` while the package ships `src`:
 * the path is right from either.
 */
const CLIPS = new URL('../../../src/providers/simulation/clips/', import.meta.url)
/** Half a megabyte each. */
const CACHED_PICTURES = 50

export interface ResultFile {
  bytes: Uint8Array
  contentType: string
}

/** What a file is made from. */
export interface Depicted {
  /** Without the words in brackets. */
  prompt: string
  aspectRatio: string
  makesVideo: boolean
}

/** The bytes behind result URLs: pictures drawn from the prompt, ready-made clips for videos. */
export function createResultFiles() {
  const worker = openDrawingWorker()
  const pictures = new Map<string, Promise<Uint8Array>>()

  const picture = ({ prompt, aspectRatio }: Depicted, index: number): Promise<Uint8Array> => {
    const key = JSON.stringify([prompt, aspectRatio, index])
    let drawn = pictures.get(key)
    if (!drawn) {
      drawn = worker.draw({ prompt, variant: index, ...sizeOf(aspectRatio) })
      drawn.catch(() => pictures.delete(key))
    }
    // Put back at the end: the map is in order of use.
    pictures.delete(key)
    pictures.set(key, drawn)
    const oldest = pictures.keys().next().value
    if (pictures.size > CACHED_PICTURES && oldest !== undefined) pictures.delete(oldest)
    return drawn
  }

  return {
    async read(depicted: Depicted, index: number): Promise<ResultFile> {
      if (!depicted.makesVideo) return { bytes: await picture(depicted, index), contentType: 'image/png' }
      const { clip } = sceneOfPrompt(depicted.prompt, index)
      return { bytes: await readFile(new URL(`${clip}.mp4`, CLIPS)), contentType: 'video/mp4' }
    },
    close: () => worker.close(),
  }
}
