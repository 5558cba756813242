import { isWebUrl } from '../is-web-url.ts'
import { asRecord, parseJson } from '../read-json.ts'

/**
 * The URLs in `resultJson`: documented as JSON inside a string, also met as a parsed object, and `""` or null when
 * there is nothing. What is not an http(s) URL is left out; an empty list means there is no result to show.
 */
export function readResultUrls(resultJson: unknown): string[] {
  const result = asRecord(typeof resultJson === 'string' ? parseJson(resultJson) : resultJson)
  const urls = result?.resultUrls
  return (Array.isArray(urls) ? urls : [urls]).filter(isWebUrl)
}
