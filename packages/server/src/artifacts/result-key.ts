import { createHash } from 'node:crypto'

const EXTENSIONS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/svg+xml': 'svg',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'model/gltf-binary': 'glb',
  'application/json': 'json',
  'text/plain': 'txt',
}

export interface ResultFile {
  userId: string
  taskId: string
  ordinal: number
  /** What the provider said when the task finished; not what a fetch finds out later, which may differ each time. */
  contentType: string | null
}

/**
 * Where a result file is kept. It follows from what was known when the task finished, so that every try writes to the
 * same place: whoever repeats one that died half-way leaves one object and not two.
 */
export function resultKey({ userId, taskId, ordinal, contentType }: ResultFile): string {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return `${userPrefix(userId)}${taskId}/${ordinal}.${EXTENSIONS[type] ?? 'bin'}`
}

/** All that a user has is below this. Ids of users can be anything, a hash of one is always fit for a path. */
function userPrefix(userId: string): string {
  return `results/${createHash('sha256').update(userId).digest('hex').slice(0, 32)}/`
}
