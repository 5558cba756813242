import { type Detector, FileTypeParser } from 'file-type'
import { SourceError } from './source-error.ts'

/** How many of the first bytes it takes to know most formats. */
export const SAMPLE_BYTES = 4_100

/** What generators make, none of which runs anything when somebody opens it. */
const MEDIA: ReadonlySet<string> = new Set([
  ...['png', 'apng', 'jpeg', 'gif', 'webp', 'avif', 'heic', 'heif', 'jxl', 'tiff'].map(
    (name) => `image/${name}`,
  ),
  ...['mp4', 'webm', 'quicktime', 'matroska', 'ogg', 'mpeg', 'x-m4v', '3gpp', '3gpp2', 'vnd.avi'].map(
    (name) => `video/${name}`,
  ),
  ...['mpeg', 'wav', 'flac', 'ogg', 'aac', 'mp4', 'x-m4a', 'aiff'].map((name) => `audio/${name}`),
  'model/gltf-binary',
])

/** Taken only where the caller expects them: harmless as such, but as an answer to "the video, please" an error page. */
const TEXT: ReadonlySet<string> = new Set([
  'text/plain',
  'text/markdown',
  'text/csv',
  'text/vtt',
  'application/json',
])
const ARCHIVE = 'application/zip'

/** Types that a browser would run or render as a page. A body under such a flag is refused whatever it begins with. */
const ACTIVE =
  /^(text\/(html|xml|css|javascript|ecmascript|jscript)|application\/(xml|javascript|x-javascript|ecmascript|pdf|wasm|java-archive|x-shockwave-flash|x-msdownload|x-sh|x-httpd-php)|multipart\/.*|.*\+xml)$/

/** The beginning of a page, an SVG, any XML, or a script. */
const MARKUP = /^\s*(<[!?a-z/]|#!)/i

/**
 * The type of a file, from its first bytes. They win over the header, which vendors get wrong (octet-stream most of
 * all), unless the header names something that runs: then somebody is trying something, and it is refused.
 *
 * SVG is refused like HTML: it is a document that can hold scripts, and served from our storage it would run them in
 * the name of that origin. PDF, fonts, executables and archives are refused because no generator makes them; a ZIP is
 * taken where the caller expects one.
 */
export async function decideType(
  sample: Uint8Array,
  header: string | null,
  expected: string | null,
): Promise<string> {
  const announced = essence(header)
  const wanted = essence(expected)
  if (announced.some((type) => ACTIVE.test(type))) {
    throw refused(`The source is announced as ${announced.find((type) => ACTIVE.test(type))}.`)
  }
  if (sample.length === 0) throw refused('The source is empty.')

  const text = readText(sample)
  if (text !== null) {
    // No picture, sound or video is readable from its first to its 4,100th byte: this only begins like one.
    const type = wanted.find((each) => TEXT.has(each))
    if (type && !MARKUP.test(text)) return type
    throw refused('The source is text.')
  }
  const found = await detect(sample, wanted.includes(ARCHIVE))
  if (found !== null && (MEDIA.has(found) || (found === ARCHIVE && wanted.includes(ARCHIVE)))) return found
  throw refused(
    found ? `The source is ${found}.` : 'The source is no image, video, sound or model that we know.',
  )
}

async function detect(sample: Uint8Array, unpack: boolean): Promise<string | null> {
  // To see what is inside, these would be unpacked, and nobody unpacks a stranger's archive without need.
  if (startsWith(sample, [0x1f, 0x8b])) return 'application/gzip'
  if (!unpack && startsWith(sample, [0x50, 0x4b])) return ARCHIVE
  try {
    const type = await new FileTypeParser({ customDetectors: [tiff] }).fromBuffer(sample)
    return essence(type?.mime ?? null)[0] ?? null
  } catch {
    // A file that breaks its own format is of no known format.
    return null
  }
}

/** A TIFF may keep its directory at its end, and file-type gives up where the sample does not reach that far. */
const tiff: Detector = {
  id: 'tiff',
  async detect(tokenizer) {
    const start = new Uint8Array(4)
    await tokenizer.peekBuffer(start, { length: 4, mayBeLess: true })
    return startsWith(start, [0x49, 0x49, 0x2a, 0]) || startsWith(start, [0x4d, 0x4d, 0, 0x2a])
      ? { ext: 'tif', mime: 'image/tiff' }
      : undefined
  },
}

/** The sample as text, or null if it is none. */
function readText(sample: Uint8Array): string | null {
  if (sample.includes(0)) return null
  try {
    // As a stream: the sample may end within a character.
    return new TextDecoder('utf-8', { fatal: true }).decode(sample, { stream: true })
  } catch {
    return null
  }
}

/** `Text/HTML; charset=x, image/png` → `text/html`, `image/png`. */
function essence(header: string | null): string[] {
  return (header ?? '')
    .split(',')
    .map((type) => type.split(';', 1)[0]?.trim().toLowerCase() ?? '')
    .filter((type) => type !== '')
}

function startsWith(bytes: Uint8Array, magic: number[]): boolean {
  return magic.every((byte, place) => bytes[place] === byte)
}

function refused(message: string): SourceError {
  return new SourceError('WRONG_TYPE', message)
}
