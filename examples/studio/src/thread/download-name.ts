const EXTENSIONS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'image/gif': 'gif',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
}

/** A file name that one recognises in a downloads folder. */
export function downloadName(prompt: string, contentType: string | null): string {
  const words = prompt
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .slice(0, 6)
  const extension = EXTENSIONS[contentType?.split(';')[0]?.trim() ?? '']
  return [words.join('-') || 'generation', extension].filter(Boolean).join('.')
}
