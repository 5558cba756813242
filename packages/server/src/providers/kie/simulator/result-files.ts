import { readFile } from 'node:fs/promises'
import { withoutBehaviours } from './behaviours.ts'
import { openDrawingWorker } from './picture/drawing-worker.ts'
import { sceneOfPrompt } from './picture/scene-of-prompt.ts'
import { sizeOf } from './picture/size-of.ts'
import { makesVideo, type SimulatedTask } from './simulated-task.ts'

/**
 * Reached from the package root, because the compiler copies no clips into `dist` while the package ships `src`:
 * the path is right from either.
 */
const CLIPS = new URL('../../../../src/providers/kie/simulator/clips/', import.meta.url)
/** Half a megabyte each. */
const CACHED_PICTURES = 50

export interface ResultFile {
  bytes: Uint8Array
  contentType: string
}

/** The bytes behind a task's result URLs: pictures drawn from the prompt, ready-made clips for videos. */
export function createResultFiles() {
  const worker = openDrawingWorker()
  const pictures = new Map<string, Promise<Uint8Array>>()

  const picture = (task: SimulatedTask, index: number): Promise<Uint8Array> => {
    const prompt = withoutBehaviours(task.prompt)
    const key = JSON.stringify([prompt, task.aspectRatio, index])
    let drawn = pictures.get(key)
    if (!drawn) {
      drawn = worker.draw({ prompt, variant: index, ...sizeOf(task.aspectRatio) })
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
    extensionOf: (task: SimulatedTask) => (makesVideo(task.model) ? 'mp4' : 'png'),
    async read(task: SimulatedTask, index: number): Promise<ResultFile> {
      if (!makesVideo(task.model)) return { bytes: await picture(task, index), contentType: 'image/png' }
      const { clip } = sceneOfPrompt(withoutBehaviours(task.prompt), index)
      return { bytes: await readFile(new URL(`${clip}.mp4`, CLIPS)), contentType: 'video/mp4' }
    },
    close: () => worker.close(),
  }
}
