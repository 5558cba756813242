import { asRecord, parseJson } from '../../read-json.ts'

/** The fields of a create's body, be it JSON or a form; null if it is neither. A file counts as its name. */
export function readFields(body: string): Record<string, unknown> | null {
  const json = asRecord(parseJson(body))
  if (json) return json
  const [, boundary] = /^--(\S+)\r\n/.exec(body) ?? []
  if (!boundary) return null
  const fields: Record<string, unknown> = {}
  for (const part of body.split(`--${boundary}`)) {
    const [head = '', ...rest] = part.split('\r\n\r\n')
    const [, name, file] = /; name="([^"]+)"(?:; filename="([^"]*)")?/i.exec(head) ?? []
    if (name) fields[name] = file ?? rest.join('\r\n\r\n').replace(/\r\n$/, '')
  }
  return fields
}
