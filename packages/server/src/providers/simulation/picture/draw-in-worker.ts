import { parentPort } from 'node:worker_threads'
import { toBytes } from './canvas.ts'
import { drawPicture } from './draw-picture.ts'
import type { Drawing } from './drawing-worker.ts'
import { encodePng } from './encode-png.ts'
import { sceneOfPrompt } from './scene-of-prompt.ts'

parentPort?.on('message', ({ id, drawing }: { id: number; drawing: Drawing }) => {
  const { prompt, variant, width, height } = drawing
  try {
    const canvas = drawPicture(sceneOfPrompt(prompt, variant), width, height, 0)
    parentPort?.postMessage({ id, png: encodePng(toBytes(canvas, { grain: 2 }), width, height) })
  } catch (error) {
    parentPort?.postMessage({ id, error: error instanceof Error ? error.message : String(error) })
  }
})
